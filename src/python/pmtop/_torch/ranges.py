"""The program's own blocks as spans: torch.profiler.record_function, torch.cuda.nvtx.range, range_push and range_pop.

Blocks that torch itself opens, such as "Optimizer.step#SGD.step" or "ProfilerStep#3", are none. The methods of record_function are replaced by
_pmtop_swapped.h, because TorchScript compiles that class and torch.compile knows it: both see the original.
"""
from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from typing import Any, Optional

import torch

from pmtop import _pmtop

from .patch import Here, Part, Patches, is_compiling

_TORCH = os.path.dirname(torch.__file__) + os.sep
_CONTEXTLIB = contextlib.contextmanager.__code__.co_filename
_NAMES_MAX = 64
_SKIPPED_MAX = 256
_OPEN_MAX = 1024


class Ranges:
    """The first names are spans; a program with a name for each step would fill the region's table of names."""

    def __init__(self, patches: Patches, part: Part, here: Here, out: Any) -> None:
        self.part, self.here, self.out = part, here, out
        self.spans: dict[str, Any] = {}
        self.torchs: set[str] = set()
        """Names that only torch itself has used."""
        self.open: dict[int, Any] = {}
        self.swapped: list[Any] = []
        self.pushed = threading.local()
        kind = getattr(torch.autograd.profiler, "record_function", None)
        if kind is not None:
            for name, begins in (("__enter__", self._enters), ("__exit__", self._exits)):
                swapped = _pmtop.Swapped(part, getattr(kind, name), begins, begins, (kind,), "name", self.torchs, self.open)
                self.swapped.append(swapped)
                patches.set(kind, name, swapped)
        nvtx = getattr(torch.cuda, "nvtx", None)
        if nvtx is not None:
            patches.set(nvtx, "range_push", self._push(nvtx.range_push))
            patches.set(nvtx, "range_pop", self._pop(nvtx.range_pop))

    def _span(self, name: Any) -> Any:
        """None: the name is one too many."""
        span = self.spans.get(name)
        if span is None and type(name) is str and name and len(self.spans) < _NAMES_MAX:
            span = self.spans[name] = self.out.span(name, gpu=True)
        return span

    # -- record_function; both return None, so that nothing is called after the original

    def _enters(self, block: Any, args: Any, kwargs: Any) -> None:
        name = block.name
        span = self.spans.get(name)
        if span is None:
            if is_compiling():
                return
            caller = sys._getframe(1)
            if _is_from_torch(caller):
                if caller.f_code.co_filename != _CONTEXTLIB:
                    self._skip(caller.f_globals)
                if len(self.torchs) < _SKIPPED_MAX and "#" not in name[-6:]:
                    self.torchs.add(name)
                return
            span = self._span(name)
        if span is not None and len(self.open) < _OPEN_MAX:
            self.open[id(block)] = span
            span.__enter__()

    def _exits(self, block: Any, args: Any, kwargs: Any) -> None:
        span = self.open.pop(id(block), None)
        if span is not None:
            span.__exit__(None, None, None)

    def _skip(self, variables: dict[str, Any]) -> None:
        """The blocks of this module of torch are none of the program's."""
        for swapped in self.swapped:
            swapped.skip_caller(variables)

    # -- nvtx

    def _push(self, original: Any) -> Any:
        @functools.wraps(original)
        def range_push(msg: Any) -> Any:
            result = original(msg)
            if not is_compiling():
                try:
                    span = self._span(msg) if self.part.is_on and not self.here.paused else None
                    self._stack().append(span)
                    if span is not None:
                        span.__enter__()
                except Exception as error:
                    self.part.failed(error)
            return result

        return range_push

    def _pop(self, original: Any) -> Any:
        @functools.wraps(original)
        def range_pop() -> Any:
            result = original()
            if not is_compiling():
                stack = self._stack()
                span = stack.pop() if stack else None
                if span is not None:
                    span.__exit__(None, None, None)
            return result

        return range_pop

    def _stack(self) -> list[Optional[Any]]:
        """The spans of this thread's open ranges, innermost last."""
        stack: list[Optional[Any]] = self.pushed.__dict__.setdefault("spans", [])
        return stack


def _is_from_torch(caller: Any) -> bool:
    """Whether this frame, which opens a block, is torch's. A decorated function is called by contextlib."""
    while caller is not None and caller.f_code.co_filename == _CONTEXTLIB:
        caller = caller.f_back
    return caller is not None and caller.f_code.co_filename.startswith(_TORCH)
