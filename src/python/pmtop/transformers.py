"""Instruments the Trainer of transformers: `Trainer(callbacks=[PmtopCallback()])`, or only `pmtop.torch.instrument()`, which finds the trainers itself.

Batches, epochs, phases and losses come from pmtop.torch. The trainer adds what it alone knows: the planned epochs and steps, by how many batches it
divides the loss, and what it logs (loss, learning_rate, grad_norm, eval_loss, ...) as gauges. The callback never raises into training, waits for no
device, and changes neither the trainer's state nor its control.
"""
from __future__ import annotations

import functools
import math
import numbers
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Optional, TypeVar

import pmtop

from . import torch

H = TypeVar("H", bound=Callable[..., None])

MODULE = "transformers.trainer_callback"
_EPOCHS_MAX = 2**31
"""Of more epochs the trainer knows only the steps."""
_NO_GAUGES = {"epoch", "step", "total_flos"}


def _guarded(hook: H) -> H:
    """An error in a hook ends it for this trainer, with one line on standard error, and never training."""
    @functools.wraps(hook)
    def guarded(self: _Callback, *arguments: Any, **more: Any) -> None:
        if self._is_silent or not pmtop.is_enabled():
            return
        try:
            hook(self, *arguments, **more)
        except Exception as error:
            self._is_silent = True
            why = f"{hook.__name__} failed ({type(error).__name__}: {error})"
            print(f"pmtop: {why}; training continues, and nothing more of the trainer is published; please report this", file=sys.stderr)
    return guarded  # type: ignore[return-value]


class _Callback:
    """name: the run's name, if pmtop publishes nothing yet. One object may serve several trainers, one after another."""

    _finds_torch = True
    _is_silent = False
    _has_begun = False

    def __init__(self, name: Optional[str] = None) -> None:
        self.name = name
        self._length = 0
        self._epochs = 0

    # -- beginning and end

    def on_init_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._start()

    def _start(self) -> None:
        if self._finds_torch:
            pmtop.init(self.name)
            torch.instrument()

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._start()
        self._has_begun = False
        self._begin(args, state, **more)

    @_guarded
    def _begin(self, args: Any, state: Any, model: Any = None, train_dataloader: Any = None, **_: Any) -> None:
        loop = self._loop()
        if loop is None:
            return
        self._has_begun, self._epochs = True, 0
        try:
            self._length = len(train_dataloader)
        except (TypeError, NotImplementedError):
            self._length = 0
        batches = max(state.max_steps - state.global_step, 0) * args.gradient_accumulation_steps
        epochs = state.num_train_epochs if self._length and state.num_train_epochs < _EPOCHS_MAX else 0
        left = max(math.ceil(epochs) - int(state.epoch or 0), 0)
        # Without a length all steps may be one epoch; _epoch_begins() withdraws that.
        loop.plan_training(loop.epoch + left if epochs else 1 if batches else 0, batches)
        loop.publish_fact("model", type(model).__name__)
        loop.publish_fact("max_steps", state.max_steps)
        self._divide(args, state)

    @staticmethod
    def _loop() -> Any:
        """pmtop.torch's loop, if it sees the trainer's batches."""
        current = torch._current
        return current._loop if current is not None and current.is_open and not current.is_waiting else None

    def _divide(self, args: Any, state: Any) -> None:
        """The next step divides its losses by the number of its batches."""
        loop, parts = self._loop(), args.gradient_accumulation_steps
        if self._length:
            steps = -(-self._length // parts)
            parts = min(parts, self._length - state.global_step % steps * args.gradient_accumulation_steps)
        if loop is not None:
            loop.divides_by(parts, True)

    @_guarded
    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        loop = self._loop()
        self._has_begun = False
        if loop is not None:
            loop.epochs_planned, loop.batches_max = loop.epochs_given, 0
            loop.divides_by(0, False)

    # -- epochs and steps

    @_guarded
    def on_epoch_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        loop = self._loop()
        self._epochs += 1
        if self._epochs == 2 and not self._length and loop is not None:
            loop.plan_training(0, 0)

    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        # pmtop.torch may see a trainer first after on_train_begin, if transformers was imported after instrument().
        if not self._has_begun:
            self._begin(args, state, **more)
        else:
            self._step_begins(args, state)

    @_guarded
    def _step_begins(self, args: Any, state: Any) -> None:
        self._divide(args, state)

    # -- what the trainer logs

    @_guarded
    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        _publish(logs)

    @_guarded
    def on_predict(self, args: Any, state: Any, control: Any, metrics: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        _publish(metrics)


def _publish(values: Optional[Mapping[str, Any]]) -> None:
    for name, value in (values or {}).items():
        if name not in _NO_GAUGES and isinstance(value, numbers.Real) and math.isfinite(value):
            pmtop.gauge(str(name), float(value))


_Callback.__name__ = _Callback.__qualname__ = "PmtopCallback"

if TYPE_CHECKING:
    PmtopCallback = _Callback


def __getattr__(name: str) -> Any:
    """PmtopCallback, a TrainerCallback. Made at its first use, for this module imports no transformers."""
    if name != "PmtopCallback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from transformers import TrainerCallback
    except ImportError as error:
        raise ImportError("pmtop.transformers: 'transformers' is not installed; try: pip install transformers") from error
    made = type("PmtopCallback", (_Callback, TrainerCallback), {"__module__": __name__, "__doc__": _Callback.__doc__})
    globals()[name] = made
    return made


class Trainers:
    """Calls the hooks for each trainer that has no PmtopCallback of its own, as if it had one; its list of callbacks stays as it is."""

    def __init__(self, patches: Any, part: Any) -> None:
        self.patches, self.part = patches, part
        self.is_installed = False
        self.callbacks: weakref.WeakKeyDictionary[Any, _Callback] = weakref.WeakKeyDictionary()

    def install(self) -> None:
        """Once transformers has been imported; it is not imported here."""
        kind = getattr(sys.modules.get(MODULE), "CallbackHandler", None)
        if kind is None or self.is_installed or not self.part.is_on:
            return
        self.is_installed = True
        original = getattr(kind, "call_event", None)
        if original is None:
            self.part.is_on = False
            return

        @functools.wraps(original)
        def call_event(handler: Any, event: str, args: Any, state: Any, control: Any, **more: Any) -> Any:
            if self.part.is_on:
                try:
                    self._called(handler, event, args, state, control, more)
                except Exception as error:
                    self.part.failed(error)
            return original(handler, event, args, state, control, **more)

        self.patches.set(kind, "call_event", call_event)

    def _called(self, handler: Any, event: str, args: Any, state: Any, control: Any, more: dict[str, Any]) -> None:
        hook = getattr(_Callback, event, None)
        if hook is None or any(isinstance(callback, _Callback) for callback in handler.callbacks):
            return
        callback = self.callbacks.get(handler)
        if callback is None:
            callback = self.callbacks[handler] = _Callback()
            callback._finds_torch = False
        hook(callback, args, state, control, model=handler.model, train_dataloader=handler.train_dataloader, **more)
