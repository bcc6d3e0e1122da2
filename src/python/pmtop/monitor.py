"""The monitors of the guide "Performance Monitoring": they store what they measure, print it as the guide shows, and publish it for pmtop.

Times are seconds of the CPU's clock. pmtop does not wait for a device, so they exclude work that a GPU does later, unless the program
itself waits for it (torch.cuda.synchronize()), or PerformanceMonitor(synchronize=True) does. Memory is in MB of 10**6 bytes: `cpu_*` is the
process's resident set, `gpu_*` the memory that torch's CUDA allocator has allocated; None is unknown, as on a machine without a GPU.
"""
import os
import threading
from collections import deque
from collections.abc import Mapping
from time import perf_counter_ns
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Tuple

import pmtop
from pmtop._profiling import figures, gpu_peak
from pmtop._profiling.measure import Measure, PerformanceMetric, larger, plus
from pmtop._printed import monitor_performance, track_performance

__all__ = [
    "EpochPerformanceMonitor", "PerformanceMetric", "PerformanceMonitor", "monitor_from_config", "monitor_performance", "track_performance",
]

METRICS_MAX = 100_000
NAMES_MAX = 10_000
TOO_MANY_NAMES = "(too many names)"
LATE_MAX = 64
VERBOSE_BATCHES = 5

_NS_PER_S = 1e9

# Re-entrant, because a signal handler may track too.
_lock = threading.RLock()


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()  # Another thread of the parent may have held it.


os.register_at_fork(after_in_child=_after_fork_in_child)


class _Nothing:
    """The `with` object of a disabled monitor."""

    __slots__ = ()
    metric = None


_NOTHING = _Nothing()
_track_nothing = pmtop._pmtop.always(_NOTHING)
_Nothing.__enter__ = staticmethod(_track_nothing)  # type: ignore[attr-defined]
_Nothing.__exit__ = staticmethod(pmtop._pmtop.always(None))  # type: ignore[attr-defined]


class _Times:
    __slots__ = ("count", "total", "least", "most")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.count, self.total, self.least, self.most = 0, 0.0, 0.0, 0.0

    def add(self, seconds: float) -> None:
        self.least = min(self.least, seconds) if self.count else seconds
        self.most = max(self.most, seconds)
        self.total += seconds
        self.count += 1

    def mean(self) -> Optional[float]:
        return self.total / self.count if self.count else None


class _Sums(NamedTuple):
    """Aggregates the blocks of one name that were tracked in the same way: the first, the sums of the known figures, and their times."""

    first: PerformanceMetric
    cpu_mb: Optional[float]
    gpu_mb: Optional[float]
    peak_mb: Optional[float]
    count: int
    total_s: float
    least_s: float
    most_s: float

    def plus(self, metric: PerformanceMetric) -> "_Sums":
        seconds = metric.duration_seconds
        return _Sums(
            self.first,
            plus(self.cpu_mb, metric.cpu_delta_mb), plus(self.gpu_mb, metric.gpu_delta_mb), larger(self.peak_mb, metric.gpu_peak_mb),
            self.count + 1, self.total_s + seconds, min(self.least_s, seconds), max(self.most_s, seconds),
        )


class _Operation:
    __slots__ = ("name", "span", "sums")

    def __init__(self, name: str) -> None:
        self.name = name
        self.span = pmtop.span(name, memory=True, gpu=True)
        self.sums: Optional[_Sums] = None

    def add(self, metric: PerformanceMetric) -> None:
        self.sums = _Sums(metric, *metric[2:5], 1, *[metric.duration_seconds] * 3) if self.sums is None else self.sums.plus(metric)

    def summary_row(self, sums: _Sums) -> str:
        return figures.summary_row(self.name, sums.first.depth, sums.total_s, sums.cpu_mb, sums.gpu_mb, sums.peak_mb)


class _Tracked(Measure):
    __slots__ = ("_operation", "_is_kept", "_resets_peak", "_synchronizes")

    def __init__(self, monitor: "PerformanceMonitor", name: str, operation: _Operation, is_kept: bool) -> None:
        super().__init__(name, operation.span, monitor.device, monitor)
        self._operation, self._is_kept = operation, is_kept
        self._resets_peak, self._synchronizes = monitor.reset_peak, monitor.synchronize

    def _done(self, metric: PerformanceMetric) -> None:
        self._owner._record(metric, self._operation, self._is_kept)


class PerformanceMonitor:
    """Times and memory growth of named blocks: guide 000, "PerformanceMonitor (Detailed Analysis)".

    enabled: False makes every call do nothing; may change at any time. device: the device whose GPU memory is read, as
    torch.cuda.memory_allocated takes it; None is the current one.

    synchronize: waits for the device at the begin and the end of each block, so that its time includes the GPU's work. It slows the program.
    Without it a block in a batch of pmtop.torch.instrument() also has its time by the GPU's clock, as the figure "gpu.NAME_s".
    reset_peak: resets torch's peak at the begin of each block, so that each block has its own GPU peak. The program's own
    torch.cuda.max_memory_allocated() then is of the newest block; False leaves it alone, and a block has the peak since the last reset.

    Memory is bounded: get_metrics() retains the newest 100,000 metrics (`metrics_dropped` counts the others, which stay in all totals), and
    10,000 names have their own totals. A copy, by pickle or copy, has the settings without the measurements. Any thread may call any method.
    """

    def __init__(self, enabled: bool = True, device: Any = None, *, synchronize: bool = False, reset_peak: bool = True) -> None:
        self.enabled = enabled
        self.device = device
        self.synchronize, self.reset_peak = synchronize, reset_peak
        self.metrics_dropped = 0
        self._metrics: Deque[PerformanceMetric] = deque(maxlen=METRICS_MAX)
        self._total: Optional[float] = None
        self._each: Dict[str, _Operation] = {}
        self._aggregates: Dict[str, _Operation] = {}

    @property
    def enabled(self) -> bool:
        return "track" not in self.__dict__

    @enabled.setter
    def enabled(self, value: bool) -> None:
        # A method that checks whether the monitor is enabled would cost more than everything else in a disabled call.
        if value:
            self.__dict__.pop("track", None)
        else:
            self.__dict__["track"] = _track_nothing

    @classmethod
    def from_config(cls, config: Mapping, device: Any = None) -> "PerformanceMonitor":
        """The same as monitor_from_config()."""
        return cls(_settings(config)[0], device)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _monitor_again, (type(self), self.enabled, self.device, self.synchronize, self.reset_peak)

    def track(self, name: str, aggregate: bool = False) -> Any:
        """`with monitor.track("forward"):` measures the block, even if it raises. The block is also a span of the run.

        aggregate: retains only sums, minimum and maximum of a repeated operation, instead of a metric for each block. Afterwards `metric` of
        the `as` variable is the block's metric. The overhead is about 10 us, 20 us if CUDA is in use, and 0.05 us while disabled.
        Raises TypeError for a name that is no str (unchecked while disabled)."""
        if not isinstance(name, str):
            raise TypeError(f"track: the name must be a str, not {type(name).__name__}")
        operation = (self._aggregates if aggregate else self._each).get(name) or self._operation(name, aggregate)
        return _Tracked(self, name, operation, not aggregate)

    def _operation(self, name: str, aggregate: bool) -> _Operation:
        with _lock:
            operations = self._aggregates if aggregate else self._each
            key = name if len(operations) < NAMES_MAX else TOO_MANY_NAMES
            if key not in operations:
                operations[key] = _Operation(key)
            return operations[key]

    def _record(self, metric: PerformanceMetric, operation: _Operation, is_kept: bool) -> None:
        with _lock:
            operation.add(metric)
            if metric.depth == 0:
                self._total = (self._total or 0.0) + metric.duration_seconds
            if is_kept:
                self.metrics_dropped += len(self._metrics) == METRICS_MAX
                self._metrics.append(metric)

    def get_metrics(self) -> List[PerformanceMetric]:
        """The metrics of the finished blocks without aggregate=True, in the order in which they ended; the newest 100,000."""
        with _lock:
            return list(self._metrics)

    def get_total_time(self) -> Optional[float]:
        """Seconds in all finished outermost blocks; the time of an outer block includes its inner blocks.
        Blocks of several threads or tasks each count in full. None before the first."""
        return self._total

    def get_operation_time(self, name: str) -> Optional[float]:
        """Seconds in all finished blocks of this name, at any depth, aggregated or not. None before the first."""
        with _lock:
            found = [operations[name].sums for operations in (self._each, self._aggregates) if name in operations]
            totals = [sums.total_s for sums in found if sums is not None]
            return sum(totals) if totals else None

    def clear(self) -> None:
        """Deletes the measurements. A block that is open now counts when it ends. Published figures remain."""
        with _lock:
            self._metrics.clear()
            self._total, self.metrics_dropped = None, 0
            for operation in [*self._each.values(), *self._aggregates.values()]:
                operation.sums = None

    def print_summary(self, show_aggregate: bool = False) -> None:
        """Prints the guide's PERFORMANCE SUMMARY: a row for each metric, and a row with the sums of each aggregated operation, in the order of
        their begins; inner blocks are indented. show_aggregate: also prints AGGREGATE STATISTICS, alone if nothing else was tracked.
        Prints nothing without measurements."""
        with _lock:
            metrics, total, dropped = list(self._metrics), self._total, self.metrics_dropped
            aggregates = sorted(((a, a.sums) for a in self._aggregates.values() if a.sums), key=lambda pair: pair[1].first.begin_ns)
        tables = []
        if metrics or (aggregates and not show_aggregate):
            rows = [(metric.begin_ns, figures.summary_row(metric.operation, metric.depth, *metric[1:5])) for metric in metrics]
            rows += [(sums.first.begin_ns, operation.summary_row(sums)) for operation, sums in aggregates]
            tables.append(figures.summary_table([row for _, row in sorted(rows, key=lambda pair: pair[0])], total, dropped))
        if aggregates and show_aggregate:
            outermost = min(sums.first.depth for _, sums in aggregates)
            rows_of_sums = [figures.aggregate_row(a.name, sums.first.depth - outermost, *sums[4:]) for a, sums in aggregates]
            tables.append(figures.aggregate_table(rows_of_sums))
        if tables:
            figures.print_text("\n".join(tables))


def _monitor_again(cls: Any, enabled: bool, device: Any, synchronize: bool, reset_peak: bool) -> Any:
    return cls(enabled, device, synchronize=synchronize, reset_peak=reset_peak)


class EpochPerformanceMonitor:
    """Times of epochs and batches by hooks in the training loop: guide 000, "EpochPerformanceMonitor (Training Loops)".

    enabled: False makes every call do nothing; may change at any time. verbose_batches: batches with a smaller index print a line, in each
    epoch; epochs always do. device: the device whose GPU memory is read, as torch.cuda.memory_allocated takes it; None is the current one.

    Publishes epochs, batches, losses and, if CUDA is in use, the gauges cuda.allocated_bytes, .reserved_bytes and .peak_bytes.
    Memory is bounded. A copy, by pickle or copy, has the settings without the measurements. One thread calls the hooks; any may read the
    statistics.
    """

    def __init__(self, enabled: bool = True, verbose_batches: int = VERBOSE_BATCHES, device: Any = None) -> None:
        self.enabled = enabled
        self.verbose_batches = verbose_batches
        self.device = device
        self._has_batches = False
        self._epochs_begun = 0
        self._epoch_begin_ns: Optional[int] = None
        self._batch_begin_ns: Optional[int] = None
        self._epochs, self._batches, self._batches_of_epoch = _Times(), _Times(), _Times()
        self._late: Deque[_Late] = deque()

    @classmethod
    def from_config(cls, config: Mapping, device: Any = None) -> "EpochPerformanceMonitor":
        """The same as monitor_from_config()."""
        enabled, batches = _settings(config)
        return cls(enabled, batches, device)

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.enabled, self.verbose_batches, self.device)

    def on_epoch_start(self) -> None:
        """Begins an epoch. An epoch that is still open is in no statistics."""
        if not self.enabled:
            return
        pmtop.epoch_begin(self._epochs_begun)
        self._epochs_begun += 1
        with _lock:
            self._batches_of_epoch.clear()
        self._batch_begin_ns = None
        self._epoch_begin_ns = perf_counter_ns()

    def on_batch_start(self, batch_idx: int) -> None:
        """Begins a batch. A batch that is still open is in no statistics."""
        if not self.enabled:
            return
        if self._late:
            self._settle()
        if not self._has_batches:
            # In the guide's loop a batch begins after the loader has returned it.
            self._has_batches = True
            pmtop.meta("between", "data")
        pmtop.batch_begin(batch_idx)
        self._batch_begin_ns = perf_counter_ns()

    def on_batch_end(self, batch_idx: int, loss: Any = None) -> None:
        """Ends the batch. loss: a number, or a tensor or array of one element. The call does not wait for a loss on a CUDA device: a later call
        prints the line when the loss has arrived, at the latest on_epoch_end (then without it). Does nothing without on_batch_start."""
        end_ns, begin_ns = perf_counter_ns(), self._batch_begin_ns
        if not self.enabled or begin_ns is None:
            return
        self._batch_begin_ns = None
        value = None if loss is None else figures.plain_loss(loss)
        late = None if loss is None or value is not None else figures.late_loss(loss)
        number = None if late is None else pmtop.batch_number()
        pmtop.batch_end(value)
        seconds = (end_ns - begin_ns) / _NS_PER_S
        with _lock:
            self._batches.add(seconds)
            self._batches_of_epoch.add(seconds)
        gpu = gpu_peak.of_process(self.device, figures.gpu_memory(self.device))
        if gpu is not None:
            _publish(gpu)
        line = figures.batch_line(batch_idx, seconds, gpu, figures.resident_bytes()) if batch_idx < self.verbose_batches else None
        if late is None and not self._late:
            if line is not None:
                figures.print_text(line + figures.loss_end(value))
        elif late is not None or line is not None:
            self._late.append(_Late(line, value, late, number))
            self._settle()

    def on_epoch_end(self) -> None:
        """Ends the epoch and prints its lines. Does nothing without on_epoch_start."""
        end_ns, begin_ns = perf_counter_ns(), self._epoch_begin_ns
        if not self.enabled or begin_ns is None:
            return
        self._epoch_begin_ns = None
        pmtop.epoch_end()
        seconds = (end_ns - begin_ns) / _NS_PER_S
        with _lock:
            self._epochs.add(seconds)
            batches = self._batches_of_epoch
            timing = figures.timing_line(batches.mean(), batches.least, batches.most)
        self._settle()
        for late in self._late:
            late.print_line(None)
        gpu = gpu_peak.of_process(self.device, figures.gpu_memory(self.device))
        figures.print_text(figures.epoch_line(seconds, gpu, figures.resident_bytes()) + timing)

    def get_statistics(self) -> "pmtop.Statistics":
        """Statistics of the finished epochs and batches of the whole run: seconds, None before the first, and counts.
        Keys: total_, avg_epoch_time; total_, avg_, min_, max_batch_time; num_batches, num_epochs."""
        with _lock:
            epochs, batches = self._epochs, self._batches
            return {
                "total_epoch_time": epochs.total if epochs.count else None,
                "avg_epoch_time": epochs.mean(),
                "total_batch_time": batches.total if batches.count else None,
                "avg_batch_time": batches.mean(),
                "min_batch_time": batches.least if batches.count else None,
                "max_batch_time": batches.most if batches.count else None,
                "num_batches": batches.count,
                "num_epochs": epochs.count,
            }

    def _settle(self) -> None:
        """Prints and publishes, in order, the losses that have arrived; if too many are pending, drops the oldest."""
        while self._late and (len(self._late) > LATE_MAX or self._late[0].is_there()):
            self._late.popleft().publish()


class _Late:
    """A batch's line that waits for a loss, its own or an earlier one; the loss; or both."""

    __slots__ = ("_line", "_value", "_late", "_number")

    def __init__(self, line: Optional[str], value: Optional[float], late: Optional[figures.LateLoss], number: Optional[int]) -> None:
        self._line, self._value, self._late, self._number = line, value, late, number

    def is_there(self) -> bool:
        return self._late is None or self._late.is_there()

    def publish(self) -> None:
        value = self._value if self._late is None else self._late.value()
        if self._number is not None and value is not None:
            pmtop.batch_figure(self._number, "loss", value)
        self.print_line(value)

    def print_line(self, loss: Optional[float]) -> None:
        if self._line is not None:
            figures.print_text(self._line + figures.loss_end(self._value if loss is None else loss))
            self._line = None


def _publish(gpu: figures.GpuMemory) -> None:
    for name, figure in zip(figures.GPU_GAUGES, gpu):
        if figure is not None:
            pmtop.gauge(name, figure)


def monitor_from_config(config: Mapping, device: Any = None) -> EpochPerformanceMonitor:
    """Creates a monitor from the guide's configuration: {"enable_memory_monitoring": bool, "memory_monitor_batches": int}, or a mapping
    with these keys under "trainer_params". The defaults are False and 5. Other keys are ignored.
    Raises TypeError or ValueError with the setting, the error and the expected value."""
    return EpochPerformanceMonitor.from_config(config, device)


def _settings(config: Any) -> Tuple[bool, int]:
    where = "config"
    if isinstance(config, Mapping) and "trainer_params" in config:
        where, config = "trainer_params", config["trainer_params"]
        config = {} if config is None else config
    if not isinstance(config, Mapping):
        raise TypeError(f"{where}: {_shown(config)} is not a mapping; pass a mapping, such as the YAML file's")
    enabled = config.get("enable_memory_monitoring", False)
    if not isinstance(enabled, bool):
        raise TypeError(f"{where}.enable_memory_monitoring: {_shown(enabled)} is neither true nor false; write one of them without quotes")
    batches = config.get("memory_monitor_batches", VERBOSE_BATCHES)
    if isinstance(batches, bool) or not isinstance(batches, int):
        raise TypeError(f"{where}.memory_monitor_batches: {_shown(batches)} is not a whole number; write the number of batches with a line, such as 5")
    if batches < 0:
        raise ValueError(f"{where}.memory_monitor_batches: {batches} is below 0; write the number of batches with a line, 0 for none")
    return enabled, batches


def _shown(value: Any) -> str:
    text = figures.visible(repr(value))
    return text if len(text) <= 40 else text[:39] + "…"
