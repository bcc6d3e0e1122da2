"""Batches, epochs and modes from the iterators of DataLoaders.

A pass is one iterator from its creation to its end:

    DataLoader.__iter__      pass_begins        a training pass begins an epoch, unless one is open
    iterator.__next__        batch_requested    ends the open batch
      ... returns            batch_returned     begins the next batch
      ... StopIteration      pass_ends          ends the epoch, or restores the mode
    the iterator is dropped  pass_ends          as if it had ended

Passes that own batches are on a stack: a training pass, and perhaps a validation pass within it. A further pass beside them (zip) owns none:
its wait is a span "data" of the running batch. Only the thread that trains publishes batches.
"""
from __future__ import annotations

import sys
import weakref
from threading import enumerate as enumerate_threads, get_ident
from typing import Any, Optional

import torch

from pmtop import _pmtop

from ._torch_data import LoaderFacts
from ._torch_modules import ForwardTimes, Optimised
from ._torch_patch import BACKWARD, FORWARD

_UNDECIDED, _TRAINING, _VALIDATION = range(3)


def _references(keep: list[Any]) -> int:
    """The reference count of the only object in a list, as this Python counts it."""
    thing = keep[0]
    return sys.getrefcount(thing)


_ONE_HOLDER = _references([object()])


class Pass(_pmtop.PassState):
    """One iterator: its kind, and the index of its next batch."""

    __slots__ = ("__weakref__", "facts", "grad_was_off", "is_trained", "iterator", "loader")

    def __init__(self, loader: Any, iterator: Any, facts: LoaderFacts, on_dropped: Any) -> None:
        super().__init__(iterator, facts.full, facts.batch_size or 0)
        self.loader = weakref.ref(loader)
        self.iterator = weakref.ref(iterator, lambda _: on_dropped(self))
        self.facts = facts
        self.grad_was_off = False
        self.is_trained = False

    def is_abandoned(self) -> bool:
        """Whether only its loader, which will reuse it, still refers to the iterator (persistent workers, after a break)."""
        loader = self.loader()
        iterator = self.iterator()
        if loader is None or iterator is None or getattr(loader, "_iterator", None) is not iterator:
            return iterator is None
        del loader
        return sys.getrefcount(iterator) <= _ONE_HOLDER


class Loop(_pmtop.LoopState):
    """The training loop of this process, inferred from its loaders. `out`: the package pmtop, or a stand-in for it.

    The fast path is compiled, in _pmtop_loop.h and _pmtop_hooks.h, and shares these attributes: `owner` (the thread that trains), owner_trains;
    `batch` (the pass of the open batch), its `work` and `loss`; `fast_pass` (the pass that the fast path may serve); watches_forward;
    is_learning (modules) and times_forwards; awaits_backward (a backward will reveal the pass's kind); is_left_alone (the script publishes its own
    batches); is_busy; `late` (passes that ended while they could not be removed); since_step, accumulation, samples_planned."""

    def __init__(self, out: Any, optimised: Optimised, device: Any, epochs: int = 0) -> None:
        super().__init__(device)
        self.out = out
        self.optimised = optimised
        self.epochs_planned = epochs
        self.passes: dict[int, Pass] = {}
        self.facts: weakref.WeakKeyDictionary[Any, LoaderFacts] = weakref.WeakKeyDictionary()
        self.stack: list[Pass] = []
        self.carried: Optional[int] = None
        self.epoch = 0
        self.is_in_epoch = False
        self.mode = "train"
        self.beside: Optional[Pass] = None
        self.forwards: Optional[ForwardTimes] = None
        self.interval = 0
        self.awaits_backward = True
        self.meta: dict[str, object] = {}
        self.plan: Optional[tuple[int, int]] = None

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
            facts = self._facts_of(loader)
            now = Pass(loader, iterator, facts, self._dropped)
            now.grad_was_off = not torch.is_grad_enabled()
            self.passes[id(iterator)] = now
            if self._looks_like_validation(facts):
                self._push_validation(now)
            elif not self.stack:
                self._push_training(now)
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
        index = now.index
        now.index = index + 1
        # An open batch was carried into validation.
        if self.batch is now or self._begin_batch(now, index):
            self.work = 0
            self.loss = None
            self._began(now, index, data)
        self.is_busy = False

    def pass_ends(self, now: Pass, is_dropped: bool = False) -> None:
        """StopIteration was raised, or the iterator is dropped."""
        if get_ident() != self.owner:
            return
        self.is_busy = True
        try:
            self._end(now, is_dropped)
        finally:
            self._leave()

    def stop(self) -> None:
        """Ends all open passes."""
        if get_ident() == self.owner:
            while self.stack:
                self._end(self.stack[-1])
            self.fast_pass = None
        self.passes.clear()

    # -- what training does

    def has_forward(self, module: Any) -> None:
        """The first forward of a pass whose loader is new shows whether it trains."""
        self.watches_forward = False
        if torch.is_grad_enabled() and module.training:
            return
        if self.beside is not None:
            self.beside.facts.is_validation = not self.beside.facts.trains_in_eval
            return
        top = self.stack[-1] if self.stack else None
        if top is not None and top.kind == _TRAINING and not top.is_trained:
            top.kind = _VALIDATION
            top.facts.is_validation = True
            self._set_mode("validation")

    def has_backward(self) -> None:
        """A backward ran in the thread that trains."""
        self.work |= BACKWARD
        self.owner_trains = True
        if self.beside is not None:
            self.beside.facts.is_validation = False
        top = self.stack[-1] if self.stack else None
        if top is None or top.is_trained:
            self.awaits_backward = self.beside is not None
            return
        if top.kind == _VALIDATION and not top.grad_was_off:
            top.kind = _TRAINING
            top.facts.is_validation = False
            top.facts.trains_in_eval = True
            self._set_mode("train")
        top.is_trained = top.kind == _TRAINING
        self.awaits_backward = not top.is_trained

    def backward_elsewhere(self) -> None:
        """Another thread trains: it becomes the owner of the batches, unless the owner has trained."""
        if not self.owner_trains:
            self.owner = get_ident()
            self.owner_trains = True
            self.late.extend(self.stack)

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
            facts.is_validation, facts.trains_in_eval = before.is_validation, before.trains_in_eval
        self.facts[loader] = facts
        return facts

    def _looks_like_validation(self, facts: LoaderFacts) -> bool:
        if not torch.is_grad_enabled():
            return True
        if facts.trains_in_eval:
            return False
        return facts.is_validation or self.optimised.is_in_eval()

    def _requested_beside(self, now: Pass) -> bool:
        """A request by a pass that is not the innermost one."""
        if id(now.iterator()) not in self.passes:
            return False
        self.beside = None
        if now in self.stack:
            while self.stack[-1] is not now:
                self._pop_validation()
            self._end_batch()
            return False
        if now.kind == _VALIDATION or self._looks_like_validation(now.facts):
            if not self.stack or self.stack[-1].kind == _TRAINING:
                self._push_validation(now)
                return False
        elif not self.stack:
            self._push_training(now)
            return False
        elif self.stack[-1].index == 0 and self.batch is None and self.stack[-1].kind == _TRAINING:
            self.stack.pop().kind = _UNDECIDED
            self._push_training(now)
            return False
        if self.batch is None:
            return False
        self.beside = now
        self.watches_forward = not now.facts.trains_in_eval
        return True

    def _push_training(self, now: Pass) -> None:
        now.kind = _TRAINING
        self.stack.append(now)
        self.watches_forward = not now.facts.trains_in_eval
        self._publish_loader(now.facts)
        self.optimised.is_new_epoch = True
        self._forget_steppers()
        if not self.is_in_epoch:
            self.is_in_epoch = True
            self.out.epoch_begin(self.epoch)

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
        self._set_mode("validation")

    def _end(self, now: Pass, is_dropped: bool = False) -> None:
        self._forget(now)
        if now not in self.stack:
            return
        while self.stack[-1] is not now:
            self._pop_validation()
        if now.kind == _VALIDATION and not (self.is_in_epoch and len(self.stack) == 1):
            self._pop_validation()
            return
        # next(iter(loader)) reads a batch and trains nothing.
        is_peek = is_dropped and now.kind == _TRAINING and (now.index == 0 or (now.index == 1 and self.batch is now and not self.work))
        if is_peek:
            self._set_mode("peek")
        self._end_batch()
        self.stack.pop()
        if self.is_in_epoch:
            self.is_in_epoch = False
            self.out.epoch_end()
            self.epoch += now.kind == _TRAINING and not is_peek
        self._set_mode("train")

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
        self.fast_pass = top if self.beside is None and self.carried is None else None
        self.awaits_backward = self.beside is not None or not self.owner_trains or (top is not None and not top.is_trained)

    def _set_mode(self, mode: str) -> None:
        if self.mode != mode:
            self.mode = mode
            if not self.is_left_alone:
                self.out.mode(mode)

    # -- batches

    def _began(self, now: Pass, index: int, data: Any) -> None:
        """Called after a batch has begun with `data`."""
        if self.device.can_come:
            self.device.batch_begins(self.out)
        samples = now.facts.samples(index, data)
        if samples is not None and samples != self.samples_planned:
            self.out.batch_samples(samples)

    def _end_with_device(self) -> None:
        self.device.batch_ends(self.out)
        self.out.batch_end(self.loss)
        self.device.read(self.out)

    def _check_forward(self) -> None:
        if self.forwards is not None:
            self.forwards.batch_ended(bool(self.work & FORWARD))

    def _note_interval(self, batches: int) -> None:
        """Notes the batches between two optimizer steps: the same number twice in a row is the gradient accumulation."""
        if self.interval == batches:
            self.accumulation = batches
            self.publish_fact("accumulation", batches)
        self.interval = batches

    # -- facts

    def publish_fact(self, key: str, value: object) -> None:
        """Publishes a fact, unless its value is unchanged."""
        if self.meta.get(key) != value:
            self.meta[key] = value
            self.out.meta(key, value)

    def _publish_loader(self, facts: LoaderFacts) -> None:
        plan = (facts.length or 0, facts.batch_size or 0)
        if plan != self.plan:
            self.plan = plan
            self.samples_planned = plan[1]
            self.out.plan(self.epochs_planned or None, *plan)
        for key, value in facts.meta.items():
            self.publish_fact(key, value)
        if facts.batch_size:
            self.publish_fact("batch_size", facts.batch_size)
