"""A real inference loop, and its figures beside numpy's."""
import json
import os

import numpy
import pytest

import pmtop
import region_events
import watching

pytest.importorskip("torch")

SCRIPT = """
import json, random, time

import torch

import pmtop

torch.set_num_threads(1)
torch.manual_seed(1)
random.seed(1)
pmtop.init()
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).eval()
times, failed = [], 0
for i in range(300):
    begin = time.perf_counter()
    try:
        with pmtop.request("GET /user/%d" % i if i % 3 else "request_%032x" % random.getrandbits(128)):
            with torch.no_grad(), pmtop.span("forward"):
                model(torch.randn(16, 64))
            time.sleep(0.002 + 0.006 * random.random() ** 4)
            if i % 100 == 7:
                raise ValueError("bad request")
    except ValueError:
        failed += 1
    times.append(time.perf_counter() - begin)
time.sleep(0.3)
print(json.dumps({"times": times, "failed": failed}))
"""


def test_requests_are_reported_as_numpy_computes_them():
    seen = watching.watch(SCRIPT)
    reported, times = seen.last["requests"], seen.truth["times"]
    assert reported["count"] == len(times) == 300
    assert reported["failed"] == seen.truth["failed"] == 3
    for q in (50, 95, 99):
        assert watching.close_to(reported[f"p{q}_s"], numpy.percentile(times, q), 0.025, 300e-6), q
    assert watching.close_to(reported["max_s"], max(times), slack_s=500e-6)
    assert {row["pattern"]: row["count"] for row in reported["patterns"]} == {"GET /user/*": 200, "request_*": 100}
    assert reported["over_sla"] == 0 and reported["late"] == []
    assert reported["last_1h"]["count"] == 300 and sum(hour["count"] for hour in reported["hours"]) == 300


BATCHES = """
import json, random, time

import pmtop

random.seed(5)
pmtop.init("service", slots=16384)
pmtop.mode("inference")
taken = {}
for i in range(300):
    asked = random.choice(["/user/%d" % random.randrange(20), "/search"])
    begin = time.perf_counter()
    pmtop.batch_begin(i)
    with pmtop.span(asked):
        time.sleep(2.05 if i == 150 else random.lognormvariate(-6, 0.7))
    pmtop.batch_end()
    taken.setdefault(asked.split("/")[1], []).append(time.perf_counter() - begin)
print(json.dumps(taken), flush=True)
"""


def quantile_fits(reported, values, q):
    """2 % and what two clock reads take, of the quantile or of a neighbour: in a thin tail two samples are far apart."""
    near = numpy.quantile(values, [q, max(q - 1 / len(values), 0), min(q + 1 / len(values), 1)])
    return watching.close_to(reported, near[0], slack_s=300e-6) or min(near) <= reported <= max(near)


def held_against(reported, values):
    assert reported["count"] == len(values)
    assert watching.close_to(reported["mean_s"], numpy.mean(values), slack_s=300e-6)
    assert watching.close_to(reported["max_s"], max(values), slack_s=500e-6)
    for q in (50, 95, 99):
        assert quantile_fits(reported[f"p{q}_s"], values, q / 100), (q, reported)


def test_batches_are_requests_live_and_from_a_recording(tmp_path):
    recording = tmp_path / "service.pmtop"
    with watching.start(BATCHES, hold=True) as script:
        watching.wait_for(script.is_held, 60)
        taken = script.truth()
        live = json.loads(watching.pmtop("report", script.pid, "--format=json"))["requests"]
        watching.pmtop("-b", "-n", 2, "-d", 0.1, "-p", script.pid, "-w", recording)
    recorded = json.loads(watching.pmtop("report", recording, "--format=json"))["requests"]
    for reported in (live, recorded):
        held_against(reported, taken["user"] + taken["search"])
        held_against(reported["last_1h"], taken["user"] + taken["search"])
        assert {row["pattern"] for row in reported["patterns"]} == {"/user/*", "/search"}
        for row in reported["patterns"]:
            held_against(row, taken[row["pattern"].split("/")[1]])
        assert (reported["sla_s"], reported["over_sla"], len(reported["late"])) == (2, 1, 1)
    text = watching.pmtop("report", recording)
    assert "/user/*" in text and "REQUESTS BY THE HOUR" in text


def test_a_region_that_is_opened_again_gets_its_mode():
    for _ in range(2):
        pmtop.close()
        assert pmtop.init("again")
        with pmtop.request("GET /"):
            pass
        assert [event.mode for event in region_events.Region(os.getpid()).of(region_events.SPAN, "GET /")] == ["inference"]
    pmtop.close()
