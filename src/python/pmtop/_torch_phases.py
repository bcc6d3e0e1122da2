"""What happens inside a batch besides forward: backward, optimizer, zero_grad, checkpoints, waits for a device."""
from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import Any, Optional

import torch

from ._torch_batches import Loop
from ._torch_modules import Optimised
from ._torch_patch import BACKWARD, STEP, ZERO_GRAD, Here, Part, Patches, is_compiling

_item = torch.Tensor.item


class Backward:
    """torch.autograd.backward, which Tensor.backward calls. The loss is what the last backward of a batch started from."""

    def __init__(self, patches: Patches, part: Part, here: Here, loop: Loop, device: Any, loss: Part) -> None:
        out = loop.out
        span = out.span("backward")
        original = torch.autograd.backward
        unscaled: list[tuple[weakref.ref[Any], Any]] = []

        def note_loss(value: Any) -> None:
            if type(value) is not torch.Tensor:
                if not isinstance(value, (tuple, list)) or len(value) != 1 or type(value[0]) is not torch.Tensor:
                    return
                value = value[0]
            if unscaled:
                scaled, plain = unscaled.pop()
                value = plain if scaled() is value else value
            if value.numel() == 1:
                if value.is_cpu:
                    loop.loss = _item(value)
                else:
                    loop.loss = None
                    device.loss(value)

        def noted(value: Any) -> Any:
            if get_ident() != loop.owner:
                loop.backward_elsewhere()
                return None
            loop.work |= BACKWARD
            if loop.awaits_backward:
                loop.has_backward()
            if loss.is_on:
                try:
                    note_loss(value)
                except Exception as error:
                    loss.failed(error)
            return device.mark() if device.measures else None

        @functools.wraps(original)
        def backward(*args: Any, **kwargs: Any) -> None:
            if is_compiling() or not part.is_on or here.backward or here.paused:
                return original(*args, **kwargs)
            here.backward = 1
            begin = None
            try:
                try:
                    begin = noted(args[0] if args else kwargs.get("tensors"))
                except Exception as error:
                    part.failed(error)
                with span:
                    return original(*args, **kwargs)
            finally:
                here.backward = 0
                if begin is not None:
                    device.note("gpu.backward_s", begin)

        patches.set(torch.autograd, "backward", backward)
        if loss.is_on:
            self._patch_scaler(patches, unscaled)

    @staticmethod
    def _patch_scaler(patches: Patches, unscaled: list[tuple[weakref.ref[Any], Any]]) -> None:
        """What a GradScaler multiplied is remembered, so that the loss is told as it was."""
        amp = getattr(torch, "amp", None)
        scaler = getattr(amp, "GradScaler", None) or torch.cuda.amp.GradScaler
        original = scaler.scale

        @functools.wraps(original)
        def scale(self: Any, outputs: Any) -> Any:
            scaled = original(self, outputs)
            if not is_compiling() and scaled is not outputs and type(outputs) is torch.Tensor:
                unscaled[:] = [(weakref.ref(scaled), outputs.detach())]
            return scaled

        patches.set(scaler, "scale", scale)


class Optimizers:
    """Steps, by torch's hooks for all optimizers. A closure is no part of the step: the span begins after it, and ends where it is called again."""

    def __init__(self, part: Part, here: Here, loop: Loop, device: Any, optimised: Optimised) -> None:
        self.part, self.here, self.loop, self.device, self.optimised = part, here, loop, device, optimised
        self.out = loop.out
        self.began: Any = None
        self.handles: list[Any] = []
        from torch.optim import optimizer
        if not hasattr(optimizer, "register_optimizer_step_pre_hook"):
            part.lacks("torch.optim.optimizer.register_optimizer_step_pre_hook")
            return
        self.handles = [optimizer.register_optimizer_step_pre_hook(self._before), optimizer.register_optimizer_step_post_hook(self._after)]

    def close(self) -> None:
        """Takes the hooks back."""
        while self.handles:
            self.handles.pop().remove()

    def repair(self) -> None:
        """Ends the span of a step that did not come to its end (an exception in it), in this thread."""
        self.here.steps = ()
        self._close_span()

    def _open_span(self) -> None:
        self.here.is_stepping = True
        self.out.span_begin("optimizer")

    def _close_span(self) -> None:
        if self.here.is_stepping:
            self.here.is_stepping = False
            self.out.span_end()

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        here = self.here
        if is_compiling() or not self.part.is_on or here.paused:
            return None
        try:
            me, steps = id(optimizer), here.steps
            if me in steps:
                self.repair()
                steps = ()
            here.steps = (*steps, me)
            if steps:
                return None
            if me not in self.optimised.stepping or self.optimised.is_new_epoch:
                self.optimised.stepped(optimizer)
            if self.device.measures and get_ident() == self.loop.owner:
                self.began = self.device.mark()
            if len(args) > 1 or kwargs:
                with_closure = self._with_closure(args, kwargs)
                if with_closure is not None:
                    return with_closure
            self._open_span()
        except Exception as error:
            self.part.failed(error)
        return None

    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        here = self.here
        if is_compiling() or not here.steps:
            return
        try:
            here.steps = here.steps[:-1]
            if here.steps:
                return
            self._close_span()
            self.out.count("optimizer.steps", 1)
            if get_ident() == self.loop.owner:
                self.loop.work |= STEP
                if self.began is not None:
                    self.device.note("gpu.optimizer_s", self.began)
                    self.began = None
        except Exception as error:
            self.part.failed(error)

    def _with_closure(self, args: Any, kwargs: Any) -> Any:
        closure = kwargs.get("closure")
        if closure is not None:
            return args, {**kwargs, "closure": self._outside(closure)} if callable(closure) else None
        if len(args) > 1 and callable(args[1]):
            return (args[0], self._outside(args[1]), *args[2:]), kwargs
        return None

    def _outside(self, closure: Callable[..., Any]) -> Callable[..., Any]:
        here = self.here

        def outside(*args: Any, **kwargs: Any) -> Any:
            steps = here.steps
            if not steps:
                return closure(*args, **kwargs)
            here.steps = ()
            self._close_span()
            result = closure(*args, **kwargs)
            here.steps = steps
            self._open_span()
            return result

        return functools.update_wrapper(outside, closure)


def patch_zero_grad(patches: Patches, part: Part, here: Here, loop: Loop) -> None:
    """zero_grad of optimizers and of modules."""
    span = loop.out.span("zero_grad")
    for owner in (torch.optim.Optimizer, torch.nn.Module):
        patches.set(owner, "zero_grad", _zero_grad(owner.zero_grad, span, part, here, loop))


def _zero_grad(original: Any, span: Any, part: Part, here: Here, loop: Loop) -> Any:
    @functools.wraps(original)
    def zero_grad(*args: Any, **kwargs: Any) -> Any:
        if is_compiling() or not part.is_on or here.paused:
            return original(*args, **kwargs)
        if get_ident() == loop.owner:
            loop.work |= ZERO_GRAD
        with span:
            return original(*args, **kwargs)

    return zero_grad


def patch_save(patches: Patches, part: Part, here: Here, out: Any) -> None:
    """torch.save: a span, and a mark that names the file."""
    original = torch.save
    span = out.span("checkpoint")

    @functools.wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:
        if not part.is_on or here.saving or here.paused:
            return original(*args, **kwargs)
        here.saving = 1
        try:
            with span:
                result = original(*args, **kwargs)
        finally:
            here.saving = 0
        try:
            name = _file_name(args[1] if len(args) > 1 else kwargs.get("f"))
            if name is not None:
                out.mark(f"checkpoint {name}")
        except Exception as error:
            part.failed(error)
        return result

    patches.set(torch, "save", save)
    patches.set(torch.serialization, "save", save)


def _file_name(file: Any) -> Optional[str]:
    path = file if isinstance(file, (str, os.PathLike)) else getattr(file, "name", None)
    return os.path.basename(os.fspath(path)) if isinstance(path, (str, os.PathLike)) else None


_WAITS = ("item", "cpu", "tolist", "numpy")


def patch_waits(patches: Patches, part: Part, here: Here, out: Any, is_on_device: Callable[[Any], bool]) -> None:
    """Calls that wait for a device to be done: a span "sync" where the tensor lies on one."""
    span = out.span("sync")
    for name in _WAITS:
        original = getattr(torch.Tensor, name, None)
        if original is not None:
            patches.set(torch.Tensor, name, _wait(original, name, span, part, here, is_on_device))
    original = getattr(torch.cuda, "synchronize", None)
    if original is not None:
        patches.set(torch.cuda, "synchronize", _wait(original, "synchronize", span, part, here, lambda *_: True))


def _wait(original: Any, name: str, span: Any, part: Part, here: Here, is_on_device: Callable[[Any], bool]) -> Any:
    def wait(*args: Any, **kwargs: Any) -> Any:
        if is_compiling() or here.waiting or here.paused or not part.is_on or (args and not is_on_device(args[0])):
            return original(*args, **kwargs)
        here.waiting = 1
        try:
            with span:
                return original(*args, **kwargs)
        finally:
            here.waiting = 0

    wait.__name__ = name
    return functools.update_wrapper(wait, original)
