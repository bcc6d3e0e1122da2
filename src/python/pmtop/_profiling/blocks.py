"""An open block of PerformanceProfiler: what was read at its begin and since."""
import resource
import threading
from time import process_time
from typing import Dict, List, Optional

from pmtop._profiling import figures, gpu_peak, machine
from pmtop._profiling.measure import PerformanceMetric, larger
from pmtop._profiling.metrics import (
    ComputeMetrics, Mean, MemoryMetrics, ProfileMetrics, SystemMetrics, TimingMetrics, is_leak,
)  # fmt: skip
from pmtop._profiling.flops import StepFlops, can_count, counts

SAMPLES_MAX = 4096
"""Memory samples that a block keeps; then every second one is dropped."""

_BYTES_PER_KIB = 1024


def _peak_bytes() -> int:
    """The largest resident set since the process began."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _BYTES_PER_KIB


def _mb(figure: Optional[float]) -> Optional[float]:
    return None if figure is None else figure / figures.BYTES_PER_MB


class Flops:
    """Which blocks count FLOPs: one counter for each thread, which the outermost block that counts owns.

    wanted: the profiler's estimate_flops."""

    def __init__(self, wanted: Optional[bool]) -> None:
        self._wanted = wanted
        self._here = threading.local()
        self.known: Dict[str, float] = {}
        """FLOPs of a training step by the name of its block."""

    def begin(self, name: str) -> Optional[StepFlops]:
        """The counter that a block owns; None if an outer block counts, or nothing is to be counted."""
        if self._wanted is False or self.current() is not None or (self._wanted is None and name in self.known):
            return None
        torch = can_count(self._wanted is True)
        if torch is not None:
            try:
                self._here.counter = StepFlops(torch, self._wanted is True)
            except Exception:
                self._wanted = False
        return self.current()

    def current(self) -> Optional[StepFlops]:
        """The counter of this thread."""
        return getattr(self._here, "counter", None)

    def end(self, counter: StepFlops) -> None:
        """Ends the counter of this thread."""
        if self.current() is counter:
            self._here.counter = None
            counter.close()


class Block:
    """parent: the block of the same profiler that encloses it."""

    def __init__(self, name: str, parent: "Optional[Block]", gpu: Optional[figures.GpuMemory], flops: Flops) -> None:
        self.name, self.parent, self.gpu = name, parent, gpu
        self.reading: machine.Reading
        self.thread = threading.get_ident()
        # First: what torch imports for it is no memory of the block.
        self._counter = flops.begin(name)
        self._counting = flops.current()
        self._flops_before = self._counting.total() if self._counting else 0.0
        self.inner_s = 0.0
        self.last_gpu: Optional[machine.GpuReading] = None
        self._utilization = Mean()
        self._memory: List[float] = []
        self._stride = self._skipped = 0
        self._resident = figures.resident_bytes()
        self._peak_resident, self._peak_gpu = self._resident, gpu.allocated if gpu else None
        self._peak_before = _peak_bytes()
        self._steps, self._samples = counts.steps, counts.samples
        self._flops: Optional[float] = None
        self._step_flops: Optional[float] = None
        self._parameters: Optional[int] = None
        self.cpu_s = process_time()

    # -- samples, from the sampling thread

    def sample_memory(self, resident: Optional[int], gpu: Optional[figures.GpuMemory]) -> None:
        self._peak_resident = larger(self._peak_resident, resident)
        self._peak_gpu = larger(self._peak_gpu, gpu.allocated if gpu else None)
        self._skipped += 1
        if resident is None or self._skipped <= self._stride:
            return
        self._skipped = 0
        self._memory.append(resident / figures.BYTES_PER_MB)
        if len(self._memory) >= SAMPLES_MAX:
            self._memory = self._memory[::2]
            self._stride = 2 * self._stride + 1

    def sample_gpu(self, reading: Optional[machine.GpuReading]) -> None:
        if reading is not None:
            self.last_gpu = reading
            self._utilization.add(reading.utilization_percent)

    # -- the end

    def ends(self, metric: PerformanceMetric, cpu_s: float, gpu: Optional[figures.GpuMemory], now: Optional[machine.GpuReading], flops: Flops) -> None:
        """Reads what is read at the end, in the thread of the block."""
        if self.parent is not None:
            self.parent.inner_s += metric.duration_seconds
        self.cpu_time_s = cpu_s - self.cpu_s
        if self.last_gpu is None:
            self.sample_gpu(now)
        self._end_memory(gpu, metric.gpu_peak_mb if gpu_peak.is_exact() else None)
        self._end_flops(flops)

    def _end_memory(self, gpu: Optional[figures.GpuMemory], exact_mb: Optional[float]) -> None:
        peak, self.resident_end, self.gpu_end = _peak_bytes(), figures.resident_bytes(), gpu
        self._peak_resident = larger(larger(self._peak_resident, self.resident_end), peak if peak > self._peak_before else None)
        before = self.gpu.peak if self.gpu is not None else None
        if gpu is not None:
            is_new = gpu.peak is not None and (before is None or gpu.peak > before)
            self._peak_gpu = larger(larger(self._peak_gpu, gpu.allocated), gpu.peak if is_new else None)
        if exact_mb is not None:
            self._peak_gpu = exact_mb * figures.BYTES_PER_MB

    def _end_flops(self, flops: Flops) -> None:
        is_here = self.thread == threading.get_ident()
        self.steps = counts.steps - self._steps if is_here else 0
        self.samples = counts.samples - self._samples if is_here and counts.has_samples and counts.samples > self._samples else None
        counter = self._counting if is_here else None
        if counter is not None:
            self._parameters = counter.parameters()
            self._step_flops = counter.step_flops if self._counter is counter else None
            if counter.is_whole:
                # None: nothing was called that the counter knows.
                self._flops = (counter.total() - self._flops_before) or None
        if self._counter is not None and is_here:
            flops.end(self._counter)
        self._extrapolate(flops.known)

    def _extrapolate(self, known: Dict[str, float]) -> None:
        """A step's FLOPs, of this block or of one of its name before, count for each step."""
        if self._step_flops is not None:
            known[self.name] = self._step_flops
        self._step_flops = self._step_flops or known.get(self.name)
        if self._flops is None and self._step_flops is not None and self.steps:
            self._flops = self._step_flops * self.steps

    def metrics(self, metric: PerformanceMetric, system: SystemMetrics, samples: Optional[int], peak: Optional[float]) -> ProfileMetrics:
        """samples: as the program gave them. peak: FLOP/s of the GPU."""
        seconds = metric.duration_seconds
        samples = self.samples if samples is None else samples
        throughput = samples / seconds if samples is not None and seconds else None
        growth = figures.growth_mb(self._resident, self.resident_end)
        memory = MemoryMetrics(
            _mb(self._peak_resident), _mb(self._peak_gpu), growth, figures.gpu_growth_mb(self.gpu, self.gpu_end), is_leak(self._memory))
        timing = TimingMetrics(seconds, self.cpu_time_s, max(0.0, seconds - self.inner_s))
        return ProfileMetrics(self.name, memory, timing, self._compute(seconds, peak), system, samples, throughput)

    def _compute(self, seconds: float, peak: Optional[float]) -> ComputeMetrics:
        flops, step_flops, parameters = self._flops, self._step_flops, self._parameters
        per = step_flops if step_flops is not None else flops
        per_param = per / parameters if per is not None and parameters else None
        per_s = flops / seconds if flops is not None and seconds else None
        mfu = 100 * per_s / peak if per_s is not None and peak else None
        return ComputeMetrics(flops, step_flops, parameters, per_param, per_s, mfu, self._utilization.mean(), self.steps)


def system_metrics(stats: machine.SystemStats, cpu_s: float, wall_s: float) -> SystemMetrics:
    """The stats of a block with the process's own CPU time."""
    return SystemMetrics(
        stats.cpu_percent, 100 * cpu_s / wall_s if wall_s else None, stats.memory_percent, stats.disk_io_percent, stats.disk_io_wait_percent,
        stats.network_sent_mb_per_s, stats.network_received_mb_per_s, stats.cpu_temp_c, stats.gpu_temp_c,
    )
