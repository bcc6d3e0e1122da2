"""The peak of torch's CUDA allocator within a block.

torch has one peak for each device, since it was last reset. pmtop resets it when a block begins, notes the peak before that for the blocks that are
open (they nest, and those of several threads overlap), and remembers the highest for the figures of the whole process.
"""
import os
import sys
import threading
import weakref
from typing import Any, Dict, Optional

from pmtop._profiling import figures


class _State:
    def __init__(self) -> None:
        self.lock = threading.RLock()  # A signal handler may track too.
        self.open: "weakref.WeakSet[Peak]" = weakref.WeakSet()
        """A block that never ends goes when it is collected."""
        self.hidden: Dict[int, int] = {}
        """The highest peak of a device that a reset has hidden."""
        self.resets = True


_state = _State()


def _after_fork_in_child() -> None:
    global _state
    _state = _State()  # CUDA does not survive a fork.


os.register_at_fork(after_in_child=_after_fork_in_child)


class Peak:
    """Of an open block."""

    __slots__ = ("noted", "__weakref__")

    def __init__(self) -> None:
        self.noted: Dict[int, int] = {}


def _torch_in_use() -> Any:
    torch = sys.modules.get("torch")
    try:
        return torch if torch is not None and torch.cuda.is_initialized() else None
    except Exception:
        return None


def _index(torch: Any, device: Any) -> int:
    index = device if isinstance(device, int) or device is None else torch.device(device).index
    return int(torch.cuda.current_device() if index is None else index)


def begin(device: Any, gpu: Optional[figures.GpuMemory], resets: bool = True) -> Optional[Peak]:
    """A block begins. gpu: figures.gpu_memory(device), just read. resets: False leaves torch's peak alone, and returns None."""
    if not resets or not _state.resets:
        return None
    peak, torch = Peak(), _torch_in_use()
    with _state.lock:
        if torch is not None and gpu is not None:
            try:
                index = _index(torch, device)
                torch.cuda.reset_peak_memory_stats(index)
                for noted in [peak.noted for peak in _state.open] + [_state.hidden]:
                    noted[index] = max(noted.get(index, 0), gpu.peak or 0)
            except Exception:
                _state.resets = False
        _state.open.add(peak)
    return peak


def end(peak: Optional[Peak], device: Any, gpu: Optional[figures.GpuMemory]) -> Optional[int]:
    """Bytes: the peak of the block; of the process since its last reset, if pmtop does not reset it. gpu: read after the block."""
    before = 0
    if peak is not None:
        with _state.lock:
            _state.open.discard(peak)
        before = _of(peak.noted, device)
    return None if gpu is None or gpu.peak is None else max(gpu.peak, before)


def is_exact() -> bool:
    """Whether blocks have peaks of their own."""
    return _state.resets and _torch_in_use() is not None


def of_process(device: Any, gpu: Optional[figures.GpuMemory]) -> Optional[figures.GpuMemory]:
    """`gpu` with the peak of the whole process, whatever blocks have reset."""
    hidden = _of(_state.hidden, device) if gpu is not None and gpu.peak is not None else 0
    return gpu._replace(peak=max(gpu.peak, hidden)) if hidden else gpu  # type: ignore[union-attr, type-var]


def hidden(index: int) -> int:
    """The highest peak of this device that a block's reset has hidden; 0 if none."""
    return _state.hidden.get(index, 0)


def _of(noted: Dict[int, int], device: Any) -> int:
    torch = _torch_in_use() if noted else None
    try:
        return noted.get(_index(torch, device), 0) if torch is not None else 0
    except Exception:
        return 0
