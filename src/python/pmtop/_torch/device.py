"""Times by the GPU's own clock, losses on the GPU, the allocator's figures. Nothing here waits: a figure that is not ready is read at a later batch.

Measuring a batch costs the training thread about 0.1 ms: ten events, a copy of the loss, and reading them. Therefore a measured batch begins at
least 25 to 50 ms after the one before, which limits the overhead to 0.3 % for short steps; batches of 50 ms or more are all measured. The interval
varies, because batches may differ periodically. Other batches have no overhead here: compiled code checks `measure_at_ns`, `memory_at_ns` and
`awaits` first.
"""
from __future__ import annotations

from collections import deque
from typing import Any, Optional

import torch

from pmtop import _pmtop
from pmtop._profiling import gpu_peak

from .patch import Part

_EVENTS_MAX = 256
_LOSSES_MAX = 64
_READS_MAX = 8
_MEASURE_EVERY_NS = 50_000_000
_GOLDEN = 0.6180339887498949
_MEMORY_EVERY_NS = 50_000_000
_NEVER_NS = 2**64 - 1

_copy = torch.Tensor.copy_  # no transfer of the program

_GAUGES = (("cuda.allocated_bytes", "allocated_bytes", "current"), ("cuda.reserved_bytes", "reserved_bytes", "current"),
           ("cuda.peak_bytes", "allocated_bytes", "peak"), ("cuda.inactive_split_bytes", "inactive_split_bytes", "current"))


class Device(_pmtop.DeviceState):
    """The CUDA device of the training, once CUDA is initialised; does nothing before. Used only by the thread that trains.

    It is the current device, or the one with the most memory if the program has none on the current one (model.to(local_rank) without set_device).
    cuda: torch.cuda, or a stand-in."""

    def __init__(self, part: Part, losses: Part, memory: Part, cuda: Any = torch.cuda, memory_stats: Any = None) -> None:
        self.part, self.losses, self.memory, self.cuda = part, losses, memory, cuda
        self.memory_stats = memory_stats or getattr(torch._C, "_cuda_memoryStats", None)
        self.is_ready = False
        self.can_come = torch.version.cuda is not None or torch.version.hip is not None or cuda is not torch.cuda
        self.measures = False
        self.number = 0
        self.began: Any = None
        self.figures: list[tuple[str, Any, Any]] = []
        self.free: list[Any] = []
        self.made = 0
        self.pending: deque[tuple[int, list[tuple[str, Any, Any]]]] = deque()
        self.copies: deque[tuple[int, Any, Any]] = deque()
        self.buffers: dict[Any, list[Any]] = {}
        """Free host buffers for a loss, by dtype."""
        self.rhythm = 0.0
        self.on_times: Any = None
        """Called with the number of a measured batch and its seconds by name."""
        self.index: Optional[int] = None
        """The device's number, if it is not the current one."""

    def has_come(self) -> bool:
        """Whether CUDA is in use."""
        if not self.is_ready and self.can_come:
            try:
                self.is_ready = bool(self.cuda.is_initialized())
            except Exception as error:
                self.can_come = False
                self.part.failed(error)
        return self.is_ready

    def find(self) -> None:
        """Finds the device. If it has changed, drops the pending measurements."""
        index = self._elsewhere()
        if index == self.index:
            return
        self.index, self.memory_at_ns = index, 0
        self.began = None
        self.awaits = False
        self.figures, self.free, self.made = [], [], 0
        self.pending.clear()
        self.copies.clear()
        self.buffers.clear()

    # -- while a batch runs

    def batch_begins(self, out: Any) -> None:
        """Call after the batch began."""
        if not self.has_come():
            return
        self.began = None
        if not self.part.is_on and not self.losses.is_on:
            self.measure_at_ns = _NEVER_NS
        now = out.now_ns()
        self.measures = now >= self.measure_at_ns
        if self.measures:
            self.rhythm = (self.rhythm + _GOLDEN) % 1
            self.measure_at_ns = now + int(_MEASURE_EVERY_NS * (1 + self.rhythm) / 2)
            self.number = out.batch_number()
            self.began = self.mark()

    def mark(self) -> Optional[tuple[int, Any]]:
        """The batch and an event recorded now; None if the batch is not measured, no event is free, or a CUDA graph is being captured."""
        if not self.measures or not self.part.is_on:
            return None
        try:
            if self.cuda.is_current_stream_capturing():
                return None
            event = self._recorded()
            return None if event is None else (self.number, event)
        except Exception as error:
            self.part.failed(error)
            return None

    def note(self, name: str, begin: Optional[tuple[int, Any]]) -> None:
        """Ends the interval that began at that mark; ignores it if it began in another batch."""
        if begin is None:
            return
        number, event = begin
        end = self.mark() if number == self.number else None
        if end is None:
            self.free.append(event)
        else:
            self.figures.append((name, event, end[1]))

    def loss(self, value: Any) -> None:
        """Copies the batch's loss, a tensor of one element on a device, without waiting for it."""
        if not self.measures or not self.losses.is_on:
            return
        try:
            if self.cuda.is_current_stream_capturing():
                return
            value = value.detach()
            free = self._free_buffers(value.dtype)
            event = self._recorded_after(lambda: _copy(free[-1], value.reshape(()), non_blocking=True)) if free else None
            if event is not None:
                self.copies.append((self.number, event, free.pop()))
        except Exception as error:
            self.losses.failed(error)

    def batch_ends(self, out: Any) -> None:
        """Call before the batch ends."""
        if self.measures:
            if self.began is not None:
                self.note("gpu.batch_s", self.began)
            if self.figures:
                self.pending.append((self.number, self.figures))
                self.figures = []
            self.measures = False
            self.awaits = bool(self.pending or self.copies)
        if self.is_ready:
            self._publish_memory(out)

    # -- later

    def read(self, out: Any) -> None:
        """Publishes the figures of earlier batches that are ready."""
        if not self.awaits:
            return
        try:
            for _ in range(_READS_MAX):
                if not self.pending or not self.pending[0][1][-1][2].query():
                    break
                self._publish_times(out, *self.pending.popleft())
        except Exception as error:
            self.pending.clear()
            self.part.failed(error)
        try:
            for _ in range(_READS_MAX):
                if not self.copies or not self.copies[0][1].query():
                    break
                number, event, buffer = self.copies.popleft()
                out.batch_figure(number, "loss", float(buffer))
                self.free.append(event)
                self.buffers[buffer.dtype].append(buffer)
        except Exception as error:
            self.copies.clear()
            self.losses.failed(error)
        self.awaits = bool(self.pending or self.copies)

    def name(self) -> str:
        """The driver's name for the device."""
        try:
            return str(self.cuda.get_device_name(self._number()))
        except Exception:
            return "cuda"

    def uuid(self) -> Optional[str]:
        """The UUID without the prefix GPU or MIG; None if this torch does not have it."""
        try:
            return str(self.cuda.get_device_properties(self._number()).uuid)
        except Exception:
            return None

    def _number(self) -> int:
        return int(self.cuda.current_device() if self.index is None else self.index)

    def _elsewhere(self) -> Optional[int]:
        try:
            if self.memory_stats is None or self._reserved(self.cuda.current_device()):
                return None
            held, most = max((self._reserved(index), -index) for index in range(self.cuda.device_count()))
            return -most if held else None
        except Exception:
            return self.index

    def _reserved(self, index: int) -> int:
        return int(self.memory_stats(index)["reserved_bytes"]["all"]["current"])

    def _recorded(self) -> Any:
        if self.free:
            event = self.free.pop()
        elif self.made < _EVENTS_MAX:
            self.made += 1
            event = self.cuda.Event(enable_timing=True)
        else:
            return None
        if self.index is None:
            event.record()
        else:
            event.record(self.cuda.current_stream(self.index))
        return event

    def _recorded_after(self, action: Any) -> Any:
        if not self.free and self.made >= _EVENTS_MAX:
            return None
        action()
        return self._recorded()

    def _free_buffers(self, dtype: Any) -> list[Any]:
        if dtype not in self.buffers:
            self.buffers[dtype] = list(torch.empty(_LOSSES_MAX, dtype=dtype, pin_memory=self.cuda is torch.cuda).unbind())
        return self.buffers[dtype]

    def _publish_times(self, out: Any, number: int, figures: list[tuple[str, Any, Any]]) -> None:
        sums: dict[str, float] = {}
        for name, begin, end in figures:
            sums[name] = sums.get(name, 0.0) + begin.elapsed_time(end) / 1e3
            self.free += (begin, end)
        for name, seconds in sums.items():
            out.batch_figure(number, name, seconds)
        if self.on_times is not None:
            self.on_times(number, sums)

    def _publish_memory(self, out: Any) -> None:
        if not self.memory.is_on:
            self.memory_at_ns = _NEVER_NS
            return
        now = out.now_ns()
        if now < self.memory_at_ns:
            return
        self.memory_at_ns = now + _MEMORY_EVERY_NS
        try:
            number = self._number()
            stats, hidden = self.memory_stats(number), gpu_peak.hidden(number)
            for name, kind, which in _GAUGES:
                if kind in stats:
                    value = stats[kind]["all"][which]
                    out.gauge(name, float(max(value, hidden) if which == "peak" else value))
        except Exception as error:
            self.memory.failed(error)
