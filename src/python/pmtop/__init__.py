"""Publishes a training run, for `pmtop -p PID` to show: batches and their phases, figures, memory.

    import pmtop
    for epoch in pmtop.epochs(10):
        for x, y in pmtop.batches(loader):
            with pmtop.span("forward"):
                loss = criterion(model(x), y)
            with pmtop.span("backward"):
                loss.backward()

The first call that publishes makes the process's region (as `init()` does). Nothing here raises into training: what cannot be published is
left out. Where nothing can be, or PMTOP=0 is in the environment, every call does nothing. Wrong arguments raise TypeError, ValueError or
OverflowError at once, also where nothing is published. Any thread may call. Spans belong to the thread that begins them; where an event loop
runs, to the task (_tasks.py).

For the parts of this package that publish without being called by the script:

- `_pmtop.is_automatic()` is false in a forked child (also one forked by C code) and where nothing is published: then do nothing. It opens
  nothing itself; the first call that publishes does.
- `_pmtop.auto_epoch_begin(index)`, `auto_epoch_end()`, `auto_batch_begin(index)`, `auto_batch_end(loss=None)` are the public calls, but do
  nothing in a forked child, and nothing from the moment that the script begins an epoch, or a batch, by the public calls: a script that
  publishes its own loop is never counted twice. They return whether they published.
- `_pmtop.reopen(name, lanes=, slots=, totals=, names=, history=, epochs=, evidence=, directory="")` gives a child a region of another
  size instead of the one that its first call would make; `_introduce()` then says again who it is. Automatic publishers stay silent there.
- `_pmtop.planned()` is (epochs, batches_per_epoch, samples_per_batch), 0 for unknown; `plan()` leaves what it is not given.
- `_pmtop` is the compiled part, or `_nothing`, which has the same calls. Nothing of either may get into what the user pickles, but a Span.
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
from ._request import begin_anew as _begin_requests_anew
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
    "EpochPerformanceMonitor", "PerformanceMetric", "PerformanceMonitor", "Span", "batch_begin", "batch_end", "batch_figure", "batch_kind",
    "batch_number", "batch_samples", "batches", "close", "count", "epoch_begin", "epoch_end", "epochs", "gauge", "header_version", "init",
    "is_enabled", "mark", "meta", "mode", "monitor_from_config", "monitor_performance", "now_ns", "operation_time", "plan", "request", "span",
    "span_begin", "span_end", "span_past", "statistics", "total_time", "track_performance", "unwatch_gc", "watch_gc",
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
    """Makes the region now; True: something is published.

    name: the run's (default: PMTOP_RUN, else the script's name without ".py"). enabled=False: nothing is published until another init().
    lanes: threads at the same time (16), besides the one that publishes batches; slots: events kept per thread (1,024; more where pmtop
    says that some are lost); totals: rows of statistics (256); names: different names (1,024). evidence=False: batches do not note CPU
    time, faults and waits. directory: a tmpfs (/dev/shm); "": no file.
    Where a region is open already, nothing changes. Nothing is done while a spawned child of multiprocessing reads the script's module again.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError("name must be a str, not %r" % type(name))
    if _pmtop.is_open():
        return True
    if _is_read_again():
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


def _is_read_again() -> bool:
    """Whether this is a spawned child that is only just reading the script's module, to have its names. What it publishes comes later."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and getattr(process.current_process(), "_inheriting", False)


def _introduce() -> None:
    _begin_requests_anew()
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
    """An exception that ends the script is published; whoever showed it before still does."""
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
    """Its children leave by os._exit, past atexit: without this a region of their own would stay behind."""
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
    """What epochs() and batches() return: something to iterate over again and again, of the same length as what is in it."""

    def __init__(self, what: str, turns: Iterable[Any], around: Callable[[Iterable[Any]], Iterator[Any]]) -> None:
        if not hasattr(turns, "__iter__") and not hasattr(turns, "__getitem__"):
            raise TypeError("%s must be iterable, and %r is not" % (what, type(turns)))
        self._turns, self._around = turns, around

    def __len__(self) -> int:
        return len(self._turns)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        return self._around(self._turns)


def _length(turns: Any) -> int:
    try:
        return len(turns)
    except Exception:  # unsized, or a loader over an iterable data set: they know it when they end
        return 0


def epochs(count: Any) -> Any:
    """`for epoch in pmtop.epochs(10)`: an epoch around each turn. One that an exception leaves is not finished.

    count: how many, or an iterable: its ints are the epochs' indexes, else they count from 0. Its length, where it has one, is the plan.
    """
    turns = range(count) if hasattr(count, "__index__") else count
    return Turns("epochs", turns, _around_epochs)


def _around_epochs(turns: Iterable[Any]) -> Iterator[Any]:
    plan(epochs=min(_length(turns), 2**32 - 1) or None)
    return _pmtop.turns(iter(turns), True, 0)


def batches(loader: Iterable[Any], samples: int = 0) -> Any:
    """`for x, y in pmtop.batches(loader)`: a batch around each turn; the time in the loader is the phase "data".

    `break` ends the batch; one that an exception leaves was never finished and is not counted.

    samples: in each batch, where known. A loop that calls batch_end(loss) itself ends its batch there. The loader's length, where it has
    one and nothing is planned yet, is the plan for an epoch.
    """
    batch_size = samples.__index__()
    if batch_size < 0:
        raise ValueError("samples must not be negative")
    return Turns("loader", loader, functools.partial(_around_batches, samples=batch_size))


def _watch_workers() -> None:
    """Those of torch's loaders publish into regions of their own, spans in their data sets included."""
    if "torch.utils.data.dataloader" in sys.modules:
        try:
            from . import _workers

            _workers.install()
        except Exception as error:
            print("pmtop: loader workers are not watched: %s: %s" % (type(error).__name__, error), file=sys.stderr)


def _around_batches(loader: Iterable[Any], samples: int) -> Iterator[Any]:
    meta("between", "data")
    _watch_workers()
    _, batches_planned, samples_planned = _pmtop.planned()
    plan(batches_per_epoch=batches_planned or _length(loader), samples_per_batch=samples_planned or samples)
    return _pmtop.turns(iter(loader), False, samples)


def watch_gc(threshold_s: float = 0.0005) -> None:
    """Publishes garbage collections: pauses from `threshold_s` seconds on as spans "gc", all in the counters gc.collections and gc.ns.

    Opens no region. A forked child is silent until it calls this itself. A second call only changes the threshold.
    """
    if not 0 <= threshold_s < 1e9:
        raise ValueError("threshold_s must be seconds, 0 and up, not %r" % (threshold_s,))
    _pmtop.watch_collections(int(threshold_s * 1e9))
    if _pmtop.collected not in gc.callbacks:
        gc.callbacks.append(_pmtop.collected)


def unwatch_gc() -> None:
    """No longer publishes garbage collections."""
    _pmtop.watch_collections(None)
    if _pmtop.collected in gc.callbacks:
        gc.callbacks.remove(_pmtop.collected)


def _say_what_is_missing() -> None:
    parent = getattr(sys.modules.get("multiprocessing.process"), "parent_process", None)
    if _missing and not _is_switched_off() and not (parent and parent()):
        what = "its compiled part cannot be loaded (%s)" % _missing
        print("pmtop: not publishing: %s; install pmtop for this Python, or set PMTOP=0" % what, file=sys.stderr)


# Not by a __getattr__ of the module: with one, CPython looks every pmtop.gauge up the slow way, which takes 20 ns.
from .monitor import (  # noqa: E402
    EpochPerformanceMonitor, PerformanceMetric, PerformanceMonitor, monitor_from_config, monitor_performance, track_performance,
)  # fmt: skip

for _name in __all__:
    if getattr(globals()[_name], "__module__", None) in (_pmtop.__name__, "pmtop._nothing"):
        globals()[_name].__module__ = __name__
_pmtop.connect(_open_at_first_call, _decorate)
atexit.register(close)
_say_what_is_missing()
