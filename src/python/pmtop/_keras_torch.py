"""Keras on PyTorch: forward, backward, zero_grad and the GPU's own times, from pmtop.torch without its batches, and the optimizer of Keras."""
from __future__ import annotations

import functools
import os
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
        self._profile: Any = None
        self._requests = self._own_requests = None

    def listen(self, is_wanted: Optional[bool]) -> None:
        """Takes requests of `pmtop profile`, if the user's own instrument() does not. None: if pmtop has started the program."""
        from ._torch.on_request import VARIABLE, Requests
        from ._torch.patch import Part

        self._requests = self._loop.requests
        if self._requests is None and (VARIABLE in os.environ if is_wanted is None else is_wanted):
            self._requests = self._own_requests = Requests(Part("requests for traces"), pmtop)

    def profile(self, settings: Any) -> None:
        """Takes traces by a schedule."""
        from ._torch.patch import Part
        from ._torch.profile import ProfileRun

        self._profile = ProfileRun(settings, Part("traces"), pmtop, lambda: None)

    def give_back(self) -> None:
        if self._profile is not None:
            self._profile.close()
        if self._own_requests is not None:
            self._own_requests.close()
        if not self._is_users:
            self._torch.close()

    def batch_begins(self) -> None:
        """Call after the batch began."""
        self._loop.owner = threading.get_ident()
        self._loop.work = 0
        self._device.batch_begins(pmtop)

    def batch_ends(self, trains: bool) -> None:
        """Call before the batch ends."""
        self._device.batch_ends(pmtop)
        if self._profile is not None:
            self._profile.batch_ends(trains)
        if self._requests is not None:
            self._requests.batch_ends(trains, self._profile is not None and self._profile.part.is_on)

    def batch_ended(self) -> None:
        """Call after the batch has ended."""
        self._device.read(pmtop)
        if self._loop.forwards is not None and self._loop.is_learning:
            from ._torch.patch import FORWARD

            self._loop.forwards.batch_ended(bool(self._loop.work & FORWARD))


class OwnBatches:
    """The loops of the program's own, see _keras_steps.py: its batches, or those of PyTorch where the program has instrumented it."""

    def __init__(self) -> None:
        from . import torch

        self._torch = torch.instrument(batches=False, loss=False, profile_on_request=False)
        self._loop, self._device = self._torch._loop, self._torch._device
        self._parts = [part for name, part in self._torch.parts.items() if name in ("batches", "loss") and part.is_on]

    def are_torchs(self) -> bool:
        """Whether PyTorch's batches are counted."""
        return bool(self._parts)

    def takes(self) -> bool:
        """Mutes PyTorch's batches until restore(). False: a loop over a DataLoader owns the batches."""
        if self._parts and self._loop.stack:
            return False
        self._loop._leave_steps()
        for part in self._parts:
            part.is_on = False
        return True

    def restore(self) -> None:
        """Undoes takes()."""
        for part in self._parts:
            part.is_on = True
        self._loop.awaits_step = self._loop.batch is None and self._loop._counts_steps()

    def begins(self) -> None:
        """Call after a batch of Keras began."""
        self._loop.owner = threading.get_ident()
        self._loop.work = 0
        self._device.batch_begins(pmtop)

    def ends(self) -> None:
        """Call before it ends."""
        self._device.batch_ends(pmtop)
        self._device.read(pmtop)
        if self._loop.forwards is not None and self._loop.is_learning:
            from ._torch.patch import FORWARD

            self._loop.forwards.batch_ended(bool(self._loop.work & FORWARD))

    def applied(self, optimizer: Any) -> None:
        """An optimizer of Keras ends a batch of PyTorch as one of torch does."""
        self._loop._note_step(optimizer)


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
