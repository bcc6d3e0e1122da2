"""Instruments JAX: `pmtop.jax.instrument()` publishes compilations, `step = pmtop.jax.step(train_step)` the steps of a training loop.

    import pmtop.jax
    pmtop.jax.instrument()
    train_step = pmtop.jax.step(jax.jit(train_step), loss=lambda result: result[-1])
    for epoch in pmtop.epochs(10):
        for batch in loader:
            state, loss = train_step(state, batch)

JAX compiles a function for each new shape, type or static argument. A function that compiles again after the first steps is a mark, the counters
jax.compiles and jax.recompiles grow, and the time is the phase "compile"; the rule jax_recompiles warns.

A jitted function returns before its result is computed. A batch therefore lasts as long as the call ("dispatch"), unless block=True waits for the
result ("sync"); without it nothing here waits for a device. Nothing is published while JAX traces.
"""
from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Optional, TypeVar, overload

import pmtop

from . import _pmtop

__all__ = ["Instrumentation", "instrument", "step", "wait"]

F = TypeVar("F", bound=Callable[..., Any])

COMPILE_EVENTS = {"/jax/core/compile/jaxpr_trace_duration", "/jax/core/compile/jaxpr_to_mlir_module_duration",
                  "/jax/core/compile/backend_compile_duration"}
COMPILED = "/jax/core/compile/backend_compile_duration"
CACHE_HIT = "/jax/compilation_cache/cache_hits"
WARM_UP_BATCHES = 3
"""Until so many batches have ended, a function that compiles again is no recompilation: JAX compiles for the last, smaller batch too."""
MARKED_S = 0.1
"""A compilation that takes so long is a mark where it is no span."""
FUNCTIONS_MAX = 4096
LATE_MAX = 64
"""Losses that can wait until they are computed; older ones stay unknown."""

_current: Optional[Instrumentation] = None
_steps: weakref.WeakSet[_Step] = weakref.WeakSet()


def _say(what: str, error: BaseException) -> None:
    try:
        sys.stderr.write(f"pmtop: jax: {what} are not measured: {type(error).__name__}: {error}; training continues; please report this\n")
    except (OSError, ValueError, AttributeError):
        pass


class _Spans(threading.local):
    """The times that this thread has published as "compile", which do not overlap: a function compiles others while it is traced."""

    def __init__(self) -> None:
        self.published: deque[tuple[int, int]] = deque(maxlen=256)

    def publish(self, begin: int, end: int, as_spans: bool) -> int:
        """Publishes the parts of this time that are not published yet. Their sum in ns. Without `as_spans` it only sums them up."""
        inner: list[tuple[int, int]] = []
        while self.published and self.published[-1][1] > begin:
            inner.append(self.published.pop())
        parts, at = [], begin
        for first, last in reversed(inner):
            if first > at:
                parts.append((at, first))
            at = max(at, last)
        if end > at:
            parts.append((at, end))
        for first, last in parts if as_spans else ():
            pmtop.span_past("compile", first, last)
        self.published.append((min([begin, *(first for first, _ in inner)]), max(at, end)))
        return sum(last - first for first, last in parts)


class Instrumentation:
    """The installed listeners. As a context manager it ends with close()."""

    def __init__(self, is_on: bool = True, spans: bool = True) -> None:
        self.is_open = is_on
        self.has_spans = spans
        self._is_forked = False
        self._spans = _Spans()
        self._compiled: dict[str, int] = {}
        self._lock = threading.Lock()
        if not is_on:
            return
        import jax
        from jax import monitoring

        self._monitoring = monitoring
        monitoring.register_event_duration_secs_listener(self._lasted)
        monitoring.register_event_listener(self._happened)
        pmtop.meta("framework", f"jax {jax.__version__}")

    def __enter__(self) -> Instrumentation:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes the listeners. instrument() may be called again afterwards."""
        global _current
        if _current is self:
            _current = None
        if not self.is_open:
            return
        self.is_open = False
        for name, listener in (("unregister_event_duration_listener", self._lasted), ("unregister_event_listener", self._happened)):
            # An older JAX has none of these: the listeners then do nothing. clear_event_listeners() may have removed them.
            remove = getattr(self._monitoring, name, None)
            try:
                if remove is not None:
                    remove(listener)
            except (AssertionError, ValueError):
                pass

    def _failed(self, error: BaseException) -> None:
        self.is_open = False
        _say("compilations", error)

    def _lasted(self, event: str, duration_secs: float, **facts: Any) -> None:
        if event not in COMPILE_EVENTS or not self.is_open or not _pmtop.is_automatic():
            return
        try:
            end = pmtop.now_ns()
            took = self._spans.publish(end - int(duration_secs * 1e9), end, self.has_spans)
            pmtop.count("jax.compile_ns", took)
            if event == COMPILED:
                self._compiled_again(str(facts.get("fun_name", "a function")), duration_secs)
        except Exception as error:
            self._failed(error)

    def _compiled_again(self, function: str, seconds: float) -> None:
        with self._lock:
            times = self._compiled[function] = self._compiled.get(function, 0) + 1
            if len(self._compiled) > FUNCTIONS_MAX:
                self._compiled.clear()
        pmtop.count("jax.compiles")
        if not self.has_spans and seconds >= MARKED_S and times & (times - 1) == 0:
            pmtop.mark(f"JAX compiled {function}, {seconds:.2g} s")
        if times == 1 or pmtop.statistics()["num_batches"] < WARM_UP_BATCHES:
            return
        pmtop.count("jax.recompiles")
        pmtop.meta("jax.recompiled", function)
        if times & (times - 1) == 0:  # 2, 4, 8, …: pmtop shows few marks
            pmtop.mark(f"JAX compiled {function} again ({times} times), {seconds:.2g} s")

    def _happened(self, event: str, **facts: Any) -> None:
        if event == CACHE_HIT and self.is_open and _pmtop.is_automatic():
            try:
                pmtop.count("jax.cache_hits")
            except Exception as error:
                self._failed(error)


def instrument(*, spans: bool = True) -> Instrumentation:
    """Publishes what JAX compiles in this process from now on, in any thread. A second call returns the first result, and may only add the spans.

    Compilations are spans "compile" (tracing, lowering and the backend's compiler), the counters jax.compiles, jax.recompiles, jax.compile_ns and
    jax.cache_hits (of the persistent cache), and marks. Does nothing if nothing is published (pmtop.is_enabled()), and in a forked child.

    spans: False for a program that publishes no batches, whose steps pmtop then infers: it infers none of a program that publishes spans. Long
    compilations are marks then.
    """
    global _current
    if _current is None or not _current.is_open:
        _current = Instrumentation(pmtop.init(), spans)
    _current.has_spans |= spans
    return _current


@functools.lru_cache(maxsize=None)
def _trace_state_is_clean() -> Callable[[], bool]:
    """JAX's own function, which is not public; where this JAX has none, always true."""
    from jax._src import core

    return getattr(core, "trace_state_clean", lambda: True)  # type: ignore[no-any-return]


def _is_running_code() -> bool:
    return _trace_state_is_clean()()


class _Step:
    """A function whose calls are batches."""

    def __init__(self, function: Callable[..., Any], block: bool, loss: Optional[Callable[[Any], Any]], samples: int) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function, self._block, self._loss, self._samples = function, block, loss, samples
        self._late: deque[tuple[int, Any]] = deque(maxlen=LATE_MAX)
        self._calls = 0
        self._is_on = True
        self._is_running = False
        self._process = os.getpid()
        self._dispatch, self._sync = pmtop.span("dispatch"), pmtop.span("sync")
        _steps.add(self)

    def __getattr__(self, name: str) -> Any:
        # What a jitted function has: lower(), trace(), clear_cache(), …
        if name == "_function":
            raise AttributeError(name)
        return getattr(self._function, name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        # While JAX traces (a step within another jitted function) nothing runs, and the trace must not reach pmtop.
        if not self._is_on or self._is_running or self._process != os.getpid() or not self._guard(_is_running_code):
            return self._function(*arguments, **more)
        self._is_running = True
        try:
            return self._batch(arguments, more)
        finally:
            self._is_running = False

    def _batch(self, arguments: tuple[Any, ...], more: dict[str, Any]) -> Any:
        is_own = self._guard(self._begin)
        with self._dispatch:
            result = self._function(*arguments, **more)
        if self._block:
            with self._sync:
                _block(result)
        if self._is_on:
            self._guard(self._end, is_own, result)
        return result

    def _guard(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:
            self._is_on = False
            self._late.clear()
            _say("steps", error)
        return None

    def _begin(self) -> bool:
        """Begins a batch, unless the script publishes batches itself. Whether it did."""
        if not self._calls and _pmtop.planned()[2] == 0 and self._samples:
            pmtop.plan(samples_per_batch=self._samples)
        is_own = bool(_pmtop.auto_batch_begin(self._calls))
        self._calls += 1
        return is_own

    def _end(self, is_own: bool, result: Any) -> None:
        number = pmtop.batch_number()
        if is_own:
            if self._samples:
                pmtop.batch_samples(self._samples)
            _pmtop.auto_batch_end()
        if self._loss is not None:
            if len(self._late) == LATE_MAX:
                self._late.popleft()
            self._late.append((number, self._loss(result)))
        self._read()

    def _read(self) -> None:
        """Publishes the losses that are computed."""
        while self._late:
            number, loss = self._late[0]
            if number >= pmtop.batch_number():  # The script's own batch has not ended.
                return
            if getattr(loss, "is_deleted", bool)():  # donated to a later step
                self._late.popleft()
                continue
            if not getattr(loss, "is_ready", lambda: True)():
                return
            self._late.popleft()
            pmtop.batch_figure(number, "loss", float(loss))


def _block(result: Any) -> None:
    import jax

    jax.block_until_ready(result)


def wait(result: Any) -> Any:
    """jax.block_until_ready(result) as the phase "sync", and the losses that are computed then. Returns result."""
    with pmtop.span("sync"):
        _block(result)
    for each in list(_steps):
        if each._is_on:
            each._guard(each._read)
    return result


@overload
def step(function: F) -> F: ...


@overload
def step(function: None = None, *, block: bool = False, loss: Optional[Callable[[Any], Any]] = None, samples: int = 0) -> Callable[[F], F]: ...


@overload
def step(function: F, *, block: bool = False, loss: Optional[Callable[[Any], Any]] = None, samples: int = 0) -> F: ...


def step(function: Any = None, *, block: bool = False, loss: Optional[Callable[[Any], Any]] = None, samples: int = 0) -> Any:
    """Returns the function, or decorates it, so that each call is a batch; in a loop over pmtop.batches() a call is only a span "dispatch".

    block: wait for the result in each call, as the span "sync". Default: never.
    loss: returns the loss from the function's result, such as `lambda result: result[1]`. It is published once it is computed, without waiting.
    samples: the number in each batch, 0 if unknown.
    """
    if function is None:
        return functools.partial(step, block=block, loss=loss, samples=samples)
    if not callable(function):
        raise TypeError("function must be callable, not %r" % type(function))
    if loss is not None and not callable(loss):
        raise TypeError("loss must be a function of the result, not %r" % type(loss))
    if samples.__index__() < 0:
        raise ValueError("samples must not be negative")
    return _Step(function, block, loss, samples.__index__())
