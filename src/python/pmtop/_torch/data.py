"""Facts about a DataLoader and its batches, read without side effects."""
from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping
from typing import Any, Optional

from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, IterableDataset

_DEPTH_MAX = 4
_ENDLESS_BATCHES = 1_000_000_000
_ENDLESS_REPEATS = 1000
_META = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers")


def _length(sized: Any) -> Optional[int]:
    try:
        return len(sized)
    except (TypeError, NotImplementedError, AttributeError):
        return None


def has_own_iter(loader: Any) -> bool:
    """Whether its class replaces DataLoader.__iter__."""
    return getattr(type(loader), "__iter__", None) is not DataLoader.__iter__


def _is_endless(batches: int, batch_size: Optional[int], dataset: Any) -> bool:
    """Whether a sampler's length only means that it never ends: 1e10, or a thousand times the data."""
    data = _length(dataset)
    return batches >= _ENDLESS_BATCHES or bool(data) and batches * (batch_size or 1) > _ENDLESS_REPEATS * (data or 0)


def _accumulation() -> int:
    """The number by which accelerate divides each loss, if the process uses it."""
    kind = getattr(sys.modules.get("accelerate.state"), "GradientState", None)
    number = (getattr(kind, "_shared_state", None) or {}).get("plugin_kwargs", {}).get("num_steps", 1)
    return number if type(number) is int else 1


class _Stand:
    """What is no DataLoader but was handed to one of torch's iterators. fastai's _FakeLoader has its own loader as `d`."""

    drop_last = False

    def __init__(self, loader: Any) -> None:
        own = getattr(loader, "d", None)
        is_fastai = getattr(own, "fake_l", None) is loader
        self.dataset = None if is_fastai else getattr(loader, "dataset", None)
        self.sampler = own if is_fastai else getattr(loader, "sampler", None)
        self.batch_size = getattr(own, "bs", None) if is_fastai else getattr(loader, "batch_size", None)
        self.batch_sampler = getattr(loader, "batch_sampler", None)
        for name in _META:
            setattr(self, name, getattr(loader, name, None))


class LoaderFacts:
    """One loader: `length` batches a pass and `batch_size` samples a batch (None if unknown), and the kind of its passes, once known."""

    __slots__ = ("accumulation", "batch_size", "full", "has_trained", "is_exact", "is_validation", "kind_of_data", "length", "looks_at_data", "meta",
                 "outlived_by", "rest", "takes_turns", "trains_in_eval")

    def __init__(self, loader: Any) -> None:
        loader = loader if isinstance(loader, DataLoader) else _Stand(loader)
        sampler = loader.batch_sampler
        samples = None
        self.batch_size: Optional[int] = loader.batch_size
        self.length: Optional[int] = None
        self.looks_at_data = sampler is not None or isinstance(loader.sampler, BatchSampler)
        if isinstance(loader.dataset, IterableDataset):
            # len(loader) would make torch remember the length and warn about a longer pass.
            samples = _length(loader.dataset)
            if samples is not None:
                size = self.batch_size or 1
                self.length = samples // size if loader.drop_last else -(-samples // size)
        else:
            self.length = _length(sampler if sampler is not None else loader.sampler)
            if self.batch_size is None and isinstance(loader.sampler, BatchSampler):
                self.batch_size = loader.sampler.batch_size
            elif self.batch_size is None and sampler is not None:
                size = getattr(sampler, "batch_size", None)
                self.batch_size = size if type(size) is int else None
            if self.length is None and getattr(type(loader), "__len__", None) is not DataLoader.__len__:
                self.length = _length(loader)
            if self.length is not None and _is_endless(self.length, self.batch_size, loader.dataset):
                self.length = None
        # torch's own batch sampler has predictable sizes: all batches but the last are full.
        is_iterable = isinstance(loader.dataset, IterableDataset)
        self.is_exact = type(sampler) is BatchSampler and getattr(loader, "in_order", True) and not is_iterable
        self.full = self.rest = 0
        if self.is_exact and sampler is not None:
            samples = _length(sampler.sampler)
            self.is_exact = samples is not None
            self.full, self.rest = divmod(samples or 0, sampler.batch_size)
        self.kind_of_data = (type(loader.dataset), self.length, self.batch_size)
        self.meta = {f"loader.{name}": value for name in _META for value in [getattr(loader, name, None)] if value is not None}
        self.accumulation = _accumulation()
        self.is_validation = False
        self.trains_in_eval = self.has_trained = self.takes_turns = False  # takes_turns: with another one, batch by batch
        self.outlived_by: Optional[LoaderFacts] = None
        """Those of the loader that goes on with this one's epoch: zip(itertools.cycle(this), that)."""

    def samples(self, index: int, data: Any) -> Optional[int]:
        """The number of samples in `data`, the batch number `index` of a pass; None if unknown."""
        if self.is_exact:
            if index < self.full:
                return self.batch_size
            if index == self.full and self.rest:
                return self.rest
        if not self.looks_at_data:
            return None
        size = _size(data, 0)
        return size if size is not None and (self.batch_size is None or size <= self.batch_size) else None


class Datasets:
    """Which datasets have trained, and which only validated: a program may make their loaders anew for each pass."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[weakref.ref[Any], bool]] = {}

    def note(self, loader: Any, has_trained: bool) -> None:
        """What a pass over this loader was. A list cannot be remembered."""
        dataset = getattr(loader, "dataset", None)
        key = id(dataset)
        try:
            self.known[key] = weakref.ref(dataset, lambda _: self.known.pop(key, None)), has_trained
        except TypeError:
            pass

    def has_trained(self, loader: Any) -> Optional[bool]:
        """None: unknown."""
        dataset = getattr(loader, "dataset", None)
        ref, has_trained = self.known.get(id(dataset), (None, None))
        return has_trained if ref is not None and ref() is dataset else None


def _size(data: Any, depth: int) -> Optional[int]:
    """The length of the first tensor in nested mappings and sequences, or of a list of strings or numbers."""
    if isinstance(data, Tensor):
        return data.shape[0] if data.dim() else None
    if depth == _DEPTH_MAX:
        return None
    if isinstance(data, (list, tuple)):
        inside = data[0] if data else None
        if isinstance(inside, (str, bytes, int, float)):
            return len(data)
    elif isinstance(data, Mapping):
        inside = next(iter(data.values()), None)
    else:
        return None
    return _size(inside, depth + 1)


def facts_of(loader: DataLoader[Any]) -> LoaderFacts:
    """Reads the facts again: the sampler may have changed since the last pass."""
    return LoaderFacts(loader)
