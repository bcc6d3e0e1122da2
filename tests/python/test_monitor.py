"""PerformanceMonitor: what it measures, keeps, prints and publishes."""
import asyncio
import concurrent.futures
import contextvars
import gc
import inspect
import io
import re
import subprocess
import sys
import threading
import tracemalloc

import pmtop
import pytest
import watching
from monitors import MB, guide, is_well_nested, reported, world  # noqa: F401 (fixtures)
from pmtop import monitor as module
from pmtop._profiling import figures as _figures
from pmtop._profiling import measure as _measure


def test_signatures_are_the_guides():
    def defaults(call):
        parameters = inspect.signature(call).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY}
    assert defaults(pmtop.PerformanceMonitor) == {"enabled": True, "device": None}
    assert defaults(pmtop.EpochPerformanceMonitor) == {"enabled": True, "verbose_batches": 5, "device": None}
    assert defaults(pmtop.PerformanceMonitor.track) == {"aggregate": False}
    assert defaults(pmtop.PerformanceMonitor.print_summary) == {"show_aggregate": False}
    assert defaults(pmtop.track_performance) == {"print_result": True, "device": None}
    assert defaults(pmtop.monitor_performance) == {"operation": None, "device": None}


def test_the_guides_summary_is_printed_to_the_letter(world, capsys):
    world.allocated = 0
    monitor = pmtop.PerformanceMonitor()
    for name, *done in (("data loading", 0.45, 523.1), ("preprocessing", 0.12, 128.5), ("model forward", 0.85, 45.2, 1250.3, 2880.5)):
        with monitor.track(name):
            world.work(*done)
    monitor.print_summary()
    reported, sample = capsys.readouterr().out.splitlines(), guide("03_performancemonitor.txt").splitlines()
    assert [line.rstrip() for line in sample] == reported
    assert monitor.get_total_time() == pytest.approx(1.42) and monitor.get_operation_time("preprocessing") == pytest.approx(0.12)
    assert monitor.get_metrics()[2][:5] == ("model forward", 0.85, pytest.approx(45.2), pytest.approx(1250.3), pytest.approx(2880.5))


def test_the_guides_statistics_are_printed_to_the_letter(world, capsys):
    monitor = pmtop.PerformanceMonitor()
    for name, total, least, most in (("batch_forward", 15.234, 0.085, 0.425), ("batch_backward", 8.451, 0.048, 0.112)):
        for seconds in (least, most, *[(total - least - most) / 148] * 148):
            with monitor.track(name, aggregate=True):
                world.work(seconds)
    monitor.print_summary(show_aggregate=True)
    assert capsys.readouterr().out == guide("04_aggregated_operations.txt")
    assert monitor.get_metrics() == [] and monitor.get_operation_time("batch_backward") == pytest.approx(8.451)
    monitor.print_summary()
    assert [line.split() for line in capsys.readouterr().out.splitlines()[5:7]] == [
        ["batch_forward", "15.234", "+0.0", "–", "–"], ["batch_backward", "8.451", "+0.0", "–", "–"],
    ]


def test_both_tables_hold_all_that_was_tracked(world, capsys):
    monitor = pmtop.PerformanceMonitor()
    with monitor.track("epoch"):
        for _ in range(3):
            with monitor.track("batch", aggregate=True):
                world.work(0.5, cpu_mb=1.5)
    with monitor.track("saving"):
        world.work(0.25, cpu_mb=-0.04)
    monitor.print_summary(show_aggregate=True)
    summary, statistics = capsys.readouterr().out.split("\n\n")
    assert [line.split() for line in summary.splitlines()[5:8]] == [
        ["epoch", "1.500", "+4.5", "–", "–"], ["batch", "1.500", "+4.5", "–", "–"], ["saving", "0.250", "+0.0", "–", "–"],
    ]
    assert summary.splitlines()[6].startswith("  batch ") and "TOTAL                               1.750s" in summary
    assert statistics.splitlines()[5].split() == ["batch", "3", "1.500", "0.500", "0.500", "0.500"]
    assert statistics.splitlines()[5].startswith("batch ")


def test_a_nested_block_counts_once_in_the_total(world):
    monitor, other = pmtop.PerformanceMonitor(), pmtop.PerformanceMonitor()
    with monitor.track("outer"):
        world.work(1)
        with other.track("theirs"), monitor.track("inner"):
            world.work(2)
            with monitor.track("inner"):
                world.work(4)
    assert (monitor.get_total_time(), monitor.get_operation_time("outer"), monitor.get_operation_time("inner")) == (7, 7, 10)
    assert other.get_total_time() == 6
    assert [(metric.operation, metric.depth) for metric in monitor.get_metrics()] == [("inner", 2), ("inner", 1), ("outer", 0)]


def test_a_block_that_raises_is_recorded_and_raises(world, reported, capsys):
    monitor = pmtop.PerformanceMonitor()
    for error in (ValueError, KeyboardInterrupt, StopIteration, SystemExit):
        with pytest.raises(error):
            with monitor.track("train"):
                world.work(1)
                raise error
        with pytest.raises(error):
            with pmtop.track_performance("train"):
                raise error
    assert len(monitor.get_metrics()) == 4 and monitor.get_total_time() == 4
    assert reported == [("begin", "train"), ("end", "train")] * 8
    assert capsys.readouterr().out.count("[Performance] train: 0.000s") == 4


def test_a_block_may_be_entered_again_and_in_itself(world):
    monitor = pmtop.PerformanceMonitor()
    block = monitor.track("fold")
    assert block.metric is None
    with block:
        world.work(1)
        with block:
            world.work(1)
        assert block.metric.duration_seconds == 1
    with block as same:
        world.work(3)
    assert same is block and block.metric.duration_seconds == 3
    assert monitor.get_total_time() == 5 and [metric.depth for metric in monitor.get_metrics()] == [1, 0, 0]


def test_one_block_serves_several_threads():
    monitor, meet = pmtop.PerformanceMonitor(), threading.Barrier(4)
    block = monitor.track("shared")

    def run():
        with block:
            meet.wait(20)
            with block:
                meet.wait(20)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: run(), range(4)))
    assert sorted(metric.depth for metric in monitor.get_metrics()) == [0] * 4 + [1] * 4


def test_many_threads_lose_nothing():
    monitor = pmtop.PerformanceMonitor()

    def run(_):
        for _ in range(500):
            with monitor.track("a"), monitor.track("b", aggregate=True):
                pass
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    metrics = monitor.get_metrics()
    assert len(metrics) == 4000 and monitor._aggregates["b"].sums.count == 4000
    assert monitor.get_total_time() == pytest.approx(sum(metric.duration_seconds for metric in metrics))


def test_tasks_that_overlap_are_not_within_each_other(reported):
    monitor = pmtop.PerformanceMonitor()

    async def task(name, mine, theirs):
        with monitor.track(name):
            mine.set()
            await theirs.wait()
            with monitor.track(name + " inner"):
                await asyncio.sleep(0)

    async def main():
        a, b = asyncio.Event(), asyncio.Event()
        with monitor.track("all"):
            await asyncio.gather(task("a", a, b), task("b", b, a))
    asyncio.run(main())
    assert {metric.operation: metric.depth for metric in monitor.get_metrics()} == {"all": 0, "a": 1, "b": 1, "a inner": 2, "b inner": 2}
    assert monitor.get_total_time() == monitor.get_operation_time("all")
    is_well_nested(reported)
    assert sum(event[0] == "past" for event in reported) >= 1


def test_blocks_that_overlap_end_in_order_in_the_region(world, reported):
    monitor = pmtop.PerformanceMonitor()

    def produce():
        with monitor.track("produce"):
            world.work(1)
            yield
            world.work(1)
    items = produce()
    next(items)
    with monitor.track("use"):
        world.work(1)
        assert next(items, None) is None
        world.work(1)
    assert reported == [("begin", "produce"), ("begin", "use"), ("end", "use"), ("end", "produce")]
    assert [(metric.operation, metric.duration_seconds) for metric in monitor.get_metrics()] == [("produce", 3), ("use", 3)]
    with monitor.track("after"):
        pass
    assert monitor.get_metrics()[-1].depth == 0 and reported[-2:] == [("begin", "after"), ("end", "after")]


def test_blocks_that_overlap_for_ever_take_no_memory(reported):
    monitor = pmtop.PerformanceMonitor()

    def block():
        with monitor.track("endless", aggregate=True):
            yield
    last = block()
    next(last)
    for _ in range(2000):
        new = block()
        next(new)
        last.close()
        last = new
    gc.collect()
    assert sum(type(thing) is _measure._Block for thing in gc.get_objects()) < 50
    last.close()
    is_well_nested([event for event in reported if event[0] != "past"])


def test_a_block_may_end_in_another_thread_and_context(world, reported):
    monitor = pmtop.PerformanceMonitor()
    block = monitor.track("moves")
    block.__enter__()
    world.work(2)
    thread = threading.Thread(target=lambda: contextvars.Context().run(block.__exit__, None, None, None))
    thread.start()
    thread.join()
    assert monitor.get_operation_time("moves") == 2
    with monitor.track("next"):
        pass
    assert reported[0] == ("begin", "moves") and monitor.get_metrics()[-1].depth == 0
    is_well_nested([event for event in reported if event[0] != "past"])
    block.__exit__(None, None, None)
    assert len(monitor.get_metrics()) == 2


def test_nothing_measured_is_none_and_prints_nothing(capsys):
    monitor = pmtop.PerformanceMonitor()
    for show in (False, True):
        monitor.print_summary(show_aggregate=show)
    assert capsys.readouterr().out == ""
    assert monitor.get_total_time() is None and monitor.get_operation_time("x") is None and monitor.get_metrics() == []
    with monitor.track("open"):
        assert monitor.get_total_time() is None


def test_clear_forgets_all_but_what_is_open(world, capsys):
    monitor = pmtop.PerformanceMonitor()
    with monitor.track("late"):
        with monitor.track("a"), monitor.track("b", aggregate=True):
            world.work(1)
        monitor.clear()
        assert monitor.get_metrics() == [] and monitor.get_operation_time("b") is None and monitor.get_total_time() is None
        monitor.print_summary(show_aggregate=True)
        assert capsys.readouterr().out == ""
    assert monitor.get_total_time() == 1 and [metric.operation for metric in monitor.get_metrics()] == ["late"]


def test_what_is_kept_is_bounded_and_counted(world, monkeypatch, capsys):
    monkeypatch.setattr(module, "METRICS_MAX", 10)
    monkeypatch.setattr(module, "NAMES_MAX", 5)
    monitor = pmtop.PerformanceMonitor()
    for number in range(25):
        with monitor.track(f"a{number}"), monitor.track(f"b{number}", aggregate=True):
            world.work(1)
    assert [metric.operation for metric in monitor.get_metrics()] == [f"a{number}" for number in range(15, 25)]
    assert monitor.metrics_dropped == 15 and monitor.get_total_time() == 25
    assert len(monitor._each) == len(monitor._aggregates) == 6
    assert monitor.get_operation_time("a3") == 1 and monitor.get_operation_time("(too many names)") == 40
    monitor.print_summary(show_aggregate=True)
    assert "(15 earlier ones are no longer kept)\n" in capsys.readouterr().out


def test_a_long_run_does_not_grow():
    monitor = pmtop.PerformanceMonitor()

    def run(count):
        for _ in range(count):
            with monitor.track("step", aggregate=True), monitor.track("forward", aggregate=True):
                pass
    run(500)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run(5000)
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


def test_a_wrong_name_is_said_at_once():
    for call in (pmtop.PerformanceMonitor().track, pmtop.track_performance):
        for name in (None, 7, b"x", []):
            with pytest.raises(TypeError, match=r"^\w+: the name must be a str, not \w+$"):
                call(name)
    with pytest.raises(TypeError, match="^monitor_performance: the name must be a str, not int$"):
        pmtop.monitor_performance(7)


# -- switched off -------------------------------------------------------------------------------------------------------------------


def test_disabled_measures_prints_and_publishes_nothing(reported, capsys):
    monitor, epochs = pmtop.PerformanceMonitor(enabled=False), pmtop.EpochPerformanceMonitor(enabled=False)
    assert monitor.track("a") is monitor.track("b", aggregate=True)
    with monitor.track("a") as block, block:
        assert block.metric is None
    with pytest.raises(ZeroDivisionError):
        with monitor.track("a"):
            1 / 0
    monitor.print_summary(True)
    epochs.on_epoch_start(), epochs.on_batch_start(0), epochs.on_batch_end(0, 1.0), epochs.on_epoch_end()
    assert reported == [] and monitor.get_metrics() == [] and capsys.readouterr().out == ""
    assert epochs.get_statistics()["num_batches"] == 0


def test_may_be_switched_on_and_off():
    monitor = pmtop.PerformanceMonitor(enabled=False)
    for value in (True, False, False, True, True):
        monitor.enabled = value
        assert monitor.enabled is value
        with monitor.track("x"):
            pass
    assert len(monitor.get_metrics()) == 3


def test_disabled_opens_no_region():
    reported = watching.run("""
import glob, os, pmtop
monitor, epochs = pmtop.PerformanceMonitor(enabled=False), pmtop.EpochPerformanceMonitor(enabled=False)
with monitor.track("x"): epochs.on_epoch_start()
print(glob.glob(f"/dev/shm/pmtop.*.{os.getpid()}.*"))
""")
    assert reported.out() == "[]\n"


# -- what is printed ----------------------------------------------------------------------------------------------------------------


def row(name, depth=0, seconds=1.0):
    return _figures.summary_row(name, depth, seconds, None, None, None)


@pytest.mark.parametrize("name, shown", [
    ("a" * 30, "a" * 30), ("a" * 31, "a" * 20 + "…" + "a" * 9), ("日本" * 8, "日本" * 5 + "…" + "日本" * 2 + " "), ("日本" * 7 + "ab", "日本" * 7 + "ab"),
    ("e\u0301" * 30, "e\u0301" * 30), ("a\x1b[31m\n", "a^[[31m^J" + " " * 21), ("\u202e\x9b", "<U+202E><U+009B>" + " " * 14),
    ("", " " * 30),
])
def test_names_take_thirty_cells(name, shown):
    assert row(name) == shown + "      1.000              –              –           –"


def test_deep_rows_still_show_their_names():
    assert row("name", 2).startswith("    name  ") and row("name", 40).startswith(" " * 15 + "name")


@pytest.mark.parametrize("seconds, shown", [
    (0.0004, "400 µs"), (0.0, "0.000"), (0.001, "0.001"), (999999.9994, "999999.999"), (9999999.5, "9999999.50"), (1e12, "1000000000000"),
])
def test_long_times_keep_their_column(seconds, shown):
    assert row("x", 0, seconds)[30:41].strip() == shown or row("x", 0, seconds)[30:].split()[0] == shown
    assert len(row("x", 0, seconds)) == (83 if len(shown) <= 11 else 85)


@pytest.mark.parametrize("count, shown", [
    (1, "1      "), (9_999_999, "9999999"), (12_345_678, "12.3M  "), (999_600_000, "1.00G  "), (10**13, "10.0T  "),
])
def test_large_counts_keep_their_column(count, shown):
    assert _figures.aggregate_row("x", 0, count, 1.0, 0.0, 1.0)[31:38] == shown


def test_the_guides_lines_are_printed_to_the_letter(world, capsys):
    world.allocated = 0
    with pmtop.track_performance("critical_operation"):
        world.work(1.234, cpu_mb=250.5, gpu_mb=512, peak_mb=1024.3)
    assert capsys.readouterr().out == guide("05_context_manager.txt")
    monitor = pmtop.EpochPerformanceMonitor(enabled=True, verbose_batches=2)
    world.allocated, world.reserved, world.peak, world.resident = int(23.1 * MB), 3236 * MB, 2880 * MB, int(1648.9 * MB)
    monitor.on_epoch_start()
    for index, (seconds, cpu_mb, loss) in enumerate([(0.538, 0, 0.009458), (0.185, 10.7, 0.016763), (0.082, 0, 1), *[(0.2, 0, 1)] * 18]):
        monitor.on_batch_start(index)
        world.work(seconds, cpu_mb)
        monitor.on_batch_end(index, loss)
    world.work(4.774 - 0.538 - 0.185 - 0.082 - 0.2 * 18, gpu_mb=-8.7)
    monitor.on_epoch_end()
    reported, sample = capsys.readouterr().out.splitlines(), guide("01_example_output.txt").splitlines()
    assert reported == [*sample[:2], sample[3], sample[4].replace("avg=0.201s", "avg=0.210s")]


def test_without_gpu_its_figures_are_left_out(world, capsys):
    with pmtop.track_performance("x"):
        world.work(0.5, cpu_mb=-1.5)
    monitor = pmtop.EpochPerformanceMonitor(verbose_batches=1)
    monitor.on_epoch_start(), monitor.on_batch_start(0), monitor.on_batch_end(0), monitor.on_epoch_end()
    assert capsys.readouterr().out.splitlines() == [
        "[Performance] x: 0.500s, CPU -1.5MB", "  Batch 0: 0.000s, CPU 98.5MB", "  Epoch end: 0.000s total, CPU 98.5MB",
        "  Batch timing: avg=0.000s, min=0.000s, max=0.000s",
    ]


def test_what_is_not_known_is_left_out(world, monkeypatch, capsys):
    monkeypatch.setattr(_figures, "resident_bytes", lambda: None)
    with pmtop.track_performance("x") as block:
        pass
    monitor = pmtop.EpochPerformanceMonitor(verbose_batches=1)
    monitor.on_epoch_start(), monitor.on_batch_start(0), monitor.on_batch_end(0, "loss"), monitor.on_epoch_end()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["[Performance] x: 0.000s", "  Batch 0: 0.000s", "  Epoch end: 0.000s total"]
    assert block.metric[1:5] == (0.0, None, None, None)


class Closed(io.TextIOBase):
    def write(self, text):
        raise BrokenPipeError


def ascii_output():
    return io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)


@pytest.mark.parametrize("stream", [None, Closed(), ascii_output()])
def test_where_output_cannot_be_written_training_goes_on(world, monkeypatch, stream):
    monitor = pmtop.PerformanceMonitor()
    with monitor.track("näme" * 10):
        world.work(1)
    monkeypatch.setattr(sys, "stdout", stream)
    monitor.print_summary()
    with pmtop.track_performance("x"):
        pass
    if isinstance(stream, io.TextIOWrapper):
        reported = stream.buffer.getvalue().decode("ascii").splitlines()
        assert reported[5] == "n?men?men?men?men?me~en?men?me      1.000           +0.0              -           -"


def test_tables_agree_with_pmtop_report():
    with watching.start("""
import signal, pmtop
monitor, kept = pmtop.PerformanceMonitor(), []
with monitor.track("epoch"):
    for number in range(150):
        with monitor.track("an operation with a name that is too long", aggregate=True): kept.append(bytes([number]) * 200_000)
monitor.print_summary(show_aggregate=True)
print("ready", flush=True)
signal.pause()
""") as running:
        running.wait_for_line("ready")
        ours = running.out().split("ready")[0]
        theirs = watching.pmtop("report", running.pid)
    mine, other = ours.split("\n\n"), theirs.split("\n\n")[1:3]
    assert len(mine) == 2 and "EPOCHS" not in theirs
    # The report has percents, and columns for a GPU only if there are figures of one.
    for row, like in zip(mine[0].splitlines(), other[0].splitlines()):
        assert shape(row).split("|")[0] == shape(like).split("|")[0]
    row, like = mine[0].splitlines()[6][30:].split(), other[0].splitlines()[6][30:].split()
    assert abs(float(row[0]) - float(like[0])) < 2 and abs(float(row[1]) - float(like[-1])) < 2
    row, like = mine[1].splitlines()[5], other[1].splitlines()[6]
    assert shape(row).split("|")[1] == shape(like).split("|")[1]
    for figure, their in zip(row[30:].split()[:2], like[30:].split()[:2]):
        assert abs(float(figure) - float(their)) < 2
    assert mine[1].splitlines()[:5] == other[1].splitlines()[:5]


def shape(row):
    """A row with only the right ends of its figures, which are never just the same, nor always in the same unit."""
    ends = re.sub(r"[-+]?\d[\d.]*(?: [mµn]s)?", lambda figure: "#".rjust(len(figure.group())), row[30:])
    return row[:30].replace("…", "").strip() + "|" + ends if row[:1] not in "=-" else row


# -- live ---------------------------------------------------------------------------------------------------------------------------


def test_all_is_seen_by_pmtop():
    seen = watching.watch("""
import json, time, pmtop
monitor, epochs = pmtop.PerformanceMonitor(), pmtop.EpochPerformanceMonitor(verbose_batches=0)
for epoch in range(3):
    epochs.on_epoch_start()
    for index in range(20):
        epochs.on_batch_start(index)
        with monitor.track("forward", aggregate=True):
            time.sleep(0.002)
            with monitor.track("inner", aggregate=True): pass
        with monitor.track("backward"): time.sleep(0.001)
        epochs.on_batch_end(index, 1.0 / (index + 1))
    epochs.on_epoch_end()
print(json.dumps({**epochs.get_statistics(), **{name: monitor.get_operation_time(name) for name in ("forward", "backward", "inner")}}))
""")
    truth, last = seen.truth, seen.last
    assert last["batch"]["count"] == truth["num_batches"] == 60 and last["batch"]["loss"] == pytest.approx(0.05)
    assert watching.close_to(last["batch"]["mean_s"], truth["avg_batch_time"])
    assert [epoch["index"] for epoch in last["epochs"]] == [0, 1, 2]
    for name, depth, count in (("forward", 0, 60), ("inner", 1, 60), ("backward", 0, 60)):
        operation = watching.operation(last, name, depth)
        assert operation["count"] == count and watching.close_to(operation["total_s"], truth[name], slack_s=60 * 60e-6)
    assert "data" in {operation["name"] for operation in last["operations"]}


def test_nothing_is_published_where_that_is_switched_off():
    done = subprocess.run([sys.executable, "-c", """
import pmtop
monitor = pmtop.PerformanceMonitor()
with monitor.track("x"): pass
print(len(monitor.get_metrics()), pmtop.is_enabled())
"""], env=watching.environment({"PMTOP": "0"}), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1 False\n", "")
