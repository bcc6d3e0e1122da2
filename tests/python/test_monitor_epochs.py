"""EpochPerformanceMonitor, where the figures come from, and configurations."""
import copy
import os
import pickle
import re
import signal
import sys
import types

import pmtop
import pytest
import watching
from monitors import MB, FakeTensor, fake_torch, reported, world  # noqa: F401 (fixtures)
from pmtop import monitor as module
from pmtop._profiling import figures as _figures


NO_STATISTICS = {
    "total_epoch_time": None, "avg_epoch_time": None, "total_batch_time": None, "avg_batch_time": None, "min_batch_time": None,
    "max_batch_time": None, "num_batches": 0, "num_epochs": 0,
}


def run_epoch(monitor, world, seconds, losses=None):
    monitor.on_epoch_start()
    for index, batch_seconds in enumerate(seconds):
        monitor.on_batch_start(index)
        world.work(batch_seconds)
        monitor.on_batch_end(index, losses[index] if losses else None)
        world.work(0.25)
    monitor.on_epoch_end()


def test_statistics_are_of_the_whole_run(world, reported, capsys):
    monitor = pmtop.EpochPerformanceMonitor(verbose_batches=1)
    assert monitor.get_statistics() == NO_STATISTICS
    run_epoch(monitor, world, [0.5, 1.0], [0.5, 0.25])
    run_epoch(monitor, world, [2.0])
    assert monitor.get_statistics() == {
        "total_epoch_time": 4.25, "avg_epoch_time": 2.125, "total_batch_time": 3.5, "avg_batch_time": pytest.approx(3.5 / 3),
        "min_batch_time": 0.5, "max_batch_time": 2.0, "num_batches": 3, "num_epochs": 2,
    }
    assert reported == [
        ("epoch_begin", 0), ("meta", "between", "data"), ("batch_begin", 0), ("batch_end", 0.5), ("batch_begin", 1), ("batch_end", 0.25),
        ("epoch_end",), ("epoch_begin", 1), ("batch_begin", 0), ("batch_end", None), ("epoch_end",),
    ]
    assert capsys.readouterr().out.splitlines() == [
        "  Batch 0: 0.500s, CPU 100.0MB, loss=0.500000", "  Epoch end: 2.000s total, CPU 100.0MB",
        "  Batch timing: avg=0.750s, min=0.500s, max=1.000s", "  Batch 0: 2.000s, CPU 100.0MB", "  Epoch end: 2.250s total, CPU 100.0MB",
        "  Batch timing: avg=2.000s, min=2.000s, max=2.000s",
    ]


def test_what_never_ended_or_never_began_counts_nowhere(world, reported, capsys):
    monitor = pmtop.EpochPerformanceMonitor()
    monitor.on_batch_end(0, 1.0)
    monitor.on_epoch_end()
    assert reported == [] and capsys.readouterr().out == "" and monitor.get_statistics() == NO_STATISTICS
    monitor.on_epoch_start()
    monitor.on_batch_start(0)
    world.work(9)
    monitor.on_batch_start(1)
    world.work(1)
    monitor.on_batch_end(1)
    monitor.on_batch_start(2)
    monitor.on_epoch_start()
    monitor.on_batch_end(2)
    monitor.on_epoch_end()
    said = monitor.get_statistics()
    assert (said["num_batches"], said["total_batch_time"], said["num_epochs"], said["total_epoch_time"]) == (1, 1, 1, 0)
    assert "Batch timing" not in capsys.readouterr().out


def test_batches_without_epochs_count(world, capsys):
    monitor = pmtop.EpochPerformanceMonitor(verbose_batches=0)
    monitor.on_batch_start(7)
    world.work(1)
    monitor.on_batch_end(7)
    assert monitor.get_statistics()["num_batches"] == 1 and capsys.readouterr().out == ""


@pytest.fixture
def late(monkeypatch):
    """Makes tensors on a device, which are ready to be read once `done` of them is true; None: the device failed."""
    class Event:
        def record(self, stream):
            self.tensor = FakeTensor.copied

        def query(self):
            if self.tensor.done is None:
                raise RuntimeError("CUDA error: device-side assert triggered")
            return self.tensor.done
    fake_torch(monkeypatch, Event=Event, current_stream=lambda device: None, is_current_stream_capturing=lambda: False,
               is_initialized=lambda: False)
    monkeypatch.setattr(FakeTensor, "read_early", 0)
    yield lambda value, done=False: FakeTensor(value, done)
    assert FakeTensor.read_early == 0


def test_a_loss_on_a_device_is_not_waited_for(world, reported, late, capsys):
    monitor = pmtop.EpochPerformanceMonitor(verbose_batches=3)
    losses = [late(0.5), late(0.25), 0.125, late(0.0625)]
    monitor.on_epoch_start()
    lines = []
    for index, loss in enumerate(losses):
        monitor.on_batch_start(index)
        world.work(1)
        if index == 2:
            losses[1].done = True
        if index == 3:
            losses[0].done = True
        monitor.on_batch_end(index, loss)
        lines.append(capsys.readouterr().out.splitlines())
    assert lines == [[], [], [], [
        "  Batch 0: 1.000s, CPU 100.0MB, loss=0.500000", "  Batch 1: 1.000s, CPU 100.0MB, loss=0.250000",
        "  Batch 2: 1.000s, CPU 100.0MB, loss=0.125000",
    ]]
    losses[3].done = True
    monitor.on_epoch_end()
    assert [event for event in reported if event[0] in ("batch_end", "batch_figure")] == [
        ("batch_end", None), ("batch_end", None), ("batch_end", 0.125), ("batch_end", None), ("batch_figure", 40, "loss", 0.5),
        ("batch_figure", 41, "loss", 0.25), ("batch_figure", 43, "loss", 0.0625),
    ]


def test_an_epochs_lines_wait_for_no_loss(world, reported, late, capsys):
    monitor = pmtop.EpochPerformanceMonitor()
    loss = late(0.5)
    run_epoch(monitor, world, [1], [loss])
    assert capsys.readouterr().out.splitlines()[0] == "  Batch 0: 1.000s, CPU 100.0MB"
    loss.done = True
    monitor.on_epoch_start()
    monitor.on_batch_start(0)
    assert ("batch_figure", 40, "loss", 0.5) in reported and capsys.readouterr().out == ""


def test_losses_that_never_come_take_no_memory(world, reported, late):
    monitor = pmtop.EpochPerformanceMonitor(verbose_batches=0)
    run_epoch(monitor, world, [0.1] * 300, [late(0.5) for _ in range(300)])
    assert len(monitor._late) <= module.LATE_MAX
    failing = pmtop.EpochPerformanceMonitor(verbose_batches=1)
    run_epoch(failing, world, [0.1], [late(0.5, None)])
    assert not failing._late


def test_losses_of_many_kinds():
    numpy, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    half = torch.tensor([0.5], requires_grad=True)
    tensors = torch.tensor(0.5, dtype=torch.bfloat16), half * 1, torch.nn.Parameter(half)
    for loss in (0.5, numpy.float32(0.5), numpy.array([[0.5]]), *tensors):
        assert _figures.plain_loss(loss) == 0.5
    assert _figures.plain_loss(1) == 1.0 and _figures.plain_loss(float("nan")) != _figures.plain_loss(0.0)

    class Sharded(torch.Tensor):
        def item(self):
            raise AssertionError("asks other processes")
        __float__ = detach = item
    sharded = torch.tensor(0.5).as_subclass(Sharded)
    for loss in (None, "0.5", [0.5], numpy.zeros(2), torch.zeros(2), torch.tensor(0.5, device="meta"), sharded, object()):
        assert _figures.plain_loss(loss) is None and _figures.late_loss(loss) is None
    assert _figures.loss_end(float("nan")) == ", loss=nan\n"


# -- where the figures come from ----------------------------------------------------------------------------------------------------


def statistics(allocated, reserved, peak):
    """As torch.cuda.memory_stats_as_nested_dict() gives them."""
    reserved_bytes = {"all": {"current": reserved, "peak": reserved}}
    return lambda device: {"allocated_bytes": {"all": {"current": allocated, "peak": peak}}, "reserved_bytes": reserved_bytes}


def failing(*arguments):
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


def test_gpu_memory_is_torchs(monkeypatch):
    asked = []
    fake_torch(monkeypatch, is_initialized=lambda: True,
               memory_stats_as_nested_dict=lambda device: asked.append(device) or statistics(1, 2, 3)(device))
    assert _figures.gpu_memory("cuda:1") == (1, 2, 3) and asked == ["cuda:1"]
    # Nothing else is there: a call that waits, sets or starts anything would be an error, which would make figures None.
    fake_torch(monkeypatch, is_initialized=lambda: True, memory_allocated=lambda device: 1, memory_reserved=lambda device: 2,
               max_memory_allocated=lambda device: 3)
    assert _figures.gpu_memory() == (1, 2, 3)


@pytest.mark.parametrize("broken", ["is_initialized", "memory_allocated", "memory_reserved", "max_memory_allocated", None])
def test_each_call_may_fail(monkeypatch, broken, capsys):
    calls = {"is_initialized": lambda: True, "memory_allocated": lambda device: 5 * MB, "memory_reserved": lambda device: 7 * MB,
             "max_memory_allocated": lambda device: 6 * MB, "memory_stats_as_nested_dict": failing}
    for name in ([broken] if broken else calls):
        calls[name] = failing
    fake_torch(monkeypatch, **calls)
    monitor, epochs = pmtop.PerformanceMonitor(), pmtop.EpochPerformanceMonitor(verbose_batches=1)
    with monitor.track("x"):
        pass
    metric = monitor.get_metrics()[0]
    knows_nothing = broken in ("is_initialized", None)
    assert metric.gpu_delta_mb == (None if knows_nothing or broken == "memory_allocated" else 0.0)
    assert metric.gpu_peak_mb == (None if knows_nothing or broken == "max_memory_allocated" else 6.0)
    assert metric.cpu_delta_mb is not None
    epochs.on_epoch_start(), epochs.on_batch_start(0), epochs.on_batch_end(0), epochs.on_epoch_end()
    batch, epoch, _ = capsys.readouterr().out.splitlines()
    assert ("GPU 5.0MB" in batch) == ("GPU 5.0MB" in epoch) == (broken not in ("is_initialized", "memory_allocated", None))
    assert ("7MB reserved" in epoch) == (broken not in ("is_initialized", "memory_reserved", None))
    assert ("peak 6MB" in epoch) == (broken not in ("is_initialized", "max_memory_allocated", None))
    assert ("CPU" in epoch) == knows_nothing


def test_before_cuda_is_in_use_nothing_was_allocated(monkeypatch, capsys):
    state = {"is_initialized": False}
    fake_torch(monkeypatch, is_initialized=lambda: state["is_initialized"], memory_stats_as_nested_dict=statistics(8 * MB, 0, 9 * MB))
    monitor = pmtop.PerformanceMonitor()
    with monitor.track("before"):
        pass
    with monitor.track("to device"):
        state["is_initialized"] = True
    with monitor.track("after"):
        pass
    assert [metric[3:5] for metric in monitor.get_metrics()] == [(None, None), (8.0, 9.0), (0.0, 9.0)]
    monitor.print_summary()
    assert [line.split()[-2:] for line in capsys.readouterr().out.splitlines()[5:8]] == [["–", "–"], ["+8.0", "9.0"], ["+0.0", "9.0"]]


def test_gpu_gauges_are_published(monkeypatch, reported):
    fake_torch(monkeypatch, is_initialized=lambda: True, memory_stats_as_nested_dict=statistics(1, 2, 3))
    monitor = pmtop.EpochPerformanceMonitor(verbose_batches=0)
    monitor.on_batch_start(0), monitor.on_batch_end(0)
    assert reported[-3:] == [("gauge", "cuda.allocated_bytes", 1), ("gauge", "cuda.reserved_bytes", 2), ("gauge", "cuda.peak_bytes", 3)]


def test_torch_is_never_imported_and_cuda_never_started():
    assert watching.run("""
import sys, pmtop
monitor, epochs = pmtop.PerformanceMonitor(device=0), pmtop.EpochPerformanceMonitor()
with monitor.track("x"): pass
epochs.on_epoch_start(); epochs.on_batch_start(0); epochs.on_batch_end(0, 0.5); epochs.on_epoch_end()
print("torch" in sys.modules, "numpy" in sys.modules, "asyncio" in sys.modules)
""").out().splitlines()[-1] == "False False False"
    pytest.importorskip("torch")
    assert watching.run("""
import torch, pmtop
def refused(*arguments): raise AssertionError("started")
torch.cuda._lazy_init = torch.cuda.init = torch.cuda.synchronize = torch.cuda.is_available = torch.cuda.device_count = refused
monitor = pmtop.PerformanceMonitor(device=0)
with monitor.track("x"): pass
print(monitor.get_metrics()[0].gpu_delta_mb)
""").out().splitlines()[-1] == "None"


def test_the_resident_set_is_the_kernels():
    def kernels():
        with open("/proc/self/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) * 1024
    assert abs(_figures.resident_bytes() - kernels()) < 2 * MB
    monitor = pmtop.PerformanceMonitor()
    with monitor.track("grow") as block:
        kept = bytearray(os.urandom(1)) * (40 * MB)
    assert len(kept) == 40 * MB and 38 < block.metric.cpu_delta_mb < 45


def test_a_closed_descriptor_is_opened_again():
    before = _figures.resident_bytes()
    os.close(_figures._statm)
    with open("/proc/self/comm") as taken:
        assert abs(_figures.resident_bytes() - before) < 20 * MB
        assert taken.read()
    assert _figures.resident_bytes() is not None


def test_a_forked_child_reads_its_own_memory_and_locks():
    assert watching.run("""
import os, threading, pmtop
from pmtop import monitor as module
from pmtop._profiling import figures as _figures
monitor = pmtop.PerformanceMonitor()
with monitor.track("open"):
    ballast = b"x" * 80_000_000
    held = threading.Event(); done = threading.Event()
    def hold():
        with module._lock: held.set(); done.wait()
    thread = threading.Thread(target=hold); thread.start(); held.wait()
    pid = os.fork()
    if not pid:
        del ballast
        with monitor.track("child") as block: pass
        print(block.metric.depth, _figures.resident_bytes() < 60_000_000, len(monitor.get_metrics()), flush=True)
        os._exit(0)
    os.waitpid(pid, 0); done.set(); thread.join()
""").out() == "0 True 1\n"


def test_a_signal_handler_may_track():
    monitor = pmtop.PerformanceMonitor()

    def handler(*_):
        with monitor.track("in handler"):
            pass
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with module._lock:
            os.kill(os.getpid(), signal.SIGUSR1)
        assert [metric.operation for metric in monitor.get_metrics()] == ["in handler"]
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_a_copy_has_the_settings_and_nothing_measured(again):
    monitor, epochs = pmtop.PerformanceMonitor(device="cuda:1"), pmtop.EpochPerformanceMonitor(False, 3, 1)
    with monitor.track("x"):
        pass
    other, others = again({"trainer": monitor})["trainer"] if again is not copy.copy else again(monitor), again(epochs)
    assert (other.enabled, other.device, other.get_metrics()) == (True, "cuda:1", [])
    assert (others.enabled, others.verbose_batches, others.device) == (False, 3, 1)
    assert again(pmtop.PerformanceMonitor(False)).enabled is False


# -- configuration ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config, enabled, batches", [
    ({}, False, 5), ({"enable_memory_monitoring": True}, True, 5), ({"memory_monitor_batches": 3}, False, 3),
    ({"trainer_params": None}, False, 5),
    ({"trainer_params": {"enable_memory_monitoring": True, "memory_monitor_batches": 0, "batch_size": 32}, "other": [1]}, True, 0),
    (types.MappingProxyType({"enable_memory_monitoring": True}), True, 5),
])
def test_configurations(config, enabled, batches):
    for make in (pmtop.monitor_from_config, pmtop.EpochPerformanceMonitor.from_config):
        monitor = make(config, device=1)
        assert (monitor.enabled, monitor.verbose_batches, monitor.device) == (enabled, batches, 1)
    assert pmtop.PerformanceMonitor.from_config(config).enabled is enabled


@pytest.mark.parametrize("config, error, said", [
    (None, TypeError, "config: None is not a mapping; "), ([1], TypeError, "config: [1] is not a mapping; "),
    ({"trainer_params": "x"}, TypeError, "trainer_params: 'x' is not a mapping; "),
    ({"enable_memory_monitoring": "yes"}, TypeError, "config.enable_memory_monitoring: 'yes' is neither true nor false; "),
    ({"trainer_params": {"enable_memory_monitoring": 1}}, TypeError, "trainer_params.enable_memory_monitoring: 1 is neither true nor "),
    ({"memory_monitor_batches": 2.5}, TypeError, "config.memory_monitor_batches: 2.5 is not a whole number; "),
    ({"memory_monitor_batches": True}, TypeError, "config.memory_monitor_batches: True is not a whole number; "),
    ({"memory_monitor_batches": -1}, ValueError, "config.memory_monitor_batches: -1 is below 0; "),
    ({"memory_monitor_batches": "x\n" * 99}, TypeError, "config.memory_monitor_batches: 'x\\nx\\n"),
])
def test_wrong_configurations_are_said_in_one_line(config, error, said):
    with pytest.raises(error) as raised:
        pmtop.monitor_from_config(config)
    assert str(raised.value).startswith(said) and "\n" not in str(raised.value) and len(str(raised.value)) < 160
