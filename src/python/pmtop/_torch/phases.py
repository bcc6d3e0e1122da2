"""The phases of a batch besides forward: backward, optimizer, zero_grad, checkpoints."""
from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import Any, Optional

import torch

from pmtop import _pmtop

from .batches import Loop
from .modules import Optimised
from .patch import Here, Part, Patches, have_same_parameters, is_compiling, is_traced

_item = torch.Tensor.item


class Backward:
    """torch.autograd.backward, which Tensor.backward calls. The loss is the argument of the last backward in a batch."""

    def __init__(self, patches: Patches, part: Part, loop: Loop, device: Any, loss: Part) -> None:
        self.loop, self.device = loop, device
        self.unscaled: list[tuple[weakref.ref[Any], Any, int]] = []
        original = torch.autograd.backward
        kind = torch.Tensor
        more = (kind, kind.numel, _item, kind.is_cpu, loss, self.unscaled, getattr(kind, "__dlpack_c_exchange_api__", None))
        timed = _pmtop.Hook(loop, part, loop.out.span("backward"), original, self, more).backward

        patches.set(torch.autograd, "backward", _backward(original, timed))
        if loss.is_on:
            self._patch_scaler(patches, self.unscaled)

    def note_loss(self, value: Any) -> None:
        """Notes the argument of a backward that is no plain tensor on the CPU."""
        if type(value) is not torch.Tensor:
            if not isinstance(value, (tuple, list)) or len(value) != 1 or type(value[0]) is not torch.Tensor:
                return
            value = value[0]
        divisor = 0
        if self.unscaled:
            scaled, plain, by = self.unscaled.pop()
            value, divisor = (plain, by) if scaled() is value else (value, 0)
        if value.numel() == 1:
            self._note(value, divisor or self._divisor(value))

    def _divisor(self, value: Any) -> int:
        return _divisor_of(value) if self.loop.loss_parts != 1 else 0

    def _note(self, value: Any, divisor: int) -> None:
        """A loss that was divided by the number of accumulated batches is multiplied by it; it is unknown until that number is."""
        loop = self.loop
        loop.loss = None
        if divisor and not loop.loss_parts:
            return
        factor = loop.loss_parts if loop.divides_all or divisor and divisor == loop.loss_parts else 1
        if value.is_cpu:
            loop.loss = _item(value) * factor
        elif self.device.measures:
            self.device.loss(value if factor == 1 else value.detach() * factor)

    def begins(self) -> Any:
        """The device's mark, the argument of ends()."""
        return self.device.mark()

    def ends(self, began: Any) -> None:
        """Ends the interval that began at that mark."""
        self.device.note("gpu.backward_s", began)

    def _patch_scaler(self, patches: Patches, unscaled: list[tuple[weakref.ref[Any], Any, int]]) -> None:
        """Remembers what a GradScaler multiplies, so that the published loss is unscaled."""
        divisor_of = self._divisor
        amp = getattr(torch, "amp", None)
        scaler = getattr(amp, "GradScaler", None) or torch.cuda.amp.GradScaler
        original = scaler.scale

        @functools.wraps(original)
        def scale(self: Any, outputs: Any) -> Any:
            scaled = original(self, outputs)
            if not is_compiling() and scaled is not outputs and type(outputs) is torch.Tensor:
                unscaled[:] = [(weakref.ref(scaled), outputs.detach(), divisor_of(outputs))]
            return scaled

        patches.set(scaler, "scale", scale)


def _backward(original: Any, timed: Any) -> Any:
    def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Any = None, create_graph: Any = False, grad_variables: Any = None,
                 inputs: Any = None) -> None:
        call = original if is_traced() else timed
        return call(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)

    return _replacement(backward, original, timed)


def _replacement(wrapper: Any, original: Any, timed: Any) -> Any:
    """A wrapper with torch's parameters, or one with any, where this torch has others."""
    def call(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if is_traced() else timed(*args, **kwargs)

    return functools.update_wrapper(wrapper if have_same_parameters(wrapper, original) else call, original)


def _divisor_of(loss: Any) -> int:
    """The whole number by which the last operation on a tensor divided it; 0 if it did something else. Accelerate divides by 1 after the Trainer."""
    made_by, number = loss.grad_fn, 1.0
    while number == 1:
        name = made_by.name() if made_by is not None else ""
        if name not in ("DivBackward0", "MulBackward0"):
            return 0
        other = made_by._saved_other
        if other is None or not other.is_cpu or other.dim():
            return 0
        number = float(_item(other))
        number = 1 / number if name == "MulBackward0" and number else number
        made_by = made_by.next_functions[0][0]
    return round(number) if 2 <= number <= 1e6 and abs(number - round(number)) < 1e-4 else 0


def patch_scaler_step(patches: Patches, part: Part, here: Here, loop: Loop) -> None:
    """A step that a GradScaler skips, because a gradient is infinite, ends a batch as a step does."""
    scaler = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
    original = scaler.step

    @functools.wraps(original)
    def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        stepped = loop.stepped
        result = original(self, optimizer, *args, **kwargs)
        if part.is_on and loop.stepped == stepped and not is_compiling() and not here.paused and get_ident() == loop.owner:
            try:
                loop._note_step(optimizer)
            except Exception as error:
                part.failed(error)
        return result

    patches.set(scaler, "step", step)


class Optimizers:
    """Steps, by torch's hooks for all optimizers. A closure is no part of the step: its calls interrupt the span."""

    def __init__(self, part: Part, here: Here, loop: Loop, device: Any, optimised: Optimised) -> None:
        self.here, self.device, self.loop, self.stepped = here, device, loop, optimised.stepped
        self.handles: list[Any] = []
        self.hooks: list[tuple[Callable[[Any], Any], Any]] = []
        self.hook = hook = _pmtop.Hook(loop, part, loop.out.span("optimizer"), None, self, ())
        begins, ends = hook.before_step, hook.after_step
        from torch.optim import optimizer
        if not hasattr(optimizer, "register_optimizer_step_pre_hook"):
            part.lacks("torch.optim.optimizer.register_optimizer_step_pre_hook")
            return

        def before(optimizer: Any, args: Any, kwargs: Any) -> Any:
            return None if is_traced() else begins(optimizer, args, kwargs)

        def after(optimizer: Any, args: Any, kwargs: Any) -> None:
            return None if is_traced() else ends(optimizer, args, kwargs)

        self.hooks = [(optimizer.register_optimizer_step_pre_hook, before), (optimizer.register_optimizer_step_post_hook, after)]
        self.open()

    def open(self) -> None:
        """Registers the hooks."""
        self.handles = [register(hook) for register, hook in self.hooks]

    def close(self) -> None:
        """Removes the hooks."""
        while self.handles:
            self.handles.pop().remove()

    def repair(self) -> None:
        """Ends the span of a step that an exception left open, in this thread."""
        self.here.steps = ()
        self.hook.close_span()

    def begins(self) -> Any:
        """The device's mark, the argument of ends()."""
        return self.device.mark()

    def ends(self, began: Any) -> None:
        """Ends the interval that began at that mark."""
        self.device.note("gpu.optimizer_s", began)

    def with_closure(self, args: Any, kwargs: Any) -> Any:
        """The arguments for a step, with its closure outside the span; None if it has no closure."""
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
            self.hook.close_span()
            self.loop.is_in_closure = True
            try:
                result = closure(*args, **kwargs)
            finally:
                self.loop.is_in_closure = False
            here.steps = steps
            self.hook.open_span()
            return result

        return functools.update_wrapper(outside, closure)


def patch_zero_grad(patches: Patches, part: Part, loop: Loop) -> None:
    """zero_grad of optimizers and of modules."""
    for owner in (torch.optim.Optimizer, torch.nn.Module):
        patches.set(owner, "zero_grad", _zero_grad(owner.zero_grad, part, loop))


def _zero_grad(original: Any, part: Part, loop: Loop) -> Any:
    timed = _pmtop.Hook(loop, part, loop.out.span("zero_grad"), original, loop, ()).zero_grad

    def zero_grad(self: Any, set_to_none: Any = True) -> Any:
        return original(self, set_to_none) if is_traced() else timed(self, set_to_none)

    return _replacement(zero_grad, original, timed)


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
