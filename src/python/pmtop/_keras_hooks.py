"""What a Keras callback cannot see: when a step has ended, and how long the next batch takes to arrive.

Keras calls the callbacks' on_*_batch_end in another thread, or after it has waited for the device. CallbackList is therefore replaced by functions
that first end the batch of each PmtopCallback in the list. EpochIterator is replaced by one that times the data. Both are installed once, for all
models, and do nothing in a fit() without a PmtopCallback.
"""
from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Optional

import pmtop

MODES = ("train", "test", "predict")
"""The words of Keras in the names of its hooks."""
_CALLS = ("fit", "evaluate", "predict")


class _Here(threading.local):
    """The calls of fit(), evaluate() and predict() that this thread is in, outermost first: a reference to the first PmtopCallback of each, or None."""

    def __init__(self) -> None:
        self.calls: list[Optional[weakref.ref[Any]]] = []

    def callback(self) -> Any:
        reference = self.calls[-1] if self.calls else None
        return reference() if reference is not None else None


_here = _Here()
current = _here.callback
"""The PmtopCallback of the innermost fit(), evaluate() or predict() of this thread; None if there is none."""
_data = pmtop.span("data")
_installed: set[type] = set()


def is_in_call() -> bool:
    """Whether this thread is in a fit(), evaluate() or predict(). One that an exception left is forgotten."""
    if not _here.calls:
        return False
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in _CALLS and "keras" in frame.f_code.co_filename:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    left, _here.calls = [reference() for reference in _here.calls if reference is not None], []
    for callback in left:
        if callback is not None:
            callback._abandon()
    return False


def install(callback_list: type, epoch_iterator: Optional[type], is_ours: Any) -> None:
    """Replaces the hooks of these classes, once. is_ours(callback): whether it is a PmtopCallback."""
    if callback_list not in _installed:
        for mode in MODES:
            replace(callback_list, f"on_{mode}_begin", functools.partial(_begin, mode=mode, is_ours=is_ours))
            replace(callback_list, f"on_{mode}_end", _end)
            replace(callback_list, f"on_{mode}_batch_end", functools.partial(_batch_end, is_ours=is_ours))
        _installed.add(callback_list)
    if epoch_iterator is not None and hasattr(epoch_iterator, "_enumerate_iterator") and epoch_iterator not in _installed:
        replace(epoch_iterator, "_enumerate_iterator", _enumerate)
        _installed.add(epoch_iterator)


def for_all(callback_list: type, epoch_iterator: Optional[type], ours: Any) -> None:
    """Has ours(callbacks) give each new list one more callback, or None, before its model and parameters reach it; and ours(None) called before any
    data are read."""
    replace(callback_list, "__init__", functools.partial(_list_made, ours=ours))
    if epoch_iterator is not None:
        replace(epoch_iterator, "__init__", functools.partial(_iterator_made, ours=ours))


def _list_made(original: Any, ours: Any) -> Any:
    def __init__(self: Any, callbacks: Any = None, add_history: Any = False, add_progbar: Any = False, model: Any = None, **params: Any) -> None:
        original(self, callbacks, add_history, add_progbar, model, **params)
        # Not in the argument: by it Keras decides whether it waits for losses.
        callback = ours(self.callbacks)
        if callback is not None:
            self.callbacks.append(callback)
            callback.set_params(self.params)
            callback.set_model(model)

    return __init__


def _iterator_made(original: Any, ours: Any) -> Any:
    def __init__(self: Any, *arguments: Any, **more: Any) -> None:
        ours(None)
        original(self, *arguments, **more)

    return __init__


def replace(owner: type, name: str, make: Any) -> None:
    """Replaces a method by make(method)."""
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(make(original)))


def outside_graphs(function: Any) -> Any:
    """The function as TensorFlow leaves it: tf.function translates what it calls, except for this one."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow.autograph.experimental.do_not_convert(function) if tensorflow is not None else function


def _begin(original: Any, mode: str, is_ours: Any) -> Any:
    def on_begin(self: Any, *arguments: Any, **more: Any) -> Any:
        ours = next((callback for callback in self.callbacks if is_ours(callback)), None)
        if mode == "train":  # An exception in an earlier fit() has left its call.
            _here.calls.clear()
        _here.calls.append(weakref.ref(ours) if ours is not None else None)
        return original(self, *arguments, **more)

    return on_begin


def _end(original: Any) -> Any:
    def on_end(self: Any, *arguments: Any, **more: Any) -> Any:
        if _here.calls:
            _here.calls.pop()
        return original(self, *arguments, **more)

    return on_end


def _batch_end(original: Any, is_ours: Any) -> Any:
    def on_batch_end(self: Any, batch: Any, *arguments: Any, **more: Any) -> Any:
        for callback in self.callbacks:
            if is_ours(callback):
                callback._step_ended(batch)
        return original(self, batch, *arguments, **more)

    return on_batch_end


def _enumerate(original: Any) -> Any:
    def _enumerate_iterator(self: Any) -> Iterator[Any]:
        callback = _here.callback()
        if callback is None:
            return original(self)  # type: ignore[no-any-return]
        return _timed_epoch(Source(self, callback), original(self))

    return _enumerate_iterator


def _timed_epoch(source: Source, steps: Iterator[Any]) -> Iterator[Any]:
    """Yields what the generator of Keras yields, with its iterator timed. Making an iterator (new workers, a shuffle) is data too."""
    if source.is_in_graph:
        yield from steps
        return
    timed: Optional[_Timed] = None
    while True:
        try:
            if timed is None:
                with _data:
                    step = next(steps)
            else:
                step = next(steps)
        except StopIteration:
            return
        # The last item is the iterator, or, in older versions of Keras, already the data.
        if not isinstance(step, tuple) or not hasattr(step[-1], "__next__"):
            yield step
            continue
        if timed is None or timed.iterator is not step[-1]:
            timed = _Timed(step[-1], source)
        yield (*step[:-1], timed)


class Source:
    """The data of one epoch, or of one validation."""

    def __init__(self, epoch_iterator: Any, callback: Any) -> None:
        self._epoch_iterator = epoch_iterator
        # TensorFlow passes the iterator into a graph, which a Python object cannot enter.
        self.is_in_graph = callback._backend == "tensorflow"
        self.fetched = self.samples = 0
        callback._source = self

    def note(self, item: Any) -> None:
        """Counts a batch that arrived. Its first array's first dimension are the samples."""
        size = first_dimension(item)
        self.fetched += 1
        self.samples += size or 0

    @property
    def batches(self) -> int:
        """The number in an epoch; 0 if it is unknown."""
        return int(self._epoch_iterator.num_batches or 0)

    @property
    def batch_size(self) -> int:
        """As fit() was called, 0 if it is unknown."""
        return int(getattr(self._epoch_iterator.data_adapter, "batch_size", 0) or 0)

    def take(self, first: int, last: int) -> int:
        """The samples of the steps first to last, 0 if they are unknown. Begins to count anew."""
        fetched, samples = self.fetched, self.samples
        self.fetched = self.samples = 0
        if 0 < fetched <= last - first + 1:
            return samples
        size, batches = self.batch_size, self.batches
        if not size or not batches or self._epoch_iterator.steps_per_epoch:
            return 0
        adapter = self._epoch_iterator.data_adapter
        missing = size - (adapter.partial_batch_size or size) if adapter.has_partial_batch and last >= batches - 1 else 0
        return max(min(last, batches - 1) - first + 1, 0) * size - missing


class _Timed:
    """An iterator whose next() is a span "data"."""

    def __init__(self, iterator: Any, source: Source) -> None:
        self.iterator, self._source = iterator, source

    def __iter__(self) -> _Timed:
        return self

    def __next__(self) -> Any:
        with _data:
            item = next(self.iterator)
        try:
            self._source.note(item)
        except Exception:  # an object that is no batch
            self._source.fetched = -1 << 40
        return item


def first_dimension(item: Any) -> Optional[int]:
    """The samples of a batch."""
    if isinstance(item, dict):
        item = tuple(item.values())
    if isinstance(item, (tuple, list)):
        return next((size for size in map(first_dimension, item) if size is not None), None)
    shape = getattr(item, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else None
