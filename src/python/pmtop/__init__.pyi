"""The contract of `import pmtop`. What each call publishes, and what it costs, is in src/region/pmtop.h.

The first call that publishes makes the process's region (as `init()` does). Nothing here raises into training: what cannot be published is
left out, and where nothing can be (no /dev/shm and no memfd, no compiled extension, PMTOP=0 in the environment), every call does nothing;
that is said once on standard error, unless it was asked for (PMTOP=0, `init(enabled=False)`).
Errors of the caller raise at once, also where nothing is published: TypeError (a name that is no str), ValueError (a negative index),
OverflowError (an int that 64 bits cannot hold).

Names and texts are published as UTF-8: lone surrogates as "?", up to a NUL, names up to 120 bytes.
"""
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Optional, SupportsFloat, SupportsIndex, TypedDict, TypeVar, Union

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Number = Union[SupportsFloat, SupportsIndex]

__version__: str
header_version: Optional[str]
"""ABI of the region that is written, "1.0"; None without the extension."""

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
    """Makes the region now. name: the run's (default: PMTOP_RUN, else the script's name without ".py"). True: something is published.
    A second call changes nothing but the answer. Publishes RANK, LOCAL_RANK, WORLD_SIZE, the run's id, host and Python version as meta."""
def close() -> None:
    """Ends the run and removes its region; done at exit. What is called afterwards does nothing until init()."""
def is_enabled() -> bool:
    """True where something is published. It decides that where no call has yet: then it makes the region."""

def plan(epochs: Optional[int] = None, batches_per_epoch: Optional[int] = None, samples_per_batch: Optional[int] = None) -> None:
    """What is ahead; 0 for unknown. What is left out stays as it was."""
def meta(key: str, value: object) -> None:
    """Publishes str(value); None is not published."""
def mode(name: str) -> None: ...
def epoch_begin(index: SupportsIndex) -> None: ...
def epoch_end() -> None: ...
def batch_begin(index: SupportsIndex) -> None: ...
def batch_end(loss: Optional[Number] = None) -> None:
    """A torch tensor that lies on a device is left out (said once on standard error), for reading it would wait for the device."""
def batch_samples(samples: SupportsIndex) -> None: ...
def batch_kind(kind: Optional[str]) -> None: ...
def batch_figure(number: SupportsIndex, name: str, value: Number) -> None: ...
def batch_number() -> int: ...

class Span:
    """`with pmtop.span("forward"): ...`, or a decorator. It nests in itself, serves all threads, and can be kept and pickled."""
    @property
    def name(self) -> str: ...
    @property
    def cpu(self) -> bool: ...
    @property
    def memory(self) -> bool: ...
    def __enter__(self) -> Span: ...
    def __exit__(self, *exception: object) -> None: ...
    def __call__(self, function: F) -> F:
        """TypeError for a coroutine or generator function: it returns before it has run."""
def span(name: str, cpu: bool = False, memory: bool = False) -> Span:
    """The same object for the same arguments, as long as there are no more than a few hundred."""
def span_begin(name: str) -> None: ...
def span_end() -> None: ...
def span_past(name: str, begin_ns: SupportsIndex, end_ns: SupportsIndex) -> None: ...
def now_ns() -> int: ...

def gauge(name: str, value: Number) -> None: ...
def count(name: str, add: SupportsIndex = 1) -> None: ...
def mark(text: str) -> None: ...

class Turns(Generic[T]):
    """What epochs() and batches() return; not exported. It can be iterated over again and again."""
    def __iter__(self) -> Iterator[T]: ...
    def __len__(self) -> int: ...
def epochs(count: Union[Iterable[T], SupportsIndex]) -> Turns[Any]:
    """`for epoch in pmtop.epochs(10)`: an epoch around each turn; the length, where it has one, is the plan."""
def batches(loader: Iterable[T], samples: SupportsIndex = 0) -> Turns[T]:
    """`for x, y in pmtop.batches(loader)`: a batch around each turn; the time in the loader is the phase "data".
    A loop that calls batch_end(loss) itself ends its batch there."""

def watch_gc(threshold_s: float = 0.0005) -> None:
    """Publishes garbage collections: pauses from `threshold_s` on as spans "gc", all in the counters gc.collections and gc.ns."""
def unwatch_gc() -> None: ...

class Statistics(TypedDict):
    total_epoch_time: Optional[float]
    avg_epoch_time: Optional[float]
    total_batch_time: Optional[float]
    avg_batch_time: Optional[float]
    min_batch_time: Optional[float]
    max_batch_time: Optional[float]
    num_batches: int
    num_epochs: int
def statistics() -> Statistics: ...
def operation_time(name: str) -> Optional[float]: ...
def total_time() -> Optional[float]: ...

# Guide 000: pmtop/monitor.py
class PerformanceMetric: ...
class PerformanceMonitor: ...
class EpochPerformanceMonitor: ...
def track_performance(operation: str, print_result: bool = True, device: Any = None) -> Any: ...
def monitor_performance(operation: Optional[str] = None, device: Any = None) -> Callable[[F], F]: ...
def monitor_from_config(config: Mapping[str, Any], device: Any = None) -> EpochPerformanceMonitor: ...
