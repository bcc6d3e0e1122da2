"""Memory snapshots of the CUDA allocator: pmtop.torch.memory_history(), and those that `pmtop snapshot PID` asks for.

torch records the history; pmtop starts it, and writes snapshots as torch.cuda.memory._dump_snapshot() does. `pmtop trace FILE` reads them.
"""
from __future__ import annotations

import os
import pickle
import socket
import sys
import time
from typing import Any, Optional

import torch

from .group import group_rank

OOM_DUMPS_MAX = 3
"""A program that catches the error and tries again may run out of memory at every step."""


class MemoryHistory:
    """The recorded history. As a context manager it ends with stop(). Nothing raises: what cannot be done is said once on standard error."""

    def __init__(self, max_entries: int, stacks: str, on_oom: bool, output_dir: Any) -> None:
        self.max_entries, self.stacks = max_entries, stacks
        self.output_dir = os.fspath(output_dir)
        self.is_recording = False
        self._oom_dumps = 0
        self._start(on_oom)

    def __enter__(self) -> MemoryHistory:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _start(self, on_oom: bool) -> None:
        global _recording
        missing = why_no_snapshot(is_first_use=True)
        if missing:
            say(f"no history is recorded: {missing}")
            return
        try:
            torch.cuda.memory._record_memory_history("all", context="alloc", stacks=self.stacks, max_entries=self.max_entries)
            self.is_recording = True
            _recording = self
            if on_oom:
                _watch_oom(self)
        except Exception as error:
            say(f"no history is recorded: {type(error).__name__}: {error}")

    def stop(self) -> None:
        """Ends the recording. torch forgets the stacks: dump() first."""
        if not self.is_recording:
            return
        self.is_recording = False
        try:
            torch.cuda.memory._record_memory_history(None)
        except Exception as error:
            say(f"the recording was not ended: {type(error).__name__}: {error}")

    def dump(self, path: Any = None) -> Optional[str]:
        """Writes a snapshot, by default HOST_PID[_rankN].TIME.snapshot.pickle in output_dir. Returns its path; None: it was not written."""
        missing = why_no_snapshot()
        try:
            if not missing:
                return write_snapshot(self.output_dir, path)
        except Exception as error:
            missing = f"{type(error).__name__}: {error}"
        say(f"no snapshot was written: {missing}")
        return None

    def _ran_out(self) -> None:
        if self.is_recording and self._oom_dumps < OOM_DUMPS_MAX:
            self._oom_dumps += 1
            path = self.dump()
            if path is not None:
                say(f"out of memory: pmtop trace {path}")


def start_history(max_entries: int, stacks: str, on_oom: bool, output_dir: Any) -> MemoryHistory:
    """Checks the arguments, which a caller may get wrong, and starts."""
    if isinstance(max_entries, bool) or not isinstance(max_entries, int):
        raise TypeError(f"max_entries must be an int, not {max_entries!r}")
    if max_entries < 1:
        raise ValueError(f"max_entries must be above 0, not {max_entries}")
    if stacks not in ("python", "all"):
        raise ValueError(f'stacks must be "python" or "all", not {stacks!r}')
    return MemoryHistory(max_entries, stacks, on_oom, output_dir)


_recording: Optional[MemoryHistory] = None
"""The newest history."""


def is_recording() -> bool:
    """Whether memory_history() records."""
    return _recording is not None and _recording.is_recording


def why_no_snapshot(is_first_use: bool = False) -> str:
    """Empty if this process can give a snapshot. is_first_use: CUDA may be used from now on."""
    if not torch.cuda.is_available():
        return "this program has no CUDA device"
    if not is_first_use and not torch.cuda.is_initialized():
        return "this program has not used CUDA yet"
    return ""


def write_snapshot(folder: str, path: Any = None) -> str:
    """Writes a whole file or none. Returns its path."""
    if path is None:
        rank = group_rank()
        suffix = f"_rank{rank[0]}" if rank is not None and rank[1] > 1 else ""
        name = f"{socket.gethostname()}_{os.getpid()}{suffix}.{time.time_ns()}.snapshot.pickle"
        path = os.path.join(folder, name)
    path = os.fspath(path)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    part = f"{path}.part"
    try:
        with open(part, "wb") as file:
            pickle.dump(torch.cuda.memory._snapshot(), file)
        os.replace(part, path)
    except BaseException:
        try:
            os.unlink(part)
        except OSError:
            pass
        raise
    return path


def say(text: str) -> None:
    try:
        sys.stderr.write(f"pmtop: memory: {text}; the program continues\n")
    except (OSError, ValueError, AttributeError):
        pass


_oom_history: Optional[MemoryHistory] = None
"""The newest history with on_oom. torch's observer cannot be removed."""


def _watch_oom(history: MemoryHistory) -> None:
    global _oom_history
    is_first, _oom_history = _oom_history is None, history
    if is_first:
        torch._C._cuda_attach_out_of_memory_observer(_observe_oom)


def _observe_oom(device: int, requested: int, allocated: int, free: int) -> None:
    if _oom_history is not None:
        _oom_history._ran_out()
