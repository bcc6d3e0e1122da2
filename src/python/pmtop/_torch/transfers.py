"""Copies between devices and calls that wait for one: the phases "transfer" and "sync".

Within each is a span that names the line of the program and its call, such as "train.py:21 .item()". A copy to the CPU for which the program waits is
"sync"; every other copy is "transfer". Counters have the bytes: transfer.h2d_pageable_bytes, .h2d_pinned_bytes, .d2h_bytes and .d2d_bytes.

Installed once a device is in use, on torch.Tensor, by _pmtop_swapped.h: a tensor on the CPU has the original method, and `torch.Tensor.item` stays
the same object. Only plain tensors and parameters are seen, because reading an attribute of another subclass may run its __torch_function__.
"""
from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any, Optional

import torch

from pmtop import _pmtop

from .patch import Here, Part, Patches, is_compiling

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_WAITS = {"item": ".item()", "tolist": ".tolist()", "nonzero": ".nonzero()", "__bool__": "bool()", "__float__": "float()", "__int__": "int()",
          "__index__": "index"}
_OWN = tuple(os.path.dirname(path) + os.sep for path in (torch.__file__, os.path.dirname(__file__)))
_PLACES_MAX = 48
_CALLS_MAX = 1024
_TIMED_MAX = 512
_RATE_BYTES_MIN = 1 << 20
_PAGEABLE_RATIO = 0.95
_NO_DEVICES = ("meta",)
_TO_CPU, _BETWEEN, _PINNED, _PAGEABLE = "d2h", "d2d", "h2d_pinned", "h2d_pageable"


class Places:
    """Spans that are named after the calling line outside of torch. The first lines have one; the region's table of names is finite."""

    def __init__(self, out: Any) -> None:
        self.out = out
        self.names: set[str] = set()
        self.calls: dict[tuple[int, int, str], tuple[Any, Any]] = {}
        self.none = contextlib.nullcontext()

    def span(self, what: str) -> Any:
        """The span of the line that calls, without a line where all callers are torch's."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_OWN):
            frame = frame.f_back
        if frame is None:
            return self.none
        key = (id(frame.f_code), frame.f_lasti, what)
        known = self.calls.get(key)
        if known is None:
            if len(self.calls) >= _CALLS_MAX:
                return self.none
            # The code is retained, so that no other code gets its id.
            known = self.calls[key] = frame.f_code, self._new(f"{short_name(frame.f_code.co_filename)}:{frame.f_lineno} {what}")
        return known[1]

    def _new(self, name: str) -> Any:
        if name not in self.names and len(self.names) >= _PLACES_MAX:
            return self.none
        self.names.add(name)
        return self.out.span(name)


def short_name(file: str) -> str:
    """A file's name for people: relative to the main program's folder or the working directory, else with its folder."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    for folder in (main and os.path.dirname(os.path.abspath(main)), os.getcwd()):
        if folder and file.startswith(folder + os.sep) and "site-packages" not in file:
            return file[len(folder) + 1:]
    return os.sep.join(file.split(os.sep)[-2:]) if "site-packages" in file else os.path.basename(file)


def _device_of(target: Any) -> Optional[torch.device]:
    """The device that an argument of .to() or .cuda() names; None for a dtype, or a wrong one."""
    if isinstance(target, torch.Tensor):
        return target.device
    if isinstance(target, (str, int)) and not isinstance(target, bool):
        try:
            return torch.device(target)
        except RuntimeError:
            return None
    return target if isinstance(target, torch.device) else None


def _way(source: Any, there: Optional[torch.device]) -> Optional[str]:
    """How a copy goes, None if there is none."""
    here = source.device
    if there is None or here.type in _NO_DEVICES or there.type in _NO_DEVICES:
        return None
    if here.type == there.type:
        return _BETWEEN if here.type != "cpu" and there.index is not None and there.index != here.index else None
    if there.type == "cpu":
        return _TO_CPU
    if here.type != "cpu":
        return _BETWEEN
    return _PINNED if source.is_pinned() else _PAGEABLE


def _is_asynchronous(args: tuple[Any, ...], kwargs: Optional[dict[str, Any]]) -> bool:
    """non_blocking=True, at the end of the positional arguments too."""
    return bool(kwargs.get("non_blocking")) if kwargs and "non_blocking" in kwargs else bool(args) and args[-1] is True


class Transfers:
    """near: the attribute of a tensor that is true if it is on the CPU."""

    def __init__(self, part: Part, here: Here, loop: Any, near: str = "is_cpu") -> None:
        self.part, self.here, self.loop, self.near = part, here, loop, near
        self.out = loop.out
        self.sync, self.transfer = self.out.span("sync"), self.out.span("transfer")
        self.places = Places(self.out)
        self.timed: dict[int, tuple[int, int]] = {}
        """Bytes in the copies of a batch that the device times: (from pageable memory, all)."""
        loop.device.on_times = self._publish_rate

    def install(self, patches: Patches) -> None:
        """Replaces the methods, until the patches are restored."""
        tensor = torch.Tensor
        for name, what in _WAITS.items():
            self._measure(patches, tensor, name, functools.partial(self._waits, what), self.near)
        for name, begins, near in (("cpu", self._to_cpu, self.near), ("to", self._to, None), ("cuda", self._cuda, None), ("copy_", self._copy, None)):
            self._measure(patches, tensor, name, begins, near)
        for kind in (torch.cuda.Stream, torch.cuda.Event):
            self._measure(patches, kind, "synchronize", functools.partial(self._waits, f"{kind.__name__}.synchronize()"), None, (kind,))
        patches.set(torch.cuda, "synchronize", self._synchronize(torch.cuda.synchronize))

    def _measure(self, patches: Patches, owner: Any, name: str, begins: Callable[..., Any], near: Optional[str], types: tuple[Any, ...] = _PLAIN) -> None:
        original = getattr(owner, name, None)
        if original is not None:
            swapped = _pmtop.SwappedMethod(self.part, original, begins, self._ends, types, near, {True})
            if name == "item":
                # AdamW asks each parameter for the number of its step, twice. These numbers lie on the CPU, or all on the device.
                swapped.expect_skipped(vars(sys.modules[torch.optim.Optimizer.__module__]))
            patches.set(owner, name, swapped)

    def _synchronize(self, original: Any) -> Any:
        part, here = self.part, self.here

        @functools.wraps(original)
        def synchronize(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or here.waiting or here.paused or not part.is_on:
                return original(*args, **kwargs)
            here.waiting = 1
            began = self._begin(self.sync, "torch.cuda.synchronize()")
            try:
                return original(*args, **kwargs)
            finally:
                here.waiting = 0
                self._ends(began)

        return synchronize

    # -- what the program calls: each returns the argument of _ends(), or None for a call that is not measured

    def _waits(self, what: str, thing: Any, args: Any, kwargs: Any) -> Any:
        return None if is_compiling() else self._begin(self.sync, what)

    def _to_cpu(self, tensor: Any, args: Any, kwargs: Any) -> Any:
        return self._moves(".cpu()", tensor, torch.device("cpu"), args, kwargs)

    def _to(self, tensor: Any, args: Any, kwargs: Any) -> Any:
        target = args[0] if args else kwargs and kwargs.get("device", kwargs.get("other"))
        if target is None or type(target) is torch.dtype or type(target) is torch.device and target == tensor.device:
            return None
        return self._moves(".to()", tensor, _device_of(target), args, kwargs)

    def _cuda(self, tensor: Any, args: Any, kwargs: Any) -> Any:
        target = args[0] if args else kwargs and kwargs.get("device")
        return self._moves(".cuda()", tensor, _device_of("cuda" if target is None else target), args, kwargs)

    def _copy(self, tensor: Any, args: Any, kwargs: Any) -> Any:
        source = args[0] if args else kwargs and kwargs.get("src")
        there = tensor.device
        if type(source) not in _PLAIN or source.device == there:
            return None
        return self._moves(".copy_()", source, there, args, kwargs)

    # -- spans

    def _moves(self, what: str, source: Any, there: Optional[torch.device], args: Any, kwargs: Any) -> Any:
        way = None if is_compiling() else _way(source, there)
        if way is None:
            return None
        count = source.numel() * source.element_size()
        self.out.count(f"transfer.{way}_bytes", count)
        if way is _TO_CPU and not _is_asynchronous(args, kwargs):
            return self._begin(self.sync, what)
        is_pageable = way is _PAGEABLE
        return self._begin(self.transfer, f"{what} pageable" if is_pageable else what, self._mark(), count, is_pageable)

    def _begin(self, span: Any, what: str, *more: Any) -> Any:
        line = self.places.span(what)
        span.__enter__()
        line.__enter__()
        return (span, line, *more)

    def _ends(self, began: Any) -> None:
        span, line, *more = began
        line.__exit__(None, None, None)
        span.__exit__(None, None, None)
        if more and more[0] is not None:
            mark, count, is_pageable = more
            self.loop.device.note("gpu.transfer_s", mark)
            self._note_bytes(mark[0], count, is_pageable)

    # -- the device's clock

    def _mark(self) -> Any:
        """The device's mark in a measured batch, where no other phase is timed."""
        here, device = self.here, self.loop.device
        if not device.measures or here.inside or here.backward or here.is_stepping or get_ident() != self.loop.owner:
            return None
        return device.mark()

    def _note_bytes(self, number: int, count: int, is_pageable: bool) -> None:
        if len(self.timed) >= _TIMED_MAX:
            self.timed.clear()
        pageable, total = self.timed.get(number, (0, 0))
        self.timed[number] = pageable + count * is_pageable, total + count

    def _publish_rate(self, number: int, seconds: dict[str, float]) -> None:
        """The rate of copies from pageable memory, of a batch that has hardly any others."""
        pageable, total = self.timed.pop(number, (0, 0))
        time_s = seconds.get("gpu.transfer_s", 0)
        if time_s > 0 and pageable >= max(_RATE_BYTES_MIN, _PAGEABLE_RATIO * total):
            self.out.gauge("transfer.pageable_bytes_per_s", total / time_s)
