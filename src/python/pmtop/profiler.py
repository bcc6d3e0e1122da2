"""The profiler of guide 001, "Performance Profiler": named blocks with their memory, times, FLOPs and the machine around them.

Each block is also a span of the run, and the figures of an outermost block are gauges, so that `pmtop -p PID` shows both. Figures are read at the
begin and at the end of a block; a thread samples in between only if an option asks for it. A figure that is unknown is None, never 0. pmtop waits
for no device: time that a GPU needs later is in no block, unless the program waits for it (torch.cuda.synchronize()).
"""
import sys
import threading
from collections import deque
from time import process_time
from typing import Any, Deque, Dict, List, Optional, Tuple

import pmtop
from pmtop._profiling import figures, machine, measure
from pmtop._profiling.measure import Measure, PerformanceMetric
from pmtop._profiling.blocks import Block, Flops, system_metrics
from pmtop._profiling.metrics import (
    ComparedBlock, ProfileMetrics, SystemReport, SystemSums, compared, comparison_table, diagnose_performance_issues,
)  # fmt: skip
from pmtop._profiling.flops import peak_flops, watch
from pmtop._request import pattern
from pmtop._profiling.sampler import Lines, LineTime, Sampler

__all__ = ["PerformanceProfiler", "diagnose_performance_issues"]

NAMES_MAX = 10_000
TOO_MANY_NAMES = "(too many names)"
SPAN_NAMES_MAX = 64
"""So many names are published as they are; names that differ in a number count as one afterwards, because a region never forgets a name."""
LINE_INTERVAL_S = 0.005
GPU_INTERVAL_S = 0.5
"""NVIDIA's driver renews its utilisation every 1/6 to 1 s (NVML, nvmlUtilization_t)."""
INTERVAL_S_MIN = 0.001
READINGS_MAX = 16

_GAUGES = (
    ("profiler.cpu_percent", lambda metrics: metrics.system.cpu_percent),
    ("profiler.flops_per_s", lambda metrics: metrics.compute.flops_per_s),
    ("profiler.mfu_percent", lambda metrics: metrics.compute.mfu_percent),
    ("profiler.peak_ram_mb", lambda metrics: metrics.memory.peak_ram_mb),
    ("profiler.samples_per_s", lambda metrics: metrics.throughput),
)


class _Profiled(Measure):
    """What profile() returns."""

    __slots__ = ("_opened", "_samples", "metrics")

    def __init__(self, profiler: "PerformanceProfiler", name: str, samples: Optional[int]) -> None:
        super().__init__(name, pmtop.span(profiler._span_name(name), memory=True, gpu=True), profiler.device, profiler)
        self._opened: List[Block] = []
        self._samples = samples
        self.metrics: Optional[ProfileMetrics] = None
        """Of the last finished block."""

    def __enter__(self) -> "_Profiled":
        outer = measure._open(measure._innermost.get())
        while outer is not None and outer.owner is not self._owner:
            outer = measure._open(outer.parent)
        opened = outer.measure._opened if outer is not None else None
        self._opened.append(self._owner._begin(self._name, opened[-1] if opened else None))
        super().__enter__()
        return self

    def _done(self, metric: PerformanceMetric) -> None:
        self.metrics = self._owner._end(self._opened.pop(), metric, self._samples)


class PerformanceProfiler:
    """Profiles named blocks: guide 001.

    track_gpu: reads the memory of torch's CUDA allocator, and the GPU's utilisation and temperature from NVIDIA's driver, once CUDA is in use.
    track_carbon: not measured; pmtop itself shows energy in J. detailed_memory: a thread samples memory every `memory_interval` s, for peaks
    within a block and for leaks. track_cpu_temp, track_network: also the processors' temperature (°C) and the network's rates (MB/s).
    track_system: a thread samples the machine every `system_interval` s, for get_system_report(). enable_line_profiling: a thread samples the
    lines of the profiled threads 200 times a second. estimate_flops: True counts the FLOPs of each whole block, which slows it by some 10 us for
    each operation; None only those of the first training step of each name, and none of a program that compiles; False none.
    device: as torch.cuda.memory_allocated takes it; None is the current one.

    Any thread may call any method. Memory is bounded: 10,000 names, the last metrics of each. A copy has the settings without the measurements.
    Raises TypeError or ValueError for an interval that is no number of at least 0.001 s.
    """

    def __init__(self, *, track_gpu: bool = True, track_carbon: bool = False, detailed_memory: bool = False, memory_interval: float = 0.1,
                 track_cpu_temp: bool = False, track_network: bool = False, track_system: bool = False, system_interval: float = 1.0,
                 enable_line_profiling: bool = False, estimate_flops: Optional[bool] = None, device: Any = None) -> None:
        self._options = {
            "track_gpu": track_gpu, "track_carbon": track_carbon, "detailed_memory": detailed_memory, "memory_interval": memory_interval,
            "track_cpu_temp": track_cpu_temp, "track_network": track_network, "track_system": track_system, "system_interval": system_interval,
            "enable_line_profiling": enable_line_profiling, "estimate_flops": estimate_flops, "device": device,
        }  # fmt: skip
        _check_interval("memory_interval", memory_interval)
        _check_interval("system_interval", system_interval)
        if track_carbon:
            print("pmtop: PerformanceProfiler: track_carbon measures nothing; pmtop shows the energy (J)", file=sys.stderr)
        self.device = device
        self.track_gpu, self.track_network, self.track_cpu_temp = track_gpu, track_network, track_cpu_temp
        self._memory_interval, self._system_interval = memory_interval, system_interval
        self._gpu = machine.Gpu(device)
        self._lines = Lines() if enable_line_profiling else None
        self._flops = Flops(estimate_flops)
        self._sampler = Sampler(self._tasks(detailed_memory, track_system))
        self._span_names: Dict[str, str] = {}
        self._published: Dict[str, float] = {}
        self._lock = threading.RLock()
        self._open: List[Block] = []
        self.clear()

    def __reduce__(self) -> Tuple[Any, ...]:
        return _made_again, (type(self), self._options)

    def _tasks(self, detailed_memory: bool, track_system: bool) -> List[Tuple[float, Any]]:
        tasks: List[Tuple[float, Any]] = []
        if detailed_memory:
            tasks.append((self._memory_interval, self._sample_memory))
        if track_system:
            tasks.append((self._system_interval, self._sample_system))
        if self._lines is not None:
            tasks.append((LINE_INTERVAL_S, self._sample_lines))
        if self.track_gpu and tasks:
            tasks.append((GPU_INTERVAL_S, self._sample_gpu))
        return tasks

    def clear(self) -> None:
        """Deletes the measurements. Open blocks count when they end."""
        with self._lock:
            self._last: Dict[str, ProfileMetrics] = {}
            self._newest: Optional[ProfileMetrics] = None
            self._here = threading.local()
            self._self_s: Dict[str, float] = {}
            self._wall_s: Dict[str, float] = {}
            self._accuracies: Dict[str, float] = {}
            self._system = SystemSums()
            self._readings: Deque[machine.Reading] = deque([machine.read(self.track_network)], READINGS_MAX)
            if self._lines is not None:
                self._lines = Lines()

    # -- blocks

    def profile(self, name: str, samples: Optional[int] = None) -> _Profiled:
        """`with profiler.profile("training"):` profiles the block, even if it raises; blocks nest.

        samples: how many the block works on; otherwise those that DataLoaders return in it, in its thread. Afterwards `metrics` of the `as` variable
        is the block's ProfileMetrics. The overhead is about 0.3 ms, and about 1 s once when the first FLOPs are counted.
        Raises TypeError for a name that is no str."""
        if not isinstance(name, str):
            raise TypeError(f"profile: the name must be a str, not {type(name).__name__}")
        return _Profiled(self, name, samples)

    def _span_name(self, name: str) -> str:
        if name not in self._span_names and len(self._span_names) >= SPAN_NAMES_MAX:
            return pattern(name)
        return self._span_names.setdefault(name, name)

    def _begin(self, name: str, parent: Optional[Block]) -> Block:
        watch.begin()
        block = Block(name, parent, self._gpu_memory(), self._flops)
        block.reading = machine.read(self.track_network)
        with self._lock:
            self._open.append(block)
        self._sampler.begin()
        return block

    def _end(self, block: Block, metric: PerformanceMetric, samples: Optional[int]) -> ProfileMetrics:
        cpu_s, gpu = process_time(), self._gpu_memory()
        self._sampler.end()
        with self._lock:
            self._open.remove(block)
            if self._lines is not None and not self._open:
                self._lines.forget_threads()
        reading = machine.read(self.track_network)
        block.ends(metric, cpu_s, gpu, self._gpu.read() if self.track_gpu else None, self._flops)
        temp = machine.cpu_temp_c() if self.track_cpu_temp else None
        stats = machine.between(block.reading, reading, temp, block.last_gpu)
        peak = peak_flops(machine.gpu_name(self.device)) if self.track_gpu else None
        found = block.metrics(metric, system_metrics(stats, cpu_s - block.cpu_s, metric.duration_seconds), samples, peak)
        watch.end()
        self._record(found, block, stats)
        self._publish(found, peak, block.parent is None)
        return found

    def _record(self, found: ProfileMetrics, block: Block, stats: machine.SystemStats) -> None:
        with self._lock:
            key = found.name if found.name in self._last or len(self._last) < NAMES_MAX else TOO_MANY_NAMES
            self._last[key] = self._newest = found
            self._here.newest = found
            self._self_s[key] = self._self_s.get(key, 0.0) + found.timing.self_time_s
            self._wall_s[key] = self._wall_s.get(key, 0.0) + found.timing.wall_time_s
            if block.parent is None and not self._has_system_samples():
                self._system.add(stats)

    def _has_system_samples(self) -> bool:
        return bool(self._options["track_system"]) and self._system.count > 0

    def _publish(self, found: ProfileMetrics, peak: Optional[float], is_outermost: bool) -> None:
        for name, figure_of in _GAUGES if is_outermost else ():
            figure = figure_of(found)
            if figure is not None:
                pmtop.gauge(name, figure)
        flops, samples = found.compute.estimated_flops, found.samples
        per_sample = flops / samples if flops and samples and found.compute.steps else None
        for key, value in (("peak_flops", peak), ("flops_per_sample", per_sample)):
            if value is not None and self._published.get(key) != value:
                self._published[key] = value
                pmtop.meta(key, value)

    # -- the sampling thread

    def _gpu_memory(self) -> Optional[figures.GpuMemory]:
        return figures.gpu_memory(self.device) if self.track_gpu else None

    def _blocks(self) -> List[Block]:
        with self._lock:
            return list(self._open)

    def _sample_memory(self) -> None:
        resident, gpu = figures.resident_bytes(), self._gpu_memory()
        for block in self._blocks():
            block.sample_memory(resident, gpu)

    def _sample_gpu(self) -> None:
        reading = self._gpu.read()
        for block in self._blocks() if reading is not None else ():
            block.sample_gpu(reading)

    def _sample_lines(self) -> None:
        if self._lines is not None:
            self._lines.sample(list({block.thread for block in self._blocks()}), 2 * LINE_INTERVAL_S)

    def _sample_system(self) -> None:
        stats = self.get_current_system_stats()
        with self._lock:
            self._system.add(stats)

    # -- results

    def get_metrics(self, name: Optional[str] = None) -> ProfileMetrics:
        """The metrics of the last finished block of this name; without a name, of the last one in this thread, or else in any thread.
        Raises LookupError if there is none."""
        with self._lock:
            found = self._last.get(name) if name is not None else getattr(self._here, "newest", None) or self._newest
        if found is None:
            raise LookupError("get_metrics: no block has ended" if name is None else f"get_metrics: no block named {name!r} has ended")
        return found

    def get_timing_breakdown(self, include_inner: bool = False) -> Dict[str, float]:
        """Seconds in all finished blocks by name, without the blocks within them, so that the sum is the time in all blocks.
        include_inner: with the blocks within them."""
        with self._lock:
            return dict(self._wall_s if include_inner else self._self_s)

    def get_timing_percentages(self) -> Dict[str, float]:
        """get_timing_breakdown() in percent of its sum."""
        times = self.get_timing_breakdown()
        total = sum(times.values())
        return {name: 100 * seconds / total for name, seconds in times.items()} if total else {}

    def get_line_profile(self) -> List[LineTime]:
        """Lines of the program by the time in all blocks, longest first: file, line_number, function, time_s, time_percent.
        Raises ValueError without enable_line_profiling."""
        if self._lines is None:
            raise ValueError("get_line_profile: pass enable_line_profiling=True to PerformanceProfiler")
        return self._lines.report()

    def get_current_memory(self) -> Optional[float]:
        """The resident set of this process now, MB."""
        resident = figures.resident_bytes()
        return None if resident is None else resident / figures.BYTES_PER_MB

    def get_current_gpu_memory(self) -> Optional[float]:
        """Share of the GPU's memory that all processes use, 0 to 1. None if CUDA is not in use."""
        return machine.gpu_memory_ratio(self.device)

    def get_current_system_stats(self) -> machine.SystemStats:
        """The machine since about `system_interval` ago, at most since the profiler was made. None for what has not advanced since."""
        with self._lock:
            now, readings = machine.read(self.track_network), self._readings
            while len(readings) > 1 and now.time_ns - readings[1].time_ns >= self._system_interval * 1e9:
                readings.popleft()
            before = readings[0]
            if now.time_ns - readings[-1].time_ns >= self._system_interval * 1e9 / READINGS_MAX * 2:
                readings.append(now)
        temp = machine.cpu_temp_c() if self.track_cpu_temp else None
        return machine.between(before, now, temp, self._gpu.read() if self.track_gpu else None)

    def get_system_report(self) -> SystemReport:
        """Means and peaks of the machine: of the samples with track_system=True, otherwise of the outermost blocks."""
        with self._lock:
            return self._system.report()

    def diagnose(self, name: Optional[str] = None) -> List[str]:
        """diagnose_performance_issues() of get_metrics(name)."""
        return diagnose_performance_issues(self.get_metrics(name))

    # -- comparisons

    def set_accuracy(self, name: str, accuracy: float) -> None:
        """Notes the accuracy that the program measured for the block of this name, and publishes it as a gauge."""
        with self._lock:
            if name in self._accuracies or len(self._accuracies) < NAMES_MAX:
                self._accuracies[name] = float(accuracy)
        pmtop.gauge(f"{self._span_name(name)}.accuracy", float(accuracy))

    def compare(self, *names: str) -> List[ComparedBlock]:
        """The last block of each of these names (all, if none is given): times, memory, FLOPs, parameters, accuracy and accuracy per second.
        Raises LookupError for a name without a finished block."""
        with self._lock:
            chosen = names or tuple(self._last)
            return [compared(self.get_metrics(name), self._accuracies.get(name)) for name in chosen]

    def print_comparison(self, *names: str) -> None:
        """Prints compare() as a table. "–" is unknown."""
        figures.print_text(comparison_table(self.compare(*names)))


def _made_again(cls: type, options: Dict[str, Any]) -> Any:
    return cls(**options)


def _check_interval(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: {value!r} is no number; pass seconds, such as 0.1")
    if not INTERVAL_S_MIN <= value < float("inf"):
        raise ValueError(f"{name}: {value!r} is below {INTERVAL_S_MIN} s or infinite; pass seconds, such as 0.1")
