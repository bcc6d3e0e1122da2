"""Replaces the compiled part if that is missing: the same calls, which only check their arguments."""
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Optional

header_version = None
_decorator: Optional[Callable[..., Any]] = None


def _is_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError("%s must be a str, not %r" % (what, type(value)))


def _is_whole(what: str, value: Any, most: int = 2**64 - 1) -> None:
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError("%s must be an int, not %r" % (what, type(value))) from None
    if number < 0:
        raise ValueError("%s must not be negative" % what)
    if number > most:
        raise OverflowError("%s must be at most %d" % (what, most))


def _is_number(what: str, value: object) -> None:
    if isinstance(value, complex) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError("%s must be a number, not %r" % (what, type(value)))


class Span:
    """A span that publishes nothing."""

    __slots__ = ("name", "cpu", "memory", "gpu")

    def __init__(self, name: str, cpu: bool, memory: bool, gpu: bool) -> None:
        self.name, self.cpu, self.memory, self.gpu = name, cpu, memory, gpu

    def __enter__(self) -> "Span":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def __call__(self, function: Callable[..., Any]) -> Any:
        return _decorator(self, function) if _decorator else function

    def __repr__(self) -> str:
        return "pmtop.span(%r%s)" % (self.name, "".join(f", {note}=True" for note in ("cpu", "memory", "gpu") if getattr(self, note)))

    def __reduce__(self) -> tuple:
        return span, (self.name, self.cpu, self.memory, self.gpu)


def span(name: str, cpu: bool = False, memory: bool = False, gpu: bool = False) -> Span:
    _is_text("name", name)
    return Span(name, bool(cpu), bool(memory), bool(gpu))


def plan(epochs: Optional[int] = None, batches_per_epoch: Optional[int] = None, samples_per_batch: Optional[int] = None) -> None:
    if epochs is not None:
        _is_whole("epochs", epochs, 2**32 - 1)
    if batches_per_epoch is not None:
        _is_whole("batches_per_epoch", batches_per_epoch)
    if samples_per_batch is not None:
        _is_whole("samples_per_batch", samples_per_batch)


def planned() -> tuple[int, int, int]:
    return (0, 0, 0)


def meta(key: str, value: object) -> None:
    _is_text("key", key)


def mode(name: str) -> None:
    _is_text("name", name)


def epoch_begin(index: int) -> None:
    _is_whole("index", index, 2**32 - 1)


def epoch_end() -> None:
    pass


def batch_begin(index: int) -> None:
    _is_whole("index", index)


def batch_end(loss: Optional[float] = None) -> None:
    if loss is not None:
        _is_number("loss", loss)


def auto_epoch_begin(index: int) -> bool:
    epoch_begin(index)
    return False


def auto_epoch_end() -> bool:
    return False


def auto_batch_begin(index: int) -> bool:
    batch_begin(index)
    return False


def auto_batch_end(loss: Optional[float] = None) -> bool:
    batch_end(loss)
    return False


def batch_samples(samples: int) -> None:
    _is_whole("samples", samples)


def batch_kind(kind: Optional[str]) -> None:
    if kind is not None:
        _is_text("kind", kind)


def batch_figure(number: int, name: str, value: float) -> None:
    _is_whole("number", number)
    _is_text("name", name)
    _is_number("value", value)


def batch_number() -> int:
    return 0


def span_begin(name: str) -> None:
    _is_text("name", name)


def span_end() -> None:
    pass


def span_past(name: str, begin_ns: int, end_ns: int) -> None:
    _is_whole("begin_ns", begin_ns)
    _is_whole("end_ns", end_ns)
    _is_text("name", name)


now_ns = time.monotonic_ns


def gauge(name: str, value: float) -> None:
    _is_text("name", name)
    _is_number("value", value)


def count(name: str, add: int = 1) -> None:
    _is_whole("add", add)
    _is_text("name", name)


def mark(text: str) -> None:
    _is_text("text", text)


def statistics() -> dict[str, Any]:
    times = ("total_epoch_time", "avg_epoch_time", "total_batch_time", "avg_batch_time", "min_batch_time", "max_batch_time")
    return {**dict.fromkeys(times), "num_batches": 0, "num_epochs": 0}


def operation_time(name: str) -> Optional[float]:
    _is_text("name", name)
    return None


def total_time() -> Optional[float]:
    return None


def close() -> None:
    pass


def is_open() -> bool:
    return False


is_enabled = is_automatic = is_open


def open(name: str, **options: Any) -> bool:
    return False


reopen = open


def turns(iterator: Iterator[Any], is_epochs: bool, samples: int) -> Iterator[Any]:
    return iterator


def collected(phase: str, info: dict) -> None:
    pass


def watch_collections(threshold_ns: Optional[int]) -> None:
    pass


def instances(objects: list[Any], types: set[type]) -> list[Any]:
    return [thing for thing in objects if type(thing) in types]


def always(value: Any) -> Callable[..., Any]:
    return lambda *given, **named: value


def is_in_task() -> bool:
    return False


is_in_loop = is_in_task


def by_hand(was: Optional[int]) -> int:
    return 0


def watch_compiling(variables: Any, flag: Any) -> None:
    pass


def connect_gpu_clock(begin: Any, end: Any) -> None:
    pass


def connect_tasks(begin: Any, end: Any, past: Any, innermost: Any, other_loop: Any) -> None:
    pass


def tasks_opened(add: int) -> None:
    pass


def task_span(name: str, begin_ns: int, end_ns: int, inner_ns: int, parent: str, depth: int) -> None:
    pass


def stack_begin(span: Span) -> None:
    pass


def stack_end() -> None:
    pass


stack_drop = stack_end


def stack_depth() -> int:
    return 0


def connect(opener: Callable[[int], None], decorator: Callable[..., Any]) -> None:
    global _decorator
    _decorator = decorator


class Here(threading.local):
    """The state and hooks of pmtop.torch, which the compiled part has; without it they are never installed."""

    inside = paused = backward = saving = waiting = is_stepping = 0
    steps: tuple[int, ...] = ()


class Switch:
    is_on = False


class DeviceState:
    can_come = is_ready = measures = False


class PassState:
    __slots__ = ("index", "is_exhausted", "is_pending", "kind", "length", "queued")

    def __init__(self, *given: Any) -> None:
        pass


class LoopState:
    owner = work = since_step = accumulation = samples_planned = loss_parts = backwards = stepped = cycle_count = 0
    fast_pass = batch = step_pass = loss = None
    micro_batches = 1
    owner_trains = is_busy = is_left_alone = is_learning = times_forwards = watches_forward = awaits_backward = awaits_step = has_optimizer = watches_end = False
    awaits_turn = False

    def __init__(self, device: Any) -> None:
        self.device = device
        self.late: list[Any] = []


class Hook:
    def __init__(self, *given: Any) -> None:
        pass


class ModuleHook(Hook):
    pass


class Swapped(Hook):
    pass


class SwappedMethod(Hook):
    def expect_skipped(self, variables: Any) -> None:
        pass
