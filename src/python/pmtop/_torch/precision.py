"""The precision of a model, published as the fact torch.precision: bf16-mixed or 16-mixed if training enters an autocast, anywhere (outside
the model, inside it, in a library); else its parameters' dtype, 32-true, bf16-true, …, or tf32 if a GPU may multiply single precision that way.

Observed only while ForwardTimes learns, for a few batches.
"""
from __future__ import annotations

import functools
from typing import Any, Optional

import torch

from .patch import Patches

_SHORT = {torch.bfloat16: "bf16", torch.float16: "16", torch.float32: "32", torch.float64: "64"}


class Precision:
    """The precision of one training loop. With an old torch without this autocast class only the parameters count."""

    def __init__(self, patches: Patches, loop: Any) -> None:
        self.patches, self.loop = patches, loop
        self.owner = getattr(getattr(torch.amp, "autocast_mode", None), "autocast", None) if hasattr(torch, "amp") else None
        self.mixed: Optional[str] = None
        self.plain: Optional[str] = None
        self.is_on_gpu = False

    def watch(self) -> None:
        """Starts to observe autocasts."""
        if self.owner is None:
            return
        original = self.owner.__enter__

        @functools.wraps(original)
        def __enter__(mode: Any) -> Any:
            if torch.is_grad_enabled() and getattr(mode, "_enabled", False):
                short = _SHORT.get(getattr(mode, "fast_dtype", None))
                self.mixed = f"{short}-mixed" if short else None
            return original(mode)

        self.patches.set(self.owner, "__enter__", __enter__)

    def stop(self) -> None:
        """Stops observing autocasts."""
        if self.owner is not None:
            self.patches.undo(self.owner, "__enter__")

    def called(self, module: Any) -> None:
        """Called for the outermost module. The first module of a loop that has parameters and trains gives the dtype. A compiled module is ignored:
        it may contain an autocast that is never entered."""
        if self.plain is None and torch.is_grad_enabled() and not hasattr(module, "_orig_mod") and not isinstance(module, torch.jit.ScriptModule):
            first = next((parameter for parameter in module.parameters() if parameter.dtype in _SHORT), None)
            if first is not None:
                self.plain = f"{_SHORT[first.dtype]}-true"
                self.is_on_gpu = first.is_cuda

    def publish(self) -> None:
        """Call at the end of a batch with a forward."""
        value = self.mixed or (with_tf32(self.plain, self.is_on_gpu) if self.plain else None)
        if value:
            self.loop.publish_fact("torch.precision", value)


def with_tf32(precision: str, is_on_gpu: bool) -> str:
    """Adds tf32 if a GPU multiplies single precision that way."""
    try:
        is_rounded = is_on_gpu and precision.startswith("32") and torch.get_float32_matmul_precision() != "highest"
    except Exception:
        is_rounded = False
    return f"tf32 ({precision})" if is_rounded else precision
