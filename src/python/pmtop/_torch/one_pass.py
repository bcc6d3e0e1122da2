"""One iterator of a loader, from its creation to its end, and the caller that asks it."""
from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable, Iterator
from inspect import CO_GENERATOR
from opcode import opmap
from types import FrameType
from typing import Any, Optional

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from pmtop import _pmtop

from .data import LoaderFacts, has_own_iter
from .modules import kinds_of

_FOR_ITER = opmap["FOR_ITER"]


def _references(keep: list[Any]) -> int:
    """The reference count of the only object in a list, as this Python counts it."""
    thing = keep[0]
    return sys.getrefcount(thing)


_ONE_HOLDER = _references([object()])


class Pass(_pmtop.PassState):
    """One iterator: its kind, and the index of its next batch."""

    __slots__ = ("__weakref__", "companion", "facts", "goes_on", "grad_was_off", "has_forward", "is_asked_by_generator", "is_by_hand",
                 "is_late", "is_trained", "is_unproven", "iterator", "loader", "outlives", "returned_ns", "trains_beside", "validation", "waiting")

    def __init__(self, loader: Any, iterator: Any, facts: LoaderFacts, on_dropped: Any) -> None:
        super().__init__(iterator, facts.full, facts.batch_size or 0)
        self.length = facts.length or 0 if has_own_iter(loader) else 0
        self.is_unsized = not facts.looks_at_data and not facts.full
        self.loader = weakref.ref(loader)
        self.iterator = weakref.ref(iterator, lambda _: on_dropped(self))
        self.facts = facts
        self.goes_on = self.grad_was_off = False  # goes_on: it began where another one had no batch left
        self.is_trained = self.has_forward = self.is_late = False  # late: asked beside a batch that had its backward
        self.is_unproven = False  # it looks like training, and may be validation: its epoch begins with its first backward
        self.is_by_hand: Optional[bool] = None  # asked by next(); None before the first request
        self.is_asked_by_generator = False
        self.trains_beside = False  # it had a backward since its last request beside the innermost pass
        self.validation = "validation"
        self.returned_ns = 0
        self.companion: Optional[Pass] = None
        """The one that was asked beside this one's batches."""
        self.outlives: Optional[LoaderFacts] = None
        """Of the loader whose epoch this one goes on with, until it is asked."""
        self.waiting: list[Optional[int]] = []
        """The samples of each queued batch."""

    def asked_by(self, frame: FrameType) -> None:
        """Its first request."""
        self.is_by_hand = frame.f_code.co_code[frame.f_lasti] != _FOR_ITER
        self.is_asked_by_generator = bool(frame.f_code.co_flags & CO_GENERATOR)
        if is_update_bn(frame):
            self.validation = "update_bn"

    def is_endless(self) -> bool:
        """Whether it may be: the program asks it by next(), and its loader has no length. A library's generator asks for a `for` over it."""
        return bool(self.is_by_hand) and not self.facts.length and not self.is_asked_by_generator

    def is_from_generator(self) -> bool:
        """Whether no `for` of the program runs over it: it is asked by next(), or by a generator."""
        return bool(self.is_by_hand) or self.is_asked_by_generator

    def trained_beside(self) -> None:
        """A backward after its last request beside the innermost pass."""
        self.facts.is_validation = False
        self.trains_beside = True

    def is_left_for(self, other: Pass, is_again: bool, has_stepped: bool) -> bool:
        """Whether the program goes on with another pass, though it keeps this one's iterator. is_again: the other makes its second request in a row.
        has_stepped: the open batch had its step."""
        if self.is_by_hand and not other.is_by_hand:
            # A `for` over the other is a loop of its own, if this one had a look only, or if its last batch is done.
            if other.loader() is self.loader() or not self.is_trained or has_stepped or is_again and other.trains_beside:
                self.forget_queued()
                return True
        return is_again and has_stepped and self.index <= 1 and not self.queued

    def starts_again(self) -> None:
        """It was left, and the program may ask it again."""
        self.index = self.kind = 0
        self.is_pending = self.is_trained = self.is_unproven = self.has_forward = self.is_late = False

    def forget_queued(self) -> None:
        """Nothing will work on what was fetched."""
        self.waiting.clear()
        self.queued = 0

    def enqueue(self, samples: Optional[int]) -> None:
        """A batch was fetched, and has not begun."""
        self.waiting.append(samples)
        self.queued = len(self.waiting)

    def dequeue(self) -> Optional[int]:
        """The next batch begins: its samples."""
        samples = self.waiting.pop(0) if self.waiting else None
        self.queued = len(self.waiting)
        self.index += 1
        return samples

    def goes_on_with(self, alive: Iterable[Pass]) -> Optional[Pass]:
        """This training pass has ended: the companion that may go on with its epoch, or None. In zip(itertools.cycle(a), b) a's batches come again and
        b is asked on; in a plain zip(a, b) the companion is dropped at once, unless its loader keeps it."""
        other = self.companion
        loader = other.loader() if other is not None else None
        if other is None or other.is_by_hand or self.facts.takes_turns:
            return None
        if other not in alive or getattr(loader, "_iterator", None) is not None and self.facts.outlived_by is None:
            return None
        other.outlives = self.facts
        other.index, other.kind, other.is_trained = self.index, self.kind, self.is_trained
        return other

    def is_abandoned(self) -> bool:
        """Whether only its loader, which will reuse it, still refers to the iterator (persistent workers, after a break)."""
        loader = self.loader()
        iterator = self.iterator()
        if loader is None or iterator is None or getattr(loader, "_iterator", None) is not iterator:
            return iterator is None
        del loader
        return sys.getrefcount(iterator) <= _ONE_HOLDER


def calling_frame(depth: int) -> FrameType:
    """The frame that asked an iterator for a batch, behind the __next__ of its subclasses. depth: as sys._getframe() counts it in the caller."""
    frame = sys._getframe(depth + 1)
    while frame.f_code.co_name == "__next__" and frame.f_back is not None:
        frame = frame.f_back
    return frame


def is_plain_loop(frame: FrameType) -> bool:
    """Whether a frame runs a `for` over the iterator and hands nothing on, as a generator would: it works on each batch before the next."""
    return not frame.f_code.co_flags & CO_GENERATOR and frame.f_code.co_code[frame.f_lasti] == _FOR_ITER


def is_update_bn(frame: Optional[FrameType]) -> bool:
    """Whether torch.optim.swa_utils.update_bn() asks, itself or through a progress bar."""
    for _ in range(2):
        if frame is not None and frame.f_code.co_name == "update_bn" and frame.f_globals.get("__name__") == "torch.optim.swa_utils":
            return True
        frame = frame.f_back if frame is not None else None
    return False


def kept_iterators() -> Iterator[tuple[Any, Any]]:
    """The iterators that loaders with an __iter__ of their own made before instrument(), and keep; with their loaders."""
    kinds = {kind for kind in kinds_of(DataLoader) if kind.__iter__ is not DataLoader.__iter__}
    for loader in _pmtop.instances(gc.get_objects(), kinds) if kinds else ():
        for value in vars(loader).values():
            if isinstance(value, _BaseDataLoaderIter):
                yield value, loader
