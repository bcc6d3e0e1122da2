"""Batches between optimizer steps, for loops without a DataLoader.

While no pass over a loader owns the batches, a batch begins at the first forward after an optimizer step, or at the first backward or step if no
forward of a module with gradients is seen, and it ends with its optimizer step. The time before the forward is the phase "data", but for
forwards without gradients, which are "inference". There are no epochs.

A program without an optimizer changes its parameters itself: there a batch ends with the first forward after a backward. After
eight backward calls without a forward of a module between them, a batch ends with the next backward.

With several optimizers a batch ends with the step that closes their cycle. At first that is the step after which every optimizer of the process has
stepped. If an optimizer steps a second time before that, the cycle had closed before, and the last optimizer to step ends batches from then on.
"""
from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any, Optional

import torch

from pmtop import _pmtop

from .modules import Optimised
from .on_request import Requests
from .patch import Part
from .profile import ProfileRun


_UNUSED_MAX = 8
_SETTLED = 11


class StepLoop(_pmtop.LoopState):
    """The part of `Loop` that counts optimizer steps. The fast path is in _pmtop_loop.h.

    awaits_step: no batch is open, and the next forward, backward or step begins one. step_pass: owns these batches, as a pass owns those of a loader.
    steps_begun: how many there were. has_settled: a forward in training mode begins one without a look at anything else.
    infers: the forward that runs has no gradients, and no batch is open: its span is "inference"."""

    optimised: Optimised
    out: Any
    stack: list[Any]

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self.step_pass = _pmtop.PassState(object(), 0, 0)
        self.step_pass.kind = 1
        self.step_parts: tuple[Part, ...] = ()
        self.publish_device: Optional[Callable[[], None]] = None
        self.cycle_ids: set[int] = set()
        self.mode = "train"
        self.meta: dict[str, object] = {}
        self.trains_in_eval = self.has_trained = self.is_in_closure = False
        self.knows_parts = False
        self.interval = self.unused = 0
        self.noted_micro_batches = (0, 0)
        self.profile: Optional[ProfileRun] = None
        self.requests: Optional[Requests] = None

    def count_steps(self, parts: tuple[Part, ...], publish_device: Callable[[], None]) -> None:
        """Counts steps from now on, while all these parts are on."""
        self.step_parts, self.publish_device = parts, publish_device
        self.awaits_step = self._counts_steps()

    def has_forward_outside(self, module: Any) -> None:
        """A forward while no batch is open. With gradients and in training mode it begins one, if there is anything to train."""
        if not self._counts_steps() or not torch.is_grad_enabled() or not self._may_own():
            return
        if not module.training and not self.trains_in_eval:
            self.was_in_eval = True
        elif self.steps_begun or self.optimised.has_optimizer():
            self._open_step()

    def has_backward_outside(self) -> None:
        """A backward while no batch is open."""
        if self._counts_steps() and self._may_own():
            self.trains_in_eval |= self.was_in_eval
            self._open_step()

    def has_step_outside(self) -> None:
        """A step while no batch is open. After a loop over a loader it is that loop's last one."""
        if self._counts_steps() and not self.has_trained and self._may_own():
            self._open_step()

    def has_zeroed_unused(self) -> None:
        """Gradients were set to zero before any step was seen. If that repeats, the steps are invisible (a compiled one), and nothing is counted.

        An optimizer that calls a closure may do so many times within its first step."""
        self.unused += not self.step_pass.queued and not self.is_in_closure
        if self.unused >= _UNUSED_MAX:
            self._leave_steps()
            self.step_parts = ()
            self.awaits_step = self.has_settled = False

    def _sees_steps(self) -> bool:
        return bool(self.step_parts) and all(part.is_on for part in self.step_parts)

    def _counts_steps(self) -> bool:
        counts = self._sees_steps() and not self.stack
        self.awaits_step &= counts
        return counts

    def _may_own(self) -> bool:
        if not self.owner:
            self.owner = get_ident()
        return self.owner == get_ident()

    def _open_step(self) -> None:
        self.awaits_step = False
        self.was_in_eval = False
        self.backwards = self.cycle_count = 0
        if self.device.can_come and self.publish_device is not None and self.steps_begun in (0, 1, 10):
            self.publish_device()
        if self._begin_batch(self.step_pass, self.steps_begun):
            self.steps_begun += 1
            # Whatever is queued begins with a forward after a backward.
            self.step_pass.queued = 0 if self.optimised.has_optimizer() else 1
            self.has_settled = self.steps_begun > _SETTLED and not self.step_pass.queued
            self.work = 0
            self.loss = None
            if self.device.can_come:
                self.device.batch_begins(self.out)

    def _next_without_step(self, _: Any) -> None:
        """A forward after a backward, in a program without an optimizer. One without gradients is evaluation, outside every batch."""
        self.awaits_step = True
        self.infers = not torch.is_grad_enabled()
        if not self.infers:
            self._open_step()

    def _batch_ends(self, trains: int) -> None:
        """While watches_end: a batch of any loop ends."""
        if self.profile is not None:
            self.profile.batch_ends(bool(trains))
        if self.requests is not None:
            self.requests.batch_ends(bool(trains), self.profile is not None and self.profile.part.is_on)

    def _leave_steps(self) -> None:
        """A loop over a loader begins. What an open batch without a step has done trained nothing."""
        if self.batch is not self.step_pass:
            return
        has_stepped = self.cycle_count > 0
        if not has_stepped:
            self.steps_begun -= 1
            self._set_mode("peek")
        self._end_batch()
        self._set_mode("train")
        self.since_step = 0

    def _set_mode(self, mode: str) -> None:
        if self.mode != mode:
            self.mode = mode
            if not self.is_left_alone:
                self.out.mode(mode)

    def publish_fact(self, key: str, value: object) -> None:
        """Publishes a fact, unless its value is unchanged."""
        if self.meta.get(key) != value:
            self.meta[key] = value
            self.out.meta(key, value)

    def _completes_cycle(self, optimizer: Any) -> bool:
        """Whether all optimizers have stepped, while it is unknown whose step ends a batch."""
        self.cycle_ids.add(id(optimizer))
        return self.optimised.have_all_stepped(self.cycle_ids)

    def _note_micro_batches(self, count: int) -> None:
        """Notes another number of accumulated backward calls than the last one published: the same one in two batches in a row is published."""
        if self.noted_micro_batches == (count, self.steps_begun - 1):
            self.micro_batches = self.loss_parts = count
            self.publish_fact("micro_batches", count)
        self.noted_micro_batches = (count, self.steps_begun)

    def _note_parts(self, parts: int) -> None:
        """Notes the backward calls of the micro-batches before each step, in the batches of a loader."""
        if not self.knows_parts:
            self.loss_parts = parts

    def _note_interval(self, batches: int) -> None:
        """Notes the batches between two optimizer steps: the same number twice in a row is the gradient accumulation."""
        if self.interval == batches:
            self.accumulation = batches
            self.loss_parts = self.loss_parts if self.knows_parts else batches
            self.publish_fact("accumulation", batches)
        self.interval = batches
