"""What a loop publishes when an epoch or a batch begins or ends: the plan of its trainer, the facts of its loader, samples and device times."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from .data import LoaderFacts
from .epochs import Epochs
from .modules import ForwardTimes, Optimised
from .patch import FORWARD
from .steps import StepLoop

if TYPE_CHECKING:
    from .one_pass import Pass


class PlannedLoop(StepLoop):
    """The part of `Loop` that knows how many epochs, batches and samples are to come."""

    def __init__(self, out: Any, optimised: Optimised, device: Any, epochs: int) -> None:
        super().__init__(device)
        self.out = out
        self.optimised = optimised
        self.epochs_planned = self.epochs_given = epochs
        self.batches_max = 0
        self.divides_all = False
        self.epochs = Epochs(out)
        self.plan: Optional[tuple[int, int, int]] = None
        self.forwards: Optional[ForwardTimes] = None

    def plan_training(self, epochs: int, batches: int) -> None:
        """A trainer has so many epochs, each of at most so many batches. 0: unknown."""
        self.epochs_planned, self.batches_max = epochs or self.epochs_given, batches
        if self.stack and self.stack[0].kind == 1 and not self.stack[0].is_unproven:
            self._publish_loader(self.stack[0].facts)

    def divides_by(self, parts: int, divides_all: bool) -> None:
        """Training divides the losses by `parts` (0: unknown): all of them, or those whose last operation is this division."""
        self.loss_parts, self.knows_parts, self.divides_all = parts, parts > 0, divides_all

    def _begin_epoch(self, now: Pass) -> None:
        """Begins an epoch with a training pass, unless one is open."""
        if self.epochs.are_passes and not self.epochs_planned:
            self.epochs.note_pass(now.goes_on or now.is_endless(), self.publish_fact)
        self._publish_loader(now.facts.outlived_by or now.facts)
        if now.facts.accumulation > 1:
            self.divides_by(now.facts.accumulation, False)
        self.optimised.is_new_epoch = True
        self.has_optimizer = bool(self.optimised.known) and self._sees_steps()
        self._forget_steppers()
        if not self.epochs.is_in:
            self.epochs.begin()

    def _publish_loader(self, facts: LoaderFacts) -> None:
        length = min(facts.length or self.batches_max, self.batches_max or facts.length or 0) if self.epochs.are_passes else 0
        plan = (self.epochs_planned, length, facts.batch_size or 0)
        if plan != self.plan:
            withdrawn = 0 if self.plan and self.plan[0] else None
            self.plan = plan
            self.samples_planned = plan[2]
            self.out.plan(plan[0] or withdrawn, *plan[1:])
        for key, value in facts.meta.items():
            self.publish_fact(key, value)
        if facts.batch_size:
            self.publish_fact("batch_size", facts.batch_size)

    def _began(self, now: Pass, index: int, data: Any) -> None:
        """Called after a batch has begun with `data`, also by the fast path."""
        self._began_with(now.facts.samples(index, data))

    def _began_with(self, samples: Optional[int]) -> None:
        if self.device.can_come:
            self.device.batch_begins(self.out)
        if samples is not None and samples != self.samples_planned:
            self.out.batch_samples(samples)

    def _end_with_device(self) -> None:
        self.device.batch_ends(self.out)
        self.out.batch_end(self.loss)
        self.device.read(self.out)

    def _check_forward(self) -> None:
        if self.forwards is not None:
            self.forwards.batch_ended(bool(self.work & FORWARD))
