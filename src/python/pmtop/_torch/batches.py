"""Batches, epochs and modes from the iterators of DataLoaders.

A pass is one iterator from its creation to its end:

    DataLoader.__iter__      pass_begins        the pass is known
    iterator.__next__        batch_requested    ends the open batch; at the first one a training pass begins an epoch, unless one is open
      ... returns            batch_returned     begins the next batch
      ... StopIteration      pass_ends          ends the epoch, or restores the mode
    the iterator is dropped  pass_ends          as if it had ended; only the thread that trains publishes batches

Passes that own batches are on a stack: a training pass, and perhaps a validation pass within it. A further pass beside them (zip) owns none:
its wait is a span "data" of the running batch. Generators that ask both in turn begin a batch with each request, and there passes are no epochs.

A model in evaluation mode does not show what the first pass is: some libraries load models in that mode. The first batch of such a pass is pending
until its forward or backward. Some libraries fetch batches ahead: a batch that is fetched before any work on the one before is queued, and begins
when that one ends. Some programs validate in training mode and with gradients: after a pass has trained, one over other data is unproven until its
first backward, and is validation if a batch has a forward alone. Without a pass, _torch/steps.py counts optimizer steps."""
from __future__ import annotations

import sys
import weakref
from threading import enumerate as enumerate_threads, get_ident, main_thread
from typing import Any, Optional

import torch
from torch.fx import GraphModule

from .data import Datasets, LoaderFacts, has_own_iter
from .modules import Optimised
from .one_pass import Pass, calling_frame, is_plain_loop, kept_iterators
from .patch import BACKWARD, FORWARD, STEP
from .plan import PlannedLoop

_UNDECIDED, _TRAINING, _VALIDATION = range(3)
_AT_ONCE_NS = 1_000_000


class Loop(PlannedLoop):
    """The training loop of this process, inferred from its loaders. `out`: the package pmtop, or a stand-in for it.

    The fast path is compiled, in _pmtop_loop.h and _pmtop_hooks.h, and shares these attributes: `owner` (the thread that trains), owner_trains;
    `batch` (the pass of the open batch), its `work` and `loss`; `fast_pass` (the pass that the fast path may serve); watches_forward;
    is_learning (modules) and times_forwards; awaits_backward (a backward will reveal the pass's kind); is_left_alone (the script publishes its own
    batches); is_busy; `late` (passes that ended while they could not be removed); since_step, accumulation, samples_planned."""

    def __init__(self, out: Any, optimised: Optimised, device: Any, epochs: int = 0) -> None:
        super().__init__(out, optimised, device, epochs)
        self.passes: dict[int, Pass] = {}
        self.facts: weakref.WeakKeyDictionary[Any, LoaderFacts] = weakref.WeakKeyDictionary()
        self.loaders: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = weakref.WeakKeyDictionary()
        """The loader of each iterator that its own __iter__ made."""
        self.has_searched = False
        self.stack: list[Pass] = []
        self.carried: Optional[int] = None
        self.beside: Optional[Pass] = None
        self.awaits_backward = True
        self.datasets = Datasets()
        self.renewed: set[tuple[object, ...]] = set()
        """The kinds of data of which further ones have trained."""
        self.trains_late = False

    # -- what the loaders do

    def pass_begins(self, loader: Any, iterator: Any) -> None:
        """An iterator was created, or restarts."""
        if not self._is_owner():
            self.passes[id(iterator)] = Pass(loader, iterator, LoaderFacts(loader), self._dropped)
            return
        self.is_busy = True
        try:
            self._end_late()
            before = self.passes.pop(id(iterator), None)
            for old in [p for p in self.stack if p is before or p.is_abandoned()]:
                self._end(old)
            if self.stack and self._is_over(self.stack[-1]):
                self._end(self.stack[-1])
            now = Pass(loader, iterator, self._facts_of(loader), self._dropped)
            now.goes_on = isinstance(sys.exc_info()[1], StopIteration)
            now.grad_was_off = not torch.is_grad_enabled()
            self.passes[id(iterator)] = now
        finally:
            self._leave()

    def batch_requested(self, now: Pass) -> bool:
        """The next batch is requested, on the slow path: ends the open batch. True: the wait becomes a span of the running batch."""
        if get_ident() != self.owner:
            return False
        self.is_busy = True
        try:
            self._end_late()
            if not self.stack or self.stack[-1] is not now:
                return self._requested_beside(now)
            self.beside = None
            self.awaits_turn = False
            if now.outlives is not None:
                now.outlives.outlived_by, now.outlives = now.facts, None
                self._publish_loader(now.facts)
            if now.is_pending and not now.has_forward:
                return False
            if now.is_pending:
                self._decide(now, False)
            elif now.is_unproven and self._has_validated(now):
                self._turn_to_validation(now)
            elif self._is_fetched_ahead(now):
                return True
            if self.carried is None or now.index:
                self._end_batch()
            return False
        finally:
            self._leave()

    def batch_returned(self, now: Pass, data: Any) -> None:
        """The loader has returned a batch, on the slow path."""
        stack = self.stack
        if not stack or stack[-1] is not now or get_ident() != self.owner:
            return
        self.is_busy = True
        if self.batch is now and not now.index:
            # An open batch was carried into validation.
            now.index = 1
            self.work = 0
            self.loss = None
            self._began(now, 0, data)
        else:
            if now.length and now.index + now.queued >= now.length:
                self._repeat(now)
            now.enqueue(now.facts.samples(now.index + now.queued, data))
            now.returned_ns = self.out.now_ns()
            if self.batch is not now and not now.is_pending:
                self._begin_next(now)
        self.is_busy = False

    def begin_queued(self) -> None:
        """A forward shows that the next batch begins: of several that were fetched ahead, or in a program without an optimizer."""
        now = self.batch
        self.is_busy = True
        self._end_batch()
        (self._next_without_step if now is self.step_pass else self._begin_next)(now)
        self.is_busy = False

    def pass_ends(self, now: Pass, is_dropped: bool = False) -> None:
        """StopIteration was raised, or the iterator is dropped."""
        if get_ident() != self.owner:
            return
        self.is_busy = True
        try:
            if is_dropped or not now.queued or now not in self.stack:
                self._end(now, is_dropped)
            else:
                # What was fetched ahead is still to be worked on.
                now.is_exhausted = True
                if self.batch is not now and not now.is_pending:
                    self._begin_next(now)
        finally:
            self._leave()

    def stop(self) -> None:
        """Ends all open passes."""
        if get_ident() == self.owner:
            while self.stack:
                self._end(self.stack[-1], True)
            self._leave_steps()
            self.fast_pass = None
        self.awaits_step = False
        self.passes.clear()

    def iterator_is_made(self, loader: Any, iterator: Any) -> None:
        """An iterator was constructed. That of a loader with an __iter__ of its own is known from its first request."""
        if has_own_iter(loader):
            self.loaders[iterator] = weakref.ref(loader)

    def unknown_requested(self, iterator: Any) -> Optional[Pass]:
        """A request by an iterator without a pass: one of a loader with an __iter__ of its own, which begins now."""
        if not self.has_searched:
            self.has_searched = True
            for kept, of in kept_iterators():
                self.loaders[kept] = weakref.ref(of)
        known = self.loaders.get(iterator)
        loader = known() if known is not None else None
        if loader is None:
            return None
        self.pass_begins(loader, iterator)
        return self.passes.get(id(iterator))

    # -- what training does

    def has_forward(self, module: Any) -> None:
        """The first forward of a pass whose loader is new shows whether it trains."""
        self.watches_forward = False
        top = self.stack[-1] if self.stack else None
        if isinstance(module, GraphModule) and module.training and not torch.is_grad_enabled():
            self.watches_forward = True  # the inside of a compiled function, which makes its gradients itself
            return
        if top is not None and top.is_pending:
            top.has_forward = True
            if module.training or not torch.is_grad_enabled():
                self._decide(top, torch.is_grad_enabled())
                self.work |= FORWARD
            return
        if torch.is_grad_enabled() and module.training:
            return
        if self.beside is not None:
            self.beside.facts.is_validation = not self.beside.facts.trains_in_eval
            if self.beside.facts.is_validation and self.beside.is_late:
                # The evaluation chose its mode after it had fetched its first batch.
                now, self.beside, self.is_busy = self.beside, None, True
                self._adopt(now, _VALIDATION)
                now.enqueue(None)
                self._begin_next(now)
                self._leave()
            return
        if top is not None and top.kind == _TRAINING and not top.is_trained:
            top.kind = _VALIDATION
            top.facts.is_validation = not top.facts.has_trained
            self._set_mode("validation")

    def has_backward(self) -> None:
        """A backward ran in the thread that trains."""
        self.work |= BACKWARD
        self.owner_trains = True
        if self.beside is not None:
            self.beside.trained_beside()
        top = self.stack[-1] if self.stack else None
        if top is None or top.is_trained:
            self.awaits_backward = self.beside is not None
            return
        if top.is_pending:
            self.trains_in_eval = top.facts.trains_in_eval = top.has_forward
            self._decide(top, True, True)
            self.work |= BACKWARD
        elif top.kind == _VALIDATION and not top.grad_was_off:
            self._turn_to_training(top)
        if top.is_unproven:
            top.is_unproven = False
            self.renewed.add(top.facts.kind_of_data)
            self._begin_epoch(top)
        top.is_trained = top.kind == _TRAINING
        if top.is_trained:
            self.trains_late |= top.index > 1
            self.datasets.note(top.loader(), True)
        top.facts.has_trained |= top.is_trained
        self.has_trained |= top.is_trained
        self.awaits_backward = not top.is_trained

    def backward_elsewhere(self) -> None:
        """Another thread trains: it becomes the owner of the batches, unless the owner has trained."""
        if not self.owner_trains:
            self.owner = get_ident()
            self.owner_trains = True
            for now in self.stack:
                if now.is_pending:
                    now.waiting.clear()
                    now.queued = 0
            self.late.extend(self.stack)
            if not self.is_busy:
                self.is_busy = True
                self._leave()

    # -- passes

    def _is_owner(self) -> bool:
        me = get_ident()
        if self.owner == me:
            return True
        if not self.owner or (not self.stack and not any(thread.ident == self.owner for thread in enumerate_threads())):
            self.owner = me
            return True
        return False

    def _facts_of(self, loader: Any) -> LoaderFacts:
        facts = LoaderFacts(loader)
        before = self.facts.get(loader)
        if before is not None:
            facts.is_validation, facts.trains_in_eval, facts.has_trained = before.is_validation, before.trains_in_eval, before.has_trained
            facts.outlived_by, facts.takes_turns = before.outlived_by, before.takes_turns
        self.facts[loader] = facts
        return facts

    def _kind_of(self, now: Pass) -> int:
        """What a pass looks like at its first request."""
        if now.kind == _VALIDATION or not torch.is_grad_enabled():
            return _VALIDATION
        if now.facts.trains_in_eval:
            return _TRAINING
        if now.facts.is_validation or self.datasets.has_trained(now.loader()) is False:
            return _VALIDATION
        is_in_eval = self.optimised.is_in_eval()
        if is_in_eval is None:
            return _UNDECIDED
        if is_in_eval:
            return _UNDECIDED if now.facts.has_trained or self.trains_in_eval or not self.has_trained else _VALIDATION
        # A thread of its own may only read the loader.
        is_aside = not self.owner_trains and get_ident() != main_thread().ident
        return _UNDECIDED if self.steps_begun or is_aside else _TRAINING

    def _requested_beside(self, now: Pass) -> bool:
        """A request by a pass that is not the innermost one."""
        if id(now.iterator()) not in self.passes:
            return False
        is_again, self.beside = self.beside is now, None
        if now in self.stack:
            while self.stack[-1] is not now:
                self._pop_validation()
            self._end_batch()
            return False
        kind = self._kind_of(now)
        if now.is_by_hand is None:
            now.asked_by(calling_frame(4))
        if kind != _VALIDATION and self._is_turn_of(now):
            self._end_batch()
            now.kind, now.is_trained, self.stack[-1] = _TRAINING, True, now
            return False
        while self.stack and (self._is_over(self.stack[-1]) or kind != _VALIDATION and self._is_left(self.stack[-1], now, is_again)):
            self._leave_pass(self.stack[-1])
        if not self.stack or (kind == _VALIDATION and self.stack[-1].kind == _TRAINING):
            self._adopt(now, kind)
            return False
        if self.batch is None:
            return False
        self.beside = self.stack[-1].companion = now
        now.is_late, now.trains_beside = bool(self.work & BACKWARD), False
        self.awaits_turn = bool(self.work & STEP) and now.is_from_generator() and self.stack[-1].is_from_generator()
        self.watches_forward = not now.facts.trains_in_eval
        return True

    def _take_turns(self) -> None:
        """The pass beside the innermost one was asked after a step, and the same optimizer stepped again: from now on its batches are batches."""
        if self.beside is not None and self.stack:
            self.beside.facts.takes_turns = self.stack[-1].facts.takes_turns = True
            if self.epochs.are_passes and not self.epochs_planned:
                self._end_batch()  # before its epoch
                self.epochs.note_pass(True, self.publish_fact)
                self._publish_loader(self.stack[-1].facts)

    def _is_turn_of(self, now: Pass) -> bool:
        """Whether a request begins a batch beside a pass with whose batches its own alternate: not before the open batch has had its step."""
        is_within = len(self.stack) == 1 and self.stack[0].kind == _TRAINING and self.stack[0].facts.takes_turns
        return is_within and now.facts.takes_turns and (self.batch is None or bool(self.work & STEP))

    def _adopt(self, now: Pass, kind: int) -> None:
        """The pass becomes the innermost one."""
        self._leave_steps()
        now.grad_was_off = not torch.is_grad_enabled()
        if kind == _VALIDATION:
            self._push_validation(now)
        elif kind == _TRAINING:
            self._push_training(now, True)
        else:
            now.is_pending = self.watches_forward = True
            self.stack.append(now)

    def _is_over(self, top: Pass) -> bool:
        """Whether the innermost pass has no batch left to begin or to work on."""
        return top.is_exhausted and not top.queued and (self.batch is None or bool(self.work))

    def _is_left(self, top: Pass, now: Pass, is_again: bool) -> bool:
        """Whether the innermost pass is not the one that trains: a validation that was left early, or one that was left for `now`."""
        if top.kind == _VALIDATION:
            return not self.epochs.is_in and len(self.stack) == 1 and (self.batch is None or bool(self.work))
        return top.is_left_for(now, is_again, bool(self.work & (STEP if self.has_optimizer else BACKWARD)))

    def _leave_pass(self, top: Pass) -> None:
        """Ends a pass whose iterator the program may keep."""
        iterator = top.iterator()
        self._end(top, top.kind == _TRAINING)
        if iterator is not None and not top.is_exhausted:
            top.starts_again()
            self.passes[id(iterator)] = top

    def _is_fetched_ahead(self, now: Pass) -> bool:
        """Whether a request comes before any work on the open batch, from a caller that works on the batches later."""
        if self.batch is not now or self.work or self.carried is not None:
            return False
        caller = calling_frame(4)
        if is_plain_loop(caller):
            return False
        if now.index + now.queued == 1 or now.is_trained or caller.f_globals.get("__name__", "").startswith("accelerate."):
            return True
        return bool(self.out.now_ns() - now.returned_ns < _AT_ONCE_NS)

    def _repeat(self, now: Pass) -> None:
        """The iterator of a loader that keeps it for all its epochs begins the next one."""
        now.index = 0
        if now.kind == _TRAINING and self.epochs.is_in:
            self.epochs.end()
            self.epochs.index += 1
            self.optimised.is_new_epoch = True
            self._forget_steppers()
            self.epochs.begin()

    def _decide(self, now: Pass, trains: bool, has_backward: bool = False) -> None:
        """Begins the first batch of a pending pass."""
        now.is_pending = False
        if trains:
            self.stack.remove(now)
            self._push_training(now, not has_backward)
        else:
            now.kind = _VALIDATION
            now.facts.is_validation = not now.facts.has_trained
            self._set_mode("validation")
        self._begin_next(now)

    def _has_validated(self, now: Pass) -> bool:
        """Whether the open batch of an unproven pass had its forward."""
        return self.batch is now and bool(self.work & FORWARD)

    def _may_validate(self, now: Pass) -> bool:
        """Whether a pass that looks like training may be validation in training mode and with gradients: its data has trained nothing so far, while
        other passes or steps had a backward in their first batch."""
        has_trained = self.has_trained or self.stepped
        is_known = now.facts.has_trained or self.datasets.has_trained(now.loader()) or now.facts.kind_of_data in self.renewed
        return bool(has_trained) and not self.trains_late and not is_known

    def _turn_to_validation(self, now: Pass) -> None:
        """A batch had a forward and no backward."""
        now.is_unproven = False
        now.kind = _VALIDATION
        now.facts.is_validation = True
        self.datasets.note(now.loader(), False)
        self._set_mode("validation")

    def _turn_to_training(self, now: Pass) -> None:
        """A backward in what was thought to be validation."""
        now.facts.is_validation = False
        now.facts.trains_in_eval = self.optimised.is_in_eval() is not False
        self._set_mode("train")
        if len(self.stack) == 1:
            self.stack.pop()
            self._push_training(now)
        now.kind = _TRAINING

    def _begin_next(self, now: Pass) -> None:
        """Begins the next of the fetched batches."""
        index, samples = now.index, now.dequeue()
        if self._begin_batch(now, index):
            self.work = 0
            self.loss = None
            self._began_with(samples)

    def _push_training(self, now: Pass, may_validate: bool = False) -> None:
        now.kind = _TRAINING
        self.stack.append(now)
        self.watches_forward = not now.facts.trains_in_eval
        now.is_unproven = may_validate and self._may_validate(now)
        if not now.is_unproven:
            self._begin_epoch(now)

    def _push_validation(self, now: Pass) -> None:
        now.kind = _VALIDATION
        if self.stack and self.stack[-1].kind == _VALIDATION:
            return
        self.stack.append(now)
        if self.batch is not None:
            if self.work:
                self._end_batch()
            else:
                # Validation before the batch's own work: the open batch becomes the first of validation, and the training batch restarts afterwards.
                self.carried = self.batch.index - 1
                self.batch = now
        self._set_mode(now.validation)

    def _end(self, now: Pass, is_dropped: bool = False) -> None:
        self._forget(now)
        if now not in self.stack:
            return
        while self.stack[-1] is not now:
            self._pop_validation()
        is_read = self._is_only_read(now)
        if is_read:
            now.forget_queued()
        if not self._flush(now):
            self.stack.pop()
            return
        if now.is_unproven and self._has_validated(now):
            self._turn_to_validation(now)
        is_open = is_dropped and self.batch is now and not now.is_exhausted
        is_idle = is_open and not self.work
        if now.kind == _VALIDATION and not (self.epochs.is_in and len(self.stack) == 1):
            if is_idle and now.index > 1 and self.forwards is not None and self.forwards.classes:
                self._set_mode("peek")
            self._pop_validation()
            return
        other = None if is_dropped or now.kind != _TRAINING else now.goes_on_with(self.passes.values())
        if other is not None:
            self._end_batch()
            self.stack[-1] = other
            return
        # These train nothing: next(iter(loader)), a search for the batch size before all steps, a batch that a break or an exception ended.
        is_look = now.index == 0 or (now.index == 1 and is_idle) or self.has_optimizer and not self.stepped
        is_peek = is_read or is_dropped and now.kind == _TRAINING and is_look
        if is_peek or is_open and now.is_trained and not self.work & (STEP if self.accumulation == 1 and self.has_optimizer else BACKWARD):
            self._set_mode("peek")
        since_step = self.since_step
        self._end_batch()
        if is_peek:
            self.since_step = since_step
        self.stack.pop()
        if self.epochs.is_in:
            self.epochs.end()
            self.epochs.index += now.kind == _TRAINING and not is_peek
        self._set_mode("train")

    def _is_only_read(self, now: Pass) -> bool:
        """Whether an ended pass only fetched its batches, as len(list(loader)) does, while training is seen in others or an optimizer is there for it."""
        is_idle = now.kind == _TRAINING and not now.is_trained and self.batch is now and not self.work and now.index == 1
        return is_idle and (self.has_trained or self.has_optimizer and now.queued > 0)

    def _flush(self, now: Pass) -> bool:
        """A pass ends without work that is seen: what it fetched are its batches. False: it published nothing."""
        if now.is_pending and (self.steps_begun or not now.queued):
            return False
        if now.is_pending:
            self._decide(now, False)
        while now.queued and not now.is_trained and self.batch is now and not self.work:
            self._end_batch()
            self._begin_next(now)
        return True

    def _pop_validation(self) -> None:
        now = self.stack.pop()
        carried, self.carried = self.carried, None
        if self.batch is now and (carried is None or now.index):
            self._end_batch()
        self._set_mode("train")
        if carried is None or not self.stack:
            return
        if self.batch is None:
            if self._begin_batch(self.stack[-1], carried) and self.device.can_come:
                self.device.batch_begins(self.out)
        else:
            self.batch = self.stack[-1]
        self.work = 0

    def _forget(self, now: Pass) -> None:
        for key in [key for key, known in self.passes.items() if known is now]:
            del self.passes[key]

    def _dropped(self, now: Pass) -> None:
        """The iterator is gone. This can happen in any thread, and in the middle of this class's methods."""
        if self.is_busy or get_ident() != self.owner:
            self.late.append(now)
            return
        try:
            self.pass_ends(now, True)
        except Exception:
            self._forget(now)

    def _end_late(self) -> None:
        while self.late:
            self._end(self.late.pop(0), True)

    def _leave(self) -> None:
        if self.late:
            self._end_late()
        self.is_busy = False
        top = self.stack[-1] if self.stack else None
        is_plain = top is not None and not top.is_pending and not top.is_unproven and top.outlives is None
        self.fast_pass = top if is_plain and self.beside is None and self.carried is None else None
        self.awaits_step = top is None and self.batch is None and self._counts_steps()
        self.awaits_backward = self.beside is not None or not self.owner_trains or (top is not None and not top.is_trained)
