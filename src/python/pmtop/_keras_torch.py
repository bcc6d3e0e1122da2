"""Keras on PyTorch: forward, backward, zero_grad and the GPU's own times, from pmtop.torch without its batches, and the optimizer of Keras."""
from __future__ import annotations

import functools
import sys
import threading
from typing import Any, Optional

import pmtop

from . import _keras_hooks as hooks

_optimizer = pmtop.span("optimizer")
_timed: set[type] = set()


class _Muted:
    """The user's own instrument() without its batches and losses, which are the callback's, until give_back()."""

    def __init__(self, instrumentation: Any) -> None:
        self._meta = instrumentation._loop.meta
        self._parts = [part for name, part in instrumentation.parts.items() if name in ("batches", "loss") and part.is_on]
        for part in self._parts:
            part.is_on = False

    def give_back(self) -> None:
        for part in self._parts:
            part.is_on = True
        self._meta.pop("between", None)  # The next pass over a loader publishes it again.


def mute() -> Optional[_Muted]:
    """If the user has instrumented PyTorch. Keras reads a batch to build the model before it calls any callback, and that is no training."""
    torch = sys.modules.get("pmtop.torch")
    current = torch._current if torch is not None else None
    return _Muted(current) if current is not None and current.is_open else None


class TorchPhases:
    """pmtop.torch within fit(). Import it only if the backend is torch."""

    def __init__(self) -> None:
        from . import torch

        self._is_users = torch._current is not None and torch._current.is_open
        self._torch = torch.instrument(batches=False, loss=False, profile_on_request=False)
        self._loop, self._device = self._torch._loop, self._torch._device
        self._loop.stop()
        if self._device.can_come:
            self._torch._publish_device()

    def give_back(self) -> None:
        if not self._is_users:
            self._torch.close()

    def batch_begins(self) -> None:
        """Call after the batch began."""
        self._loop.owner = threading.get_ident()
        self._loop.work = 0
        self._device.batch_begins(pmtop)

    def batch_ends(self) -> None:
        """Call before the batch ends."""
        self._device.batch_ends(pmtop)

    def batch_ended(self) -> None:
        """Call after the batch has ended."""
        self._device.read(pmtop)
        if self._loop.forwards is not None and self._loop.is_learning:
            from ._torch.patch import FORWARD

            self._loop.forwards.batch_ended(bool(self._loop.work & FORWARD))


def time_optimizers(optimizer: type) -> None:
    """Replaces apply() of Keras' optimizers, once."""
    if optimizer in _timed:
        return
    from ._torch.patch import is_compiling

    original = optimizer.apply  # type: ignore[attr-defined]

    @functools.wraps(original)
    def apply(self: Any, *arguments: Any, **more: Any) -> Any:
        if is_compiling() or hooks.current() is None:
            return original(self, *arguments, **more)
        with _optimizer:
            return original(self, *arguments, **more)

    optimizer.apply = apply  # type: ignore[attr-defined]
    _timed.add(optimizer)
