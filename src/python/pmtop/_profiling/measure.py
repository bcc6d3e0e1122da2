"""A measured block: the `with` of the monitors.

Blocks nest in each thread and in each task of asyncio, but spans of the region only in each thread. A block is therefore an open span while it
runs only if it is directly inside the thread's innermost open block; otherwise it is published when it is over.
"""
import contextvars
import os
import threading
from time import perf_counter_ns
from typing import Any, List, NamedTuple, Optional

import pmtop
from pmtop._profiling import figures, gpu_peak

LIVE_MAX = 16

_NS_PER_S = 1e9


class PerformanceMetric(NamedTuple):
    """One finished block. Unknown figures are None."""

    operation: str
    duration_seconds: float
    cpu_delta_mb: Optional[float]
    """Growth of the resident set from begin to end."""
    gpu_delta_mb: Optional[float]
    """Growth of the memory that torch's CUDA allocator has allocated on the device."""
    gpu_peak_mb: Optional[float]
    """The allocator's peak within the block, for which pmtop resets torch's peak at its begin."""
    depth: int
    """The number of blocks of the same monitor that enclose it; 0 is outermost."""
    begin_ns: int
    """By CLOCK_MONOTONIC."""


class _Block:
    """A measured block, open or finished."""

    __slots__ = ("owner", "measure", "parent", "depth", "is_over", "live", "begin_ns", "resident", "gpu", "peak")


# Each task of asyncio and each thread has its own: blocks of several tasks that overlap in one thread do not nest in each other.
_innermost: "contextvars.ContextVar[Optional[_Block]]" = contextvars.ContextVar("pmtop_innermost", default=None)


def _open(block: Optional[_Block]) -> Optional[_Block]:
    while block is not None and block.is_over:
        block = block.parent
    return block


class _Live(threading.local):
    """The blocks of this thread whose spans are open in the region, outermost first."""

    def __init__(self) -> None:
        self.blocks: List[_Block] = []


_live = _Live()


def _after_fork_in_child() -> None:
    _live.blocks.clear()  # These blocks and their spans belong to the parent.
    _innermost.set(None)
    figures.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)


class Measure:
    """`with` measures the block, even if it raises. One object may be entered again, within itself and in other threads."""

    _resets_peak = True
    _synchronizes = False

    __slots__ = ("metric", "_name", "_span", "_device", "_owner", "_blocks")

    def __init__(self, name: str, span: Any, device: Any, owner: Any = None) -> None:
        self.metric: Optional[PerformanceMetric] = None
        self._name, self._span, self._device, self._owner = name, span, device, owner
        self._blocks: List[_Block] = []

    def __enter__(self) -> "Measure":
        block = _Block()
        block.measure, block.owner, block.is_over = self, self._owner, False
        block.parent = parent = _open(_innermost.get())
        block.depth = 0
        if parent is not None:
            # Keeps the chain short if blocks overlap endlessly.
            parent.parent = _open(parent.parent)
            block.depth = _depth_in(parent, self._owner)
        self._blocks.append(block)
        _innermost.set(block)
        if self._synchronizes:
            figures.synchronize(self._device)
        block.resident, block.gpu = figures.resident_bytes(), figures.gpu_memory(self._device)
        block.peak = gpu_peak.begin(self._device, block.gpu, self._resets_peak)
        block.live = _begin_live(block)
        block.begin_ns = perf_counter_ns()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._synchronizes:
            figures.synchronize(self._device)
        end_ns = perf_counter_ns()
        block = self._take()
        if block is None:
            return
        block.is_over = True
        _end_live(block, end_ns)
        if _innermost.get() is block:
            _innermost.set(_open(block.parent))
        gpu = figures.gpu_memory(self._device)
        peak = gpu_peak.end(block.peak, self._device, gpu)
        cpu_mb = figures.growth_mb(block.resident, figures.resident_bytes())
        seconds = (end_ns - block.begin_ns) / _NS_PER_S
        self.metric = metric = PerformanceMetric(
            self._name, seconds, cpu_mb, figures.gpu_growth_mb(block.gpu, gpu),
            None if peak is None else peak / figures.BYTES_PER_MB, block.depth, block.begin_ns,
        )
        self._done(metric)

    def _take(self) -> Optional[_Block]:
        """The innermost open block of this context. If it was entered in another context (a generator may move), the last one entered."""
        block = _open(_innermost.get())
        while block is not None and block.measure is not self:
            block = _open(block.parent)
        try:
            if block is None:
                return self._blocks.pop()
            self._blocks.remove(block)
        except (IndexError, ValueError):
            return None
        return block

    def _done(self, metric: PerformanceMetric) -> None:
        """Called with the figures of a finished block."""


def _depth_in(parent: Optional[_Block], owner: Any) -> int:
    while parent is not None:
        if parent.owner is owner:
            return parent.depth + 1
        parent = _open(parent.parent)
    return 0


def _begin_live(block: _Block) -> Optional[List[_Block]]:
    """Returns the list to which the block was added; None if it is to be published when it is over."""
    blocks = _live.blocks
    if len(blocks) >= LIVE_MAX or (blocks[-1] if blocks else None) is not block.parent:
        return None
    block.measure._span.__enter__()
    blocks.append(block)
    return blocks


def _end_live(block: _Block, end_ns: int) -> None:
    blocks = _live.blocks
    if block.live is None:
        pmtop.span_past(block.measure._name, block.begin_ns, end_ns)
    # A block that ended before its inner blocks, or in another thread, leaves as soon as it is innermost.
    while blocks and blocks[-1].is_over:
        blocks.pop().measure._span.__exit__(None, None, None)


def plus(a: Optional[float], b: Optional[float]) -> Optional[float]:
    return a if b is None else b if a is None else a + b


def larger(a: Optional[float], b: Optional[float]) -> Optional[float]:
    return a if b is None else b if a is None else max(a, b)
