"""What PerformanceProfiler measured, as values: metrics of a block, the machine's report, comparisons, and what to do about them."""
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from pmtop._profiling import figures
from pmtop._profiling.machine import SystemStats

PEAK_RAM_MB_MAX = 16_000
CPU_PERCENT_MAX = 95
GPU_UTILIZATION_PERCENT_MIN = 70
DISK_WAIT_PERCENT_MAX = 20
LEAK_MB = 100
"""The limits of guide 001, "Common Performance Issues" and "Memory Leak Detection"."""

LEAK_PARTS = 4
"""The memory of a block that leaks grows from each quarter of the block to the next."""


class MemoryMetrics(NamedTuple):
    """MB of 10**6 bytes."""

    peak_ram_mb: Optional[float]
    """Largest resident set of the process. Exact if the block set a new peak of the process; otherwise the largest sample."""
    peak_gpu_mb: Optional[float]
    """Largest memory of torch's CUDA allocator, in the same way."""
    growth_mb: Optional[float]
    """Resident set at the end less that at the begin."""
    gpu_growth_mb: Optional[float]
    is_leak_suspected: Optional[bool]
    """Whether the resident set grew by more than 100 MB, in each quarter of the block. None without detailed_memory, or with few samples."""


class TimingMetrics(NamedTuple):
    """Seconds."""

    wall_time_s: float
    cpu_time_s: float
    """Of all threads of the process."""
    self_time_s: float
    """Wall time outside the blocks within this one."""


class ComputeMetrics(NamedTuple):
    """FLOPs by torch.utils.flop_counter: matrix products, convolutions and attention; a multiply-add is two."""

    estimated_flops: Optional[float]
    """Of the whole block. In training those of the first step times the optimizer steps."""
    flops_per_step: Optional[float]
    parameters: Optional[int]
    """Of the modules that were called."""
    flops_per_param: Optional[float]
    """Of a step in training, otherwise of the block."""
    flops_per_s: Optional[float]
    mfu_percent: Optional[float]
    """Model FLOPs utilisation: FLOP/s by the GPU's peak. None for a GPU whose peak pmtop does not know."""
    gpu_utilization_percent: Optional[float]
    """Mean of the samples; the driver's last figure without a sampler."""
    steps: int
    """Optimizer steps."""


class SystemMetrics(NamedTuple):
    """The machine during the block; None for what has no figure, such as a block shorter than the kernel's clock tick."""

    cpu_percent: Optional[float]
    process_cpu_percent: Optional[float]
    """CPU time of the process by wall time: 200 is two processors."""
    memory_percent: Optional[float]
    disk_io_percent: Optional[float]
    disk_io_wait_percent: Optional[float]
    network_sent_mb_per_s: Optional[float]
    network_received_mb_per_s: Optional[float]
    cpu_temp_c: Optional[float]
    gpu_temp_c: Optional[float]


class ProfileMetrics(NamedTuple):
    """One finished block."""

    name: str
    memory: MemoryMetrics
    timing: TimingMetrics
    compute: ComputeMetrics
    system: SystemMetrics
    samples: Optional[int]
    throughput: Optional[float]
    """Samples per second."""


class SystemReport(NamedTuple):
    """Means and peaks over all blocks of a profiler. None without a figure."""

    samples: int
    avg_cpu_percent: Optional[float]
    peak_cpu_percent: Optional[float]
    avg_memory_percent: Optional[float]
    peak_memory_percent: Optional[float]
    avg_disk_io_percent: Optional[float]
    peak_disk_io_percent: Optional[float]
    avg_disk_io_wait_percent: Optional[float]
    peak_disk_io_wait_percent: Optional[float]
    avg_network_sent_mb_per_s: Optional[float]
    peak_network_sent_mb_per_s: Optional[float]
    avg_network_received_mb_per_s: Optional[float]
    peak_network_received_mb_per_s: Optional[float]
    avg_cpu_temp_c: Optional[float]
    peak_cpu_temp_c: Optional[float]
    avg_gpu_utilization_percent: Optional[float]
    peak_gpu_utilization_percent: Optional[float]
    avg_gpu_temp_c: Optional[float]
    peak_gpu_temp_c: Optional[float]


class Mean:
    """Mean and peak of the figures that are known."""

    __slots__ = ("count", "total", "peak")

    def __init__(self) -> None:
        self.count, self.total = 0, 0.0
        self.peak: Optional[float] = None

    def add(self, figure: Optional[float]) -> None:
        if figure is not None:
            self.count += 1
            self.total += figure
            self.peak = figure if self.peak is None else max(self.peak, figure)

    def mean(self) -> Optional[float]:
        """At most the peak: the sum of equal figures, rounded, may give more."""
        return None if self.peak is None else min(self.total / self.count, self.peak)


class SystemSums:
    """Adds up SystemStats."""

    def __init__(self) -> None:
        self.count = 0
        self._means = {name: Mean() for name in SystemStats._fields}

    def add(self, stats: SystemStats) -> None:
        self.count += 1
        for name, mean in self._means.items():
            mean.add(getattr(stats, name))

    def report(self) -> SystemReport:
        values: Dict[str, Any] = {f"avg_{name}": mean.mean() for name, mean in self._means.items()}
        values.update({f"peak_{name}": mean.peak for name, mean in self._means.items()})
        return SystemReport(samples=self.count, **values)


def is_leak(samples_mb: Sequence[float]) -> Optional[bool]:
    """Whether these samples of the resident set, at equal intervals, look like a leak. None with fewer than two for each quarter."""
    if len(samples_mb) < 2 * LEAK_PARTS:
        return None
    size = len(samples_mb) / LEAK_PARTS
    parts = [samples_mb[round(i * size):round((i + 1) * size)] for i in range(LEAK_PARTS)]
    means = [sum(part) / len(part) for part in parts]
    grows = all(before < after for before, after in zip(means, means[1:]))
    return grows and samples_mb[-1] - samples_mb[0] > LEAK_MB


def diagnose_performance_issues(metrics: ProfileMetrics) -> List[str]:
    """What to look at, by the limits of guide 001; empty if nothing is above one. An unknown figure is no issue."""
    checks = (
        (metrics.memory.peak_ram_mb, PEAK_RAM_MB_MAX, "High memory usage - consider reducing batch size or model size"),
        (metrics.system.cpu_percent, CPU_PERCENT_MAX, "CPU bottleneck - consider data loading optimization or distributed training"),
        (metrics.system.disk_io_wait_percent, DISK_WAIT_PERCENT_MAX, "I/O bottleneck - optimize data loading or use faster storage"),
        (metrics.memory.is_leak_suspected, 0, f"Memory grew by more than {LEAK_MB} MB throughout - look for tensors that are kept"),
    )
    issues = [text for figure, most, text in checks if figure is not None and figure > most]
    utilization = metrics.compute.gpu_utilization_percent
    if utilization is not None and utilization < GPU_UTILIZATION_PERCENT_MIN:
        issues.append("GPU underutilized - increase batch size or improve data loading")
    return issues


class ComparedBlock(NamedTuple):
    """A row of a comparison."""

    name: str
    wall_time_s: float
    cpu_time_s: float
    peak_ram_mb: Optional[float]
    peak_gpu_mb: Optional[float]
    estimated_flops: Optional[float]
    parameters: Optional[int]
    throughput: Optional[float]
    accuracy: Optional[float]
    accuracy_per_s: Optional[float]
    """Accuracy by wall time."""


def compared(metrics: ProfileMetrics, accuracy: Optional[float]) -> ComparedBlock:
    """The row of a block. accuracy: as the program measured it."""
    seconds = metrics.timing.wall_time_s
    per_s = None if accuracy is None or not seconds else accuracy / seconds
    return ComparedBlock(
        metrics.name, seconds, metrics.timing.cpu_time_s, metrics.memory.peak_ram_mb, metrics.memory.peak_gpu_mb, metrics.compute.estimated_flops,
        metrics.compute.parameters, metrics.throughput, accuracy, per_s,
    )


_UNITS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def _in_units(figure: Optional[float]) -> str:
    if figure is None:
        return figures.UNKNOWN
    return next((f"{figure / scale:.2f} {unit}" for scale, unit in _UNITS if figure >= scale), f"{figure:.0f}")


def _decimals(figure: Optional[float], count: int) -> str:
    return figures.UNKNOWN if figure is None else f"{figure:.{count}f}"


def comparison_table(rows: Sequence[ComparedBlock]) -> str:
    """The rows as text, 114 columns wide."""
    header = f"{'Block':30}{'Time (s)':>11}{'RAM (MB)':>12}{'GPU (MB)':>12}{'FLOPs':>12}{'Params':>12}{'Accuracy':>11}{'Acc/s':>11}"
    lines = [
        figures.name_column(row.name) + figures.seconds_column(row.wall_time_s, 11) + figures.mb(row.peak_ram_mb).rjust(12)
        + figures.mb(row.peak_gpu_mb).rjust(12) + _in_units(row.estimated_flops).rjust(12) + _in_units(row.parameters).rjust(12)
        + _decimals(row.accuracy, 4).rjust(11) + _decimals(row.accuracy_per_s, 4).rjust(11)
        for row in rows
    ]  # fmt: skip
    return "\n".join([header, "-" * len(header), *lines]) + "\n"
