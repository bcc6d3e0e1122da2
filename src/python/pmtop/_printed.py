"""track_performance and monitor_performance: measure a block or a function and print its line."""
import functools
import inspect
from typing import Any, Callable, Optional

import pmtop
from pmtop._profiling import figures
from pmtop._profiling.measure import Measure, PerformanceMetric, larger, plus


class _Printed(Measure):
    __slots__ = ()

    def _done(self, metric: PerformanceMetric) -> None:
        figures.print_text(figures.result_lines(*metric[:5]))


def track_performance(operation: str, print_result: bool = True, device: Any = None) -> Any:
    """`with track_performance("critical_operation"):` measures the block and prints the guide's line at its end, even if it raises. The block
    is also a span of the run. Afterwards `metric` of the `as` variable is the PerformanceMetric. Raises TypeError for a name that is no str."""
    _check_name("track_performance", operation)
    return (_Printed if print_result else Measure)(operation, pmtop.span(operation, memory=True, gpu=True), device)


class _Steps(Measure):
    """A function that is entered repeatedly, such as a generator: the time in it, without the time of its consumer."""

    __slots__ = ("_seconds", "_cpu_mb", "_gpu_mb", "_peak_mb")

    def __init__(self, name: str, device: Any) -> None:
        super().__init__(name, pmtop.span(name, memory=True, gpu=True), device)
        self._seconds = 0.0
        self._cpu_mb: Optional[float] = None
        self._gpu_mb: Optional[float] = None
        self._peak_mb: Optional[float] = None

    def _done(self, metric: PerformanceMetric) -> None:
        self._seconds += metric.duration_seconds
        self._cpu_mb, self._gpu_mb = plus(self._cpu_mb, metric.cpu_delta_mb), plus(self._gpu_mb, metric.gpu_delta_mb)
        self._peak_mb = larger(self._peak_mb, metric.gpu_peak_mb)

    def print_line(self) -> None:
        figures.print_text(figures.result_lines(self._name, self._seconds, self._cpu_mb, self._gpu_mb, self._peak_mb))


def monitor_performance(operation: Any = None, device: Any = None) -> Any:
    """A decorator that measures every call as track_performance() does: `@monitor_performance("data processing")`, `@monitor_performance()`
    or `@monitor_performance`. The default name is the function's.

    A coroutine is measured from its first step to its last, including what it awaits. For a generator the time within it counts; the
    line is printed when the generator ends or is closed."""
    if callable(operation):
        return _monitored(operation, _name_of(operation), device)
    if operation is not None:
        _check_name("monitor_performance", operation)
    return lambda function: _monitored(function, operation or _name_of(function), device)


def _check_name(caller: str, name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{caller}: the name must be a str, not {type(name).__name__}")


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return str(name).rpartition("<locals>.")[2]


def _monitored(function: Callable[..., Any], name: str, device: Any) -> Callable[..., Any]:
    kinds = (
        (inspect.isasyncgenfunction, _async_generator),
        (inspect.iscoroutinefunction, _coroutine),
        (inspect.isgeneratorfunction, _generator),
    )
    make = next((make for is_kind, make in kinds if is_kind(function)), _plain)
    return functools.wraps(function)(make(function, name, device))


def _plain(function: Callable[..., Any], name: str, device: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with track_performance(name, True, device):
            return function(*args, **kwargs)

    return call


def _coroutine(function: Callable[..., Any], name: str, device: Any) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with track_performance(name, True, device):
            return await function(*args, **kwargs)

    return call


def _generator(function: Callable[..., Any], name: str, device: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        steps, generator = _Steps(name, device), function(*args, **kwargs)
        step = functools.partial(next, generator)
        try:
            while True:
                try:
                    with steps:
                        item = step()
                except StopIteration as end:
                    return end.value
                try:
                    sent = yield item
                except GeneratorExit:
                    with steps:
                        generator.close()
                    raise
                except BaseException as error:
                    step = functools.partial(generator.throw, error)
                else:
                    step = functools.partial(generator.send, sent)
        finally:
            steps.print_line()

    return call


def _async_generator(function: Callable[..., Any], name: str, device: Any) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        steps, generator = _Steps(name, device), function(*args, **kwargs)
        step = generator.__anext__
        try:
            while True:
                try:
                    with steps:
                        item = await step()
                except StopAsyncIteration:
                    return
                try:
                    sent = yield item
                except GeneratorExit:
                    with steps:
                        await generator.aclose()
                    raise
                except BaseException as error:
                    step = functools.partial(generator.athrow, error)
                else:
                    step = functools.partial(generator.asend, sent)
        finally:
            steps.print_line()

    return call
