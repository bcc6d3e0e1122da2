"""Calls that the publisher refuses: they are counted, shown with their reason, and never the run's own batches."""
import json

import watching

MANY_THREADS = """
import json, threading, time

import pmtop

pmtop.init("train")
done = threading.Event()
here = threading.Barrier(41)


def help_out():
    with pmtop.span("helper"):
        pass
    here.wait()
    done.wait()


helpers = [threading.Thread(target=help_out) for _ in range(40)]
for helper in helpers:
    helper.start()
here.wait()


def train():
    for i in range(100):
        pmtop.batch_begin(i)
        with pmtop.span("forward"):
            time.sleep(0.001)
        pmtop.batch_end(1.0)


trainer = threading.Thread(target=train)
trainer.start()
trainer.join()
time.sleep(0.3)
print(json.dumps({"batches": pmtop.statistics()["num_batches"]}), flush=True)
done.set()
"""


def test_batches_are_there_with_more_threads_than_lanes_and_what_is_refused_is_shown():
    with watching.start(MANY_THREADS, hold=True) as script:
        watching.wait_for(script.is_held, 60)
        assert script.truth() == {"batches": 100}
        seen = watching.object_of(script.pid)
        assert seen["batch"]["count"] == 100
        helpers = watching.operation(seen, "helper")["count"]
        assert helpers == 15
        assert seen["refused_events"] == 2 * (40 - helpers)
        assert seen["refused"] == {"no_lane": 2 * (40 - helpers)}
        (warning,) = [warning for warning in seen["warnings"] if warning["rule"] == "refused_events"]
        assert "50 instrumentation calls" in warning["message"] and "lanes" in warning["message"] and "lanes=" in warning["advice"][0]
        screen = watching.once(script.pid)
        assert "50 calls refused" in screen
        report = watching.pmtop("report", script.pid)
        assert "Refused calls: 50" in report
        doctor = watching.pmtop("doctor", "-p", script.pid)
        assert "refused calls" in doctor
        metrics = watching.pmtop("export", script.pid, "--to=openmetrics")
        assert 'reason="no_lane"} 50' in metrics


STORM = """
import json, threading

import pmtop

pmtop.init("storm")
alive = threading.Semaphore(40)


def once():
    with pmtop.span("short"):
        pass
    pmtop.count("done")
    alive.release()


threads = []
for _ in range(10000):
    alive.acquire()
    thread = threading.Thread(target=once)
    thread.start()
    threads.append(thread)
for thread in threads:
    thread.join()
# More at once than there are lanes, so that some are refused for certain.
here = threading.Barrier(32)


def together():
    with pmtop.span("short"):
        here.wait()


threads = [threading.Thread(target=together) for _ in range(32)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
pmtop.batch_begin(0)
pmtop.batch_end()
print(json.dumps({"spans": 10032}))
"""


def test_10000_short_threads_reuse_lanes_and_the_rest_is_counted_and_shown():
    with watching.start(STORM, hold=True) as script:
        watching.wait_for(script.is_held, 180)
        seen = watching.object_of(script.pid)
        spans = watching.operation(seen, "short")["count"]
        # Of a thread without a lane the begin of its span was refused, and its end: for want of a lane, or of a begin.
        refused = seen["refused_events"]
        assert refused == sum(seen["refused"].values()) and seen["refused"]["no_lane"] >= 16
        assert refused >= 2 * (32 - 16)
        assert 2 * spans + refused >= 2 * 10032
        assert spans > 1000, "lanes of ended threads are used again"
        assert [warning["rule"] for warning in seen["warnings"] if warning["rule"] == "refused_events"]


LEFT_OPEN = """
import json, time

import pmtop

pmtop.init("train", slots=4096)
for i in range(100):
    pmtop.batch_begin(i)
    try:
        pmtop.span_begin("forward")
        time.sleep(0.0005)
        if i % 2:
            raise ValueError("an error path")
        pmtop.span_end()
    except ValueError:
        pass
    pmtop.batch_end()
time.sleep(0.3)
print(json.dumps({}))
"""


def test_an_error_path_that_leaves_spans_open_loses_nothing():
    seen = watching.watch(LEFT_OPEN)
    assert seen.last["batch"]["count"] == 100
    assert seen.last["refused_events"] == 0
    rows = [row for row in seen.last["operations"] if row["name"] == "forward"]
    assert [(row["depth"], row["count"]) for row in rows] == [(0, 100)]


def test_recordings_keep_what_was_refused(tmp_path):
    recording = tmp_path / "run.pmtop"
    with watching.start(MANY_THREADS, hold=True) as script:
        watching.wait_for(script.is_held, 60)
        watching.pmtop("-b", "-n", 2, "-d", 0.1, "-p", script.pid, "-w", recording)
    report = json.loads(watching.pmtop("report", recording, "--format=json"))
    assert report["refused_events"] == 50 and report["refused"] == {"no_lane": 50}
