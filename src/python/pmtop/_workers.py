"""DataLoader worker processes: each publishes into its own small region, which ends with the process, never into its trainer's.

A fetch is a batch there: its time is that of `dataset[...]` and of collating, its samples are the items of the data set in it; between fetches
the worker waits for work. A fetch at the end of an iterable has the mode "exhausted", one that raised has "failed".

The trainer calls `install()`. The worker gets a `WorkerInit`, which torch runs there first. This module does not import torch at the top: a
spawned worker has imported it when `WorkerInit` runs.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Optional

from pmtop import _pmtop

REGION = {"lanes": 2, "slots": 256, "totals": 16, "names": 64, "history": 64, "epochs": 8, "directory": ""}
"""Options of `_pmtop.reopen`: a few threads, the last fetches, no file."""

Init = Callable[[int], Any]


class WorkerInit:
    """A worker_init_fn that starts publishing, then calls the user's. Picklable if the user's is."""

    __slots__ = ("count", "original")

    def __init__(self, original: Optional[Init], count: int) -> None:
        self.original = original
        self.count = count

    def __getstate__(self) -> tuple[Optional[Init], int]:
        return self.original, self.count

    def __setstate__(self, state: tuple[Optional[Init], int]) -> None:
        self.original, self.count = state

    def __call__(self, worker_id: int) -> None:
        try:
            _begin(worker_id, self.count)
        except Exception:  # a worker that cannot publish still works
            pass
        if self.original is not None:
            self.original(worker_id)


def _begin(worker_id: int, count: int) -> None:
    from multiprocessing import util

    from torch.utils.data._utils import fetch

    if not _pmtop.reopen(f"worker {worker_id}", **REGION):
        return
    _pmtop.count("samples", 0)
    # The role comes last: a reader that finds it finds the other facts, too.
    for key, value in (("between", "idle"), ("worker.id", worker_id), ("worker.count", count), ("role", "worker")):
        _pmtop.meta(key, value)
    # Worker processes run no atexit. A region that stays open belongs to a worker that was killed.
    util.Finalize(None, _pmtop.close, exitpriority=0)
    fetch._MapDatasetFetcher.fetch = _published(fetch._MapDatasetFetcher.fetch, _fetch_map)
    fetch._IterableDatasetFetcher.fetch = _published(fetch._IterableDatasetFetcher.fetch, _fetch_iterable)


Fetch = Callable[[Any, Any], Any]


def _fetch_map(fetch: Fetch, fetcher: Any, index: Any) -> tuple[Any, int]:
    return fetch(fetcher, index), len(index) if fetcher.auto_collation else 1


def _fetch_iterable(fetch: Fetch, fetcher: Any, index: Any) -> tuple[Any, int]:
    """Counts the items that are collated, because the last fetch may get fewer than requested."""
    collate, samples = fetcher.collate_fn, 1

    def counting(data: Any) -> Any:
        nonlocal samples
        samples = len(data)
        return collate(data)

    if not fetcher.auto_collation:
        return fetch(fetcher, index), 1
    fetcher.collate_fn = counting
    try:
        return fetch(fetcher, index), samples
    finally:
        fetcher.collate_fn = collate


def _published(fetch: Fetch, fetch_counted: Callable[[Fetch, Any, Any], tuple[Any, int]]) -> Fetch:
    number, is_inside = 0, False

    @functools.wraps(fetch)
    def published(fetcher: Any, index: Any) -> Any:
        nonlocal number, is_inside
        if is_inside:  # a loader within the dataset
            return fetch(fetcher, index)
        is_inside, outcome = True, "failed"
        _pmtop.batch_begin(number)
        try:
            data, samples = fetch_counted(fetch, fetcher, index)
            outcome = "train"
            return data
        except StopIteration:
            outcome = "exhausted"
            raise
        finally:
            is_inside = False
            if outcome == "train":
                number += 1
                _pmtop.batch_samples(samples)
                _pmtop.count("samples", samples)
                _pmtop.batch_end()
            else:
                _pmtop.mode(outcome)
                _pmtop.batch_end()
                _pmtop.mode("train")

    return published


_plain_init: Optional[Callable[..., None]] = None


def install() -> None:
    """Has the workers of all DataLoaders that start from now on publish. Imports torch.utils.data."""
    global _plain_init
    from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter as iterator

    if _plain_init is not None:
        return
    plain_init = _plain_init = iterator.__init__

    @functools.wraps(plain_init)
    def init(self: Any, loader: Any) -> None:
        original = loader.worker_init_fn
        if isinstance(original, WorkerInit):  # another thread has replaced it meanwhile, and restores the user's
            original = original.original
        if _pmtop.is_automatic():
            loader.worker_init_fn = WorkerInit(original, loader.num_workers)
        try:
            plain_init(self, loader)
        finally:
            loader.worker_init_fn = original
        if isinstance(self._worker_init_fn, WorkerInit):
            self._worker_init_fn = original

    iterator.__init__ = init  # type: ignore[method-assign]


def remove() -> None:
    """Reverts install(). Workers that already run continue to publish."""
    global _plain_init
    from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter as iterator

    if _plain_init is not None:
        iterator.__init__ = _plain_init  # type: ignore[method-assign]
        _plain_init = None
