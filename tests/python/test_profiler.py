"""pmtop.PerformanceProfiler: what it measures, what it publishes, and that it changes nothing."""
import gc
import os
import pickle
import sys
import threading
import time
import weakref

import pmtop
import pytest
import watching
from pmtop._profiling import figures as _figures
from pmtop._profiling import gpu_peak as _gpu_peak
from pmtop._profiling import machine as _machine
from pmtop._profiling import flops as _profiler_torch
from pmtop._profiling import sampler as _sampler
from pmtop._profiling.metrics import LEAK_MB, Mean, diagnose_performance_issues, is_leak
from pmtop.profiler import SPAN_NAMES_MAX
from region_events import Region

torch = pytest.importorskip("torch")


def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def net():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


def train(profiler=None, steps=5):
    """The losses and parameters after some steps."""
    model, losses = net(), []
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    loader = torch.utils.data.DataLoader(torch.randn(steps * 4, 4), batch_size=4)

    def loop():
        for batch in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.dropout(model(batch)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    if profiler is None:
        loop()
    else:
        with profiler.profile("training"):
            loop()
    return losses, [parameter.tolist() for parameter in model.parameters()]


def test_times_of_a_block_and_of_what_is_in_it():
    profiler = pmtop.PerformanceProfiler()
    with profiler.profile("outer") as outer:
        busy(0.05)
        with profiler.profile("inner"):
            time.sleep(0.1)
    metrics = profiler.get_metrics()
    assert metrics is outer.metrics and metrics.name == "outer"
    assert metrics.timing.wall_time_s >= 0.15 and 0.05 <= metrics.timing.cpu_time_s < metrics.timing.wall_time_s
    assert metrics.timing.self_time_s == pytest.approx(metrics.timing.wall_time_s - profiler.get_metrics("inner").timing.wall_time_s)
    assert profiler.get_metrics("inner").timing.cpu_time_s < 0.05
    assert sum(profiler.get_timing_percentages().values()) == pytest.approx(100)


def test_a_block_that_raises_is_profiled():
    profiler = pmtop.PerformanceProfiler()
    with pytest.raises(ZeroDivisionError), profiler.profile("fails"):
        1 / 0
    assert profiler.get_metrics("fails").timing.wall_time_s > 0


def test_what_is_unknown_is_none():
    profiler = pmtop.PerformanceProfiler(estimate_flops=False)
    with profiler.profile("block"):
        pass
    metrics = profiler.get_metrics()
    assert metrics.memory.peak_gpu_mb is metrics.memory.gpu_growth_mb is metrics.compute.gpu_utilization_percent is metrics.compute.mfu_percent is None
    assert metrics.compute.estimated_flops is metrics.throughput is metrics.samples is metrics.memory.is_leak_suspected is None
    assert profiler.get_current_gpu_memory() is None and profiler.get_current_memory() > 1
    assert diagnose_performance_issues(metrics._replace(system=metrics.system._replace(cpu_percent=None))) == []


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="memory_interval: 0 is below 0.001 s or infinite; pass seconds, such as 0.1"):
        pmtop.PerformanceProfiler(memory_interval=0)
    with pytest.raises(TypeError, match="system_interval: '1' is no number"):
        pmtop.PerformanceProfiler(system_interval="1")
    profiler = pmtop.PerformanceProfiler()
    with pytest.raises(TypeError, match="profile: the name must be a str, not int"):
        profiler.profile(1)
    with pytest.raises(LookupError, match="get_metrics: no block named 'x' has ended"):
        profiler.get_metrics("x")
    with pytest.raises(ValueError, match="enable_line_profiling=True"):
        profiler.get_line_profile()


def test_carbon_is_refused_with_a_line(capsys):
    pmtop.PerformanceProfiler(track_carbon=True)
    assert capsys.readouterr().err == "pmtop: PerformanceProfiler: track_carbon measures nothing; pmtop shows the energy (J)\n"


def test_sampled_lines_hold_no_local_variable():
    class Tensor:
        pass

    def sampled():
        tensor = Tensor()
        sampler = threading.Thread(target=_sampler.Lines().sample, args=([threading.get_ident()], 1.0))
        sampler.start()
        sampler.join()
        return weakref.ref(tensor)

    gc.disable()
    try:
        assert sampled()() is None
    finally:
        gc.enable()


def test_a_peak_within_a_block_is_sampled():
    ballast = bytearray(b"1") * 300_000_000
    del ballast
    profiler = pmtop.PerformanceProfiler(detailed_memory=True, memory_interval=0.01)
    with profiler.profile("peak"):
        before = profiler.get_current_memory()
        block = bytearray(b"1") * 100_000_000
        time.sleep(0.1)
        del block
    memory = profiler.get_metrics().memory
    assert memory.peak_ram_mb >= before + 90 and memory.growth_mb < 50


@pytest.mark.parametrize("samples, found", [
    ([100.0] * 8, False), ([100.0 + 20 * i for i in range(8)], True), ([100.0 + 5 * i for i in range(8)], False),
    ([100, 300, 300, 300, 300, 300, 300, 300], False), ([100.0, 300.0], None),
])
def test_a_leak_grows_in_each_quarter(samples, found):
    assert is_leak(samples) is found and LEAK_MB == 100


def has_sampler():
    return any(thread.name == "pmtop-sampler" for thread in threading.enumerate())


def test_the_sampling_thread_sleeps_between_blocks_and_ends(monkeypatch):
    monkeypatch.setattr(_sampler, "_IDLE_S", 0.1)
    watching.wait_for(lambda: not has_sampler(), 5)
    profiler = pmtop.PerformanceProfiler(detailed_memory=True, memory_interval=0.01)
    for _ in range(2):
        with profiler.profile("block"):
            assert has_sampler()
        watching.wait_for(lambda: not has_sampler(), 5)


def test_without_an_option_there_is_no_thread():
    watching.wait_for(lambda: not has_sampler(), 5)
    with pmtop.PerformanceProfiler().profile("block"):
        assert not has_sampler()


def test_threads_have_their_own_last_block():
    profiler, seen = pmtop.PerformanceProfiler(), {}

    def work(name):
        with profiler.profile(name):
            time.sleep(0.02)
        time.sleep(0.02)
        seen[name] = profiler.get_metrics().name
    threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {name: name for name in seen} and len(seen) == 4


def test_the_profiler_changes_no_result():
    torch.manual_seed(7)
    plain = train()
    torch.manual_seed(7)
    assert train(pmtop.PerformanceProfiler(detailed_memory=True, memory_interval=0.001, enable_line_profiling=True)) == plain
    torch.manual_seed(7)
    assert train(pmtop.PerformanceProfiler(estimate_flops=True)) == plain


def test_flops_of_the_first_step_count_for_each():
    counted, estimated = pmtop.PerformanceProfiler(estimate_flops=True), pmtop.PerformanceProfiler()
    for profiler in (counted, estimated):
        train(profiler)
    for profiler in (counted, estimated):
        compute = profiler.get_metrics().compute
        # Forward, the gradients of both weights and that of the hidden layer: two for each multiply-add.
        assert compute.flops_per_step == 2 * 4 * (2 * 4 * 8 + 3 * 8) and compute.estimated_flops == 5 * compute.flops_per_step
        assert compute.steps == 5 and compute.parameters == 49
    assert estimated.get_metrics().samples == 20


def test_nothing_of_torch_is_left_changed():
    before = torch.utils.data.dataloader._BaseDataLoaderIter.__next__
    hooks = torch.nn.modules.module._global_forward_pre_hooks
    train(pmtop.PerformanceProfiler())
    assert torch.utils.data.dataloader._BaseDataLoaderIter.__next__ is before and not hooks
    assert not sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks


def test_a_dispatch_mode_of_the_program_stays():
    from torch.utils.flop_counter import FlopCounterMode
    model = net()
    with pmtop.PerformanceProfiler().profile("block"), FlopCounterMode(display=False) as own:
        for _ in range(3):
            model(torch.randn(4, 4))
    assert own.get_total_flops() == 3 * 2 * 4 * (4 * 8 + 8)


@pytest.mark.parametrize("name, peak", [
    ("NVIDIA A100-SXM4-80GB", 312e12), ("NVIDIA H100 80GB HBM3", 989.4e12), ("NVIDIA H100 PCIe", 756e12), ("Tesla T4", 65e12), ("NVIDIA L40S", 362e12),
    ("NVIDIA A10G", None), ("GeForce GTX 1080", None), (None, None),
])
def test_peaks_by_the_name_of_the_gpu(name, peak):
    assert _profiler_torch.peak_flops(name) == peak


def test_mfu_needs_no_question(monkeypatch):
    monkeypatch.setattr(_machine, "gpu_name", lambda device=None: "NVIDIA A100-SXM4-80GB")
    pmtop.close()
    pmtop.init()
    profiler = pmtop.PerformanceProfiler()
    train(profiler)
    compute = profiler.get_metrics().compute
    assert compute.mfu_percent == pytest.approx(100 * compute.flops_per_s / 312e12)
    region = Region(os.getpid())
    assert float(region.meta["peak_flops"]) == 312e12
    assert float(region.meta["flops_per_sample"]) == compute.flops_per_step / 4
    assert region.gauges["profiler.mfu_percent"] == compute.mfu_percent and region.gauges["profiler.peak_ram_mb"] > 1
    pmtop.close()


def test_gpu_memory_of_a_block(monkeypatch):
    figures = [_figures.GpuMemory(10**9, 2 * 10**9, 4 * 10**9)] * 2 + [_figures.GpuMemory(2 * 10**9, 3 * 10**9, 4 * 10**9)] * 2
    monkeypatch.setattr(_figures, "gpu_memory", lambda device=None: figures.pop(0))
    profiler = pmtop.PerformanceProfiler()
    with profiler.profile("block"):
        pass
    # The allocator's peak of 4 GB is from before the block.
    assert (profiler.get_metrics().memory.peak_gpu_mb, profiler.get_metrics().memory.gpu_growth_mb) == (2000, 1000)


class Allocator:
    """The part of torch.cuda about memory. Device 1 has the peaks of device 0, with 1 GB more."""

    def __init__(self, monkeypatch):
        self.now = self.peak = 0
        self.resets = 0
        self.waits = []
        for name in ("is_initialized", "current_device", "memory_stats_as_nested_dict", "reset_peak_memory_stats", "max_memory_allocated"):
            monkeypatch.setattr(torch.cuda, name, getattr(self, name))
        monkeypatch.setattr(torch.cuda, "synchronize", self.waits.append)
        monkeypatch.setattr(_gpu_peak, "_state", _gpu_peak._State())

    def uses(self, gb):
        """Allocates and frees so much."""
        self.peak = max(self.peak, self.now + gb * 10**9)

    def is_initialized(self):
        return True

    def current_device(self):
        return 0

    def memory_stats_as_nested_dict(self, device):
        return {"allocated_bytes": {"all": {"current": self.now, "peak": self.peak}}, "reserved_bytes": {"all": {"current": self.peak}}}

    def reset_peak_memory_stats(self, device):
        self.resets += 1
        self.peak = self.now

    def max_memory_allocated(self, device=None):
        return self.peak


def test_each_block_has_its_own_gpu_peak(monkeypatch, capsys):
    allocator, monitor = Allocator(monkeypatch), pmtop.PerformanceMonitor()
    allocator.uses(9)
    with monitor.track("epoch"):
        allocator.uses(3)
        for name, gb in (("big", 5), ("small", 1)):
            with monitor.track(name, aggregate=name == "small"):
                allocator.uses(gb)
    other = threading.Thread(target=lambda: monitor.track("inner").__enter__().__exit__(None, None, None))
    with pmtop.track_performance("around"):
        allocator.uses(4)
        other.start()
        other.join()
    assert {metric.operation: metric.gpu_peak_mb for metric in monitor.get_metrics()} == {"big": 5000, "epoch": 5000, "inner": 0}
    assert "GPU peak: 4000.0MB" in capsys.readouterr().out
    monitor.print_summary()
    rows = {line.split()[0]: line.split()[-1] for line in capsys.readouterr().out.splitlines()[5:9]}
    assert rows == {"epoch": "5000.0", "big": "5000.0", "small": "1000.0", "inner": "0.0"}
    # The figures of the process are not those of the newest block.
    assert _gpu_peak.of_process(None, _figures.gpu_memory()).peak == _gpu_peak.hidden(0) == 9 * 10**9
    profiler = pmtop.PerformanceProfiler(estimate_flops=False)
    with profiler.profile("block"):
        allocator.uses(2)
    assert profiler.get_metrics().memory.peak_gpu_mb == 2000 and not allocator.waits


def test_torchs_own_peak_is_left_alone_and_waits_are_made_if_asked_for(monkeypatch):
    allocator = Allocator(monkeypatch)
    allocator.uses(9)
    monitor = pickle.loads(pickle.dumps(pmtop.PerformanceMonitor(device=1, synchronize=True, reset_peak=False)))
    with monitor.track("small"):
        allocator.uses(1)
    assert monitor.get_metrics()[0].gpu_peak_mb == 9000 and allocator.resets == 0 and allocator.waits == [1, 1]


def test_the_comparison_has_accuracy_per_second(capsys):
    profiler = pmtop.PerformanceProfiler()
    for name in ("small", "large"):
        with profiler.profile(name):
            time.sleep(0.02)
    profiler.set_accuracy("small", 0.5)
    small, large = profiler.compare()
    assert small.accuracy_per_s == pytest.approx(0.5 / small.wall_time_s) and large.accuracy is None
    profiler.print_comparison("small")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Block", "Time", "(s)", "RAM", "(MB)", "GPU", "(MB)", "FLOPs", "Params", "Accuracy", "Acc/s"]
    assert lines[2].split()[0] == "small" and lines[2].split()[3:7] == ["–", "–", "–", "0.5000"] and len(lines) == 3


def test_the_system_report_has_means_and_peaks():
    profiler = pmtop.PerformanceProfiler(track_system=True, system_interval=0.05, track_network=True)
    until, samples = time.monotonic() + 10, 0
    while samples < 3 and time.monotonic() < until:      # on a busy machine the thread that samples comes late
        with profiler.profile("block"):
            busy(0.4)
        report = profiler.get_system_report()
        samples = report.samples
    assert samples >= 3 and 0 < report.avg_cpu_percent <= report.peak_cpu_percent <= 100
    assert 0 < report.avg_memory_percent <= report.peak_memory_percent < 100
    assert report.avg_network_sent_mb_per_s is None or report.avg_network_sent_mb_per_s >= 0


def test_no_mean_is_above_its_peak():
    mean = Mean()
    assert mean.mean() is None
    for _ in range(3):                                   # 0.1 + 0.1 + 0.1 is more than 0.3
        mean.add(0.1)
    assert mean.mean() == mean.peak == 0.1
    mean.add(None)
    mean.add(0.0)
    assert mean.mean() == pytest.approx(0.075) and mean.peak == 0.1


def test_a_copy_has_the_settings_without_the_measurements():
    profiler = pmtop.PerformanceProfiler(system_interval=7.0)
    with profiler.profile("block"):
        copy = pickle.loads(pickle.dumps(profiler))
    assert copy._system_interval == 7.0
    with pytest.raises(LookupError):
        copy.get_metrics()


def test_a_forked_child_profiles_too():
    profiler = pmtop.PerformanceProfiler(detailed_memory=True, memory_interval=0.01)
    with profiler.profile("parent"):
        time.sleep(0.02)
        pid = os.fork()
        if pid == 0:
            with profiler.profile("child"):
                time.sleep(0.05)
            os._exit(0 if profiler.get_metrics("child").timing.wall_time_s > 0.05 else 1)
    assert os.waitpid(pid, 0)[1] == 0


SCRIPT = """
import time, pmtop
profiler = pmtop.PerformanceProfiler()
for _ in range(3):
    with profiler.profile("training"):
        with profiler.profile("load"):
            time.sleep(0.05)
production = pmtop.ProductionProfiler()
for i in range(200):
    with production.profile_request(f"r{i}"):
        pass
production.log_metrics("r199", 2.5)
for i in range(200):
    with profiler.profile(f"lr_{i}"):
        pass
"""


def test_pmtop_shows_the_blocks():
    seen = watching.watch(SCRIPT)
    assert seen.err == "pmtop: request r199 took 2.500 s, above the limit\n"
    assert watching.operation(seen.last, "training")["count"] == 3
    assert watching.operation(seen.last, "load", 1)["mean_s"] >= 0.05
    assert watching.operation(seen.last, "request *")["count"] == 200
    names = {row["name"] for row in seen.last["operations"]}
    assert {"lr_0", "lr_*"} <= names and len([name for name in names if name.startswith("lr_")]) <= SPAN_NAMES_MAX
