"""CUDA graphs that a program captures itself: the replay of one with an optimizer's step in it is a step.

While a graph is captured nothing runs on the device, so what torch is called for then is published as nothing. torch.compile captures and replays
forward and backward in the same way: its graphs have no optimizer's step, and their replays are left to the other hooks."""
from __future__ import annotations

import functools
import weakref
from threading import get_ident
from typing import Any, Optional

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from .batches import Loop
from .patch import FORWARD, Here, Part, Patches


class Graphs:
    """Watches captures and replays."""

    def __init__(self, patches: Patches, part: Part, here: Here, loop: Loop) -> None:
        self.part, self.here, self.loop = part, here, loop
        self.trained: weakref.WeakSet[Any] = weakref.WeakSet()
        """The graphs with an optimizer's step in them."""
        self.handle: Optional[Any] = None
        self.inside = 0
        self.steps = 0
        kind = torch.cuda.CUDAGraph
        for name, around in (("capture_begin", self._begin), ("capture_end", self._end), ("replay", self._replay)):
            patches.set(kind, name, around(getattr(kind, name)))

    def _begin(self, original: Any) -> Any:
        @functools.wraps(original)
        def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> None:
            original(graph, *args, **kwargs)
            here = self.here
            if self.part.is_on and self.handle is None and not here.paused:
                self.steps = 0
                self.handle = register_optimizer_step_post_hook(self._stepped)
                self.inside, here.inside = here.inside, 1
                here.paused += 1

        return capture_begin

    def _stepped(self, *_: Any) -> None:
        self.steps += 1

    def _end(self, original: Any) -> Any:
        @functools.wraps(original)
        def capture_end(graph: Any) -> None:
            handle, self.handle = self.handle, None
            if handle is not None:
                handle.remove()
                self.here.paused -= 1
                self.here.inside = self.inside
            original(graph)
            if handle is not None and self.steps:
                self.trained.add(graph)

        return capture_end

    def _replay(self, original: Any) -> Any:
        @functools.wraps(original)
        def replay(graph: Any) -> None:
            if graph not in self.trained or not self.part.is_on or self.here.paused:
                original(graph)
                return
            try:
                _begins(self.loop)
            except Exception as error:
                self.part.failed(error)
            original(graph)
            if self.part.is_on:
                try:
                    _ends(self.loop, graph)
                except Exception as error:
                    self.part.failed(error)

        return replay


def _begins(loop: Loop) -> None:
    """Forward, backward and the optimizer's step, which no hook sees."""
    if not loop._may_own():
        return
    top = loop.stack[-1] if loop.stack else None
    if top is not None and top.is_pending:
        top.has_forward = True
        loop._decide(top, True)
    elif top is None and loop.batch is None:
        loop.has_backward_outside()
    loop.has_backward()
    loop.work |= FORWARD
    if top is not None:
        loop._leave()


def _ends(loop: Loop, graph: Any) -> None:
    if loop.owner != get_ident():
        return
    loop._note_step(graph)
    if loop.batch is not None and loop.batch is loop.step_pass:
        loop.cycle_count = 0
        loop._end_batch()
        loop.awaits_step = True
