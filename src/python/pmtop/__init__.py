"""Publishes a training run for `pmtop -p PID`: batches and their phases, figures, memory.

    import pmtop
    for epoch in pmtop.epochs(10):
        for x, y in pmtop.batches(loader):
            with pmtop.span("forward"):
                loss = criterion(model(x), y)
            with pmtop.span("backward"):
                loss.backward()

The first call that publishes creates the process's region, as `init()` does. No call raises into training: the package omits what it cannot
publish. If it cannot publish at all, or PMTOP=0 is in the environment, every call does nothing. Wrong arguments raise TypeError, ValueError or
OverflowError at once, even then. Any thread may call. A span belongs to the thread that begins it; if an event loop runs, to the task
(_tasks.py).

For adapters, which publish without a call from the script (src/python/README.md):

- `_pmtop.is_automatic()` is false in a forked child (even one forked by C code) and if nothing is published: then do nothing. It does not open
  the region; the first call that publishes does.
- `_pmtop.auto_epoch_begin(index)`, `auto_epoch_end()`, `auto_batch_begin(index)`, `auto_batch_end(loss=None)` are the public calls, but do
  nothing in a forked child, and nothing once the script itself has begun an epoch, or a batch: pmtop must not count a loop twice.
  They return whether they published.
- `_pmtop.reopen(name, lanes=, slots=, totals=, names=, history=, epochs=, evidence=, directory="")` gives a child a region of another
  size than its first call would create; `_introduce()` then publishes its facts again. Adapters do nothing there.
- `_pmtop.planned()` is (epochs, batches_per_epoch, samples_per_batch), 0 for unknown; `plan()` changes only the arguments that it gets.
- `_pmtop` is the compiled part, or `_nothing`, which has the same calls. The user's pickles must contain nothing of either, except a Span.
"""
import atexit
import functools
import gc
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Optional

from ._request import Request as request
from ._request import reset_mode as _reset_request_mode
from ._run import facts as _facts, run_name as _run_name
from ._version import __version__ as __version__

try:
    from . import _pmtop
    from ._pmtop import (
        Span, batch_begin, batch_end, batch_figure, batch_kind, batch_number, batch_samples, close, count, epoch_begin, epoch_end, gauge,
        header_version, is_enabled, mark, meta, mode, now_ns, operation_time, plan, span, span_begin, span_end, span_past, statistics,
        total_time,
    )  # fmt: skip
    _missing: Optional[ImportError] = None
except ImportError as error:
    from . import _nothing as _pmtop  # type: ignore[no-redef]
    from ._nothing import (  # type: ignore[assignment]
        Span, batch_begin, batch_end, batch_figure, batch_kind, batch_number, batch_samples, close, count, epoch_begin, epoch_end, gauge,
        header_version, is_enabled, mark, meta, mode, now_ns, operation_time, plan, span, span_begin, span_end, span_past, statistics,
        total_time,
    )  # fmt: skip
    _missing = error

__all__ = [
    "EpochPerformanceMonitor", "PerformanceMetric", "PerformanceMonitor", "PerformanceProfiler", "PerformanceRegressionDetector",
    "ProductionProfiler", "Span", "batch_begin", "batch_end", "batch_figure", "batch_kind", "batch_number", "batch_samples", "batches", "close",
    "count", "diagnose_performance_issues", "epoch_begin", "epoch_end", "epochs", "gauge", "header_version", "init", "is_enabled", "mark",
    "meta", "mode", "monitor_from_config", "monitor_performance", "now_ns", "operation_time", "plan", "request", "span", "span_begin",
    "span_end", "span_past", "statistics", "total_time", "track_performance", "unwatch_gc", "watch_gc",
]  # fmt: skip


def _is_switched_off() -> bool:
    return os.environ.get("PMTOP") == "0"


def init(
    name: Optional[str] = None,
    *,
    enabled: bool = True,
    lanes: int = 0,
    slots: int = 0,
    totals: int = 0,
    names: int = 0,
    evidence: bool = True,
    directory: Optional[str] = None,
) -> bool:
    """Creates the region now. Returns whether the process publishes.

    name: the run's name (default: PMTOP_RUN, else the script's name without ".py").
    enabled: False publishes nothing until another init().
    lanes: threads that publish at the same time (default 16), besides the one that publishes batches.
    slots: events in the ring of each thread (default 1,024); use more if pmtop reports lost events.
    totals: rows of statistics (default 256). names: different names (default 1,024).
    evidence: False omits CPU time, faults and waits from the batches.
    directory: a tmpfs (default /dev/shm); "" uses no file.

    Changes nothing if a region is open, and does nothing while a spawned child of multiprocessing imports the script's module.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError("name must be a str, not %r" % type(name))
    if _pmtop.is_open():
        return True
    if _is_importing_script():
        return False
    if not enabled or _is_switched_off():
        close()
        return False
    options = {} if directory is None else {"directory": directory}
    if not _pmtop.open(name or _run_name(), lanes=lanes, slots=slots, totals=totals, names=names, evidence=evidence, **options):
        return False
    _introduce()
    _end_with_multiprocessing()
    _watch_for_the_end()
    return True


def _is_importing_script() -> bool:
    """Whether this is a spawned child that is still importing the script's module. It publishes only afterwards."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and getattr(process.current_process(), "_inheriting", False)


def _introduce() -> None:
    _reset_request_mode()
    for key, value in _facts().items():
        meta(key, value)


def _open_at_first_call(is_child: int) -> None:
    try:
        if is_child:
            _introduce()
            _end_with_multiprocessing()
        else:
            init()
    except Exception as error:
        print("pmtop: not publishing: %s: %s" % (type(error).__name__, error), file=sys.stderr)
        close()


def _watch_for_the_end() -> None:
    """Publishes an exception that ends the script, and calls the previous sys.excepthook."""
    global _excepthook_before
    if sys.excepthook is not _excepthook and not _excepthook_before:
        _excepthook_before = sys.excepthook
        sys.excepthook = _excepthook


_excepthook_before: Optional[Callable[..., Any]] = None


def _excepthook(kind: type, value: BaseException, trace: Any) -> None:
    if _pmtop.is_open() and _pmtop.is_automatic() and not hasattr(sys, "ps1"):
        mark("ended by " + kind.__name__)
    (_excepthook_before or sys.__excepthook__)(kind, value, trace)


def _end_with_multiprocessing() -> None:
    """Closes the region of a multiprocessing child, which ends by os._exit without running atexit."""
    parent = getattr(sys.modules.get("multiprocessing.process"), "parent_process", None)
    util = sys.modules.get("multiprocessing.util")
    if parent and parent() and util:
        util.Finalize(None, close, exitpriority=-100)


def _decorate(span: Span, function: Callable[..., Any]) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError("a span decorates a function, not %r" % type(function))
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        how = "use `with pmtop.span(%r)` in it" % span.name
        raise TypeError("a span cannot decorate %r, which returns before it has run: %s" % (function, how))

    @functools.wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        with span:
            return function(*args, **kwargs)

    return timed


class Turns:
    """What epochs() and batches() return: a repeatable iterable with the length of its argument."""

    def __init__(self, what: str, turns: Iterable[Any], iterate: Callable[[Iterable[Any]], Iterator[Any]]) -> None:
        if not hasattr(turns, "__iter__") and not hasattr(turns, "__getitem__"):
            raise TypeError("%s must be iterable, and %r is not" % (what, type(turns)))
        self._turns, self._iterate = turns, iterate

    def __len__(self) -> int:
        return len(self._turns)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        return self._iterate(self._turns)


def _length(turns: Any) -> int:
    try:
        return len(turns)
    except Exception:  # unsized, such as a loader over an iterable data set: the length is known only at the end
        return 0


def epochs(count: Any) -> Any:
    """`for epoch in pmtop.epochs(10)`: each iteration is an epoch. An exception leaves its epoch unfinished.

    count: the number of epochs, or an iterable. Its ints are the epochs' indexes; other items count from 0. Its length, if it has one, is
    published as the plan.
    """
    turns = range(count) if hasattr(count, "__index__") else count
    return Turns("epochs", turns, _iterate_epochs)


def _iterate_epochs(turns: Iterable[Any]) -> Iterator[Any]:
    plan(epochs=min(_length(turns), 2**32 - 1) or None)
    return _pmtop.turns(iter(turns), True, 0)


def batches(loader: Iterable[Any], samples: int = 0) -> Any:
    """`for x, y in pmtop.batches(loader)`: each iteration is a batch; the time in the loader is the phase "data".

    `break` ends the batch. A batch that an exception leaves is unfinished and does not count. A loop may end its batch earlier by
    batch_end(loss).

    samples: the number in each batch, 0 if unknown. The loader's length, if it has one, is published as the plan for an epoch unless there
    is one.
    """
    batch_size = samples.__index__()
    if batch_size < 0:
        raise ValueError("samples must not be negative")
    return Turns("loader", loader, functools.partial(_iterate_batches, samples=batch_size))


def _watch_workers() -> None:
    """Has the workers of torch's DataLoaders publish, each into its own region, with the spans in their data sets."""
    if "torch.utils.data.dataloader" in sys.modules:
        try:
            from . import _workers

            _workers.install()
        except Exception as error:
            print("pmtop: DataLoader workers are not measured: %s: %s" % (type(error).__name__, error), file=sys.stderr)


def _iterate_batches(loader: Iterable[Any], samples: int) -> Iterator[Any]:
    meta("between", "data")
    _watch_workers()
    _, batches_planned, samples_planned = _pmtop.planned()
    plan(batches_per_epoch=batches_planned or _length(loader), samples_per_batch=samples_planned or samples)
    return _pmtop.turns(iter(loader), False, samples)


def watch_gc(threshold_s: float = 0.0005) -> None:
    """Publishes garbage collections: pauses of at least `threshold_s` seconds as spans "gc", all in the counters gc.collections and gc.ns.

    Opens no region. A forked child publishes none until it calls this itself. A second call only changes the threshold.
    """
    if not 0 <= threshold_s < 1e9:
        raise ValueError("threshold_s must be seconds, 0 and up, not %r" % (threshold_s,))
    _pmtop.watch_collections(int(threshold_s * 1e9))
    if _pmtop.collected not in gc.callbacks:
        gc.callbacks.append(_pmtop.collected)


def unwatch_gc() -> None:
    """Stops publishing garbage collections."""
    _pmtop.watch_collections(None)
    if _pmtop.collected in gc.callbacks:
        gc.callbacks.remove(_pmtop.collected)


def _warn_if_missing() -> None:
    parent = getattr(sys.modules.get("multiprocessing.process"), "parent_process", None)
    # While Python looks for the module of `python -m`, that is the first argument: `python -m pmtop` trains nothing.
    is_program = getattr(sys, "argv", [])[:1] == ["-m"]
    if _missing and not _is_switched_off() and not (parent and parent()) and not is_program:
        # Where there is no such file, Python speaks of a circular import.
        is_absent = _missing.name == __name__
        what = "it has no compiled part for Python %d.%d" % sys.version_info[:2] if is_absent else "its compiled part cannot be loaded (%s)" % _missing
        print("pmtop: not publishing: %s; install pmtop for this Python, or set PMTOP=0" % what, file=sys.stderr)


# No __getattr__ of the module: with one, CPython looks up every pmtop.gauge the slow way, which takes 20 ns.
from .monitor import (  # noqa: E402
    EpochPerformanceMonitor, PerformanceMetric, PerformanceMonitor, monitor_from_config, monitor_performance, track_performance,
)  # fmt: skip
from .production import PerformanceRegressionDetector, ProductionProfiler  # noqa: E402
from .profiler import PerformanceProfiler, diagnose_performance_issues  # noqa: E402

for _name in __all__:
    if getattr(globals()[_name], "__module__", None) in (_pmtop.__name__, "pmtop._nothing"):
        globals()[_name].__module__ = __name__
_pmtop.connect(_open_at_first_call, _decorate)
atexit.register(close)
_warn_if_missing()
