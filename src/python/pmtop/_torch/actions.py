"""The actions that a Lightning trainer reports to its profiler, as its SimpleProfiler counts them: those around others, such as run_training_epoch,
included."""
from __future__ import annotations

import time
from typing import NamedTuple, Optional


class Action(NamedTuple):
    """ratio: of the time from the first action's start to the last one's end."""

    name: str
    calls: int
    mean_s: float
    total_s: float
    ratio: float


class Actions:
    """start() and stop() are called by the trainer's thread."""

    def __init__(self) -> None:
        self._open: dict[str, float] = {}
        self._sums: dict[str, list[float]] = {}
        self._first: Optional[float] = None
        self._last = 0.0

    def start(self, name: str) -> None:
        now = time.perf_counter()
        if self._first is None:
            self._first = now
        self._open[name] = now

    def stop(self, name: str) -> None:
        began = self._open.pop(name, None)
        if began is None:
            return
        self._last = time.perf_counter()
        sums = self._sums.setdefault(name, [0, 0.0])
        sums[0] += 1
        sums[1] += self._last - began

    def rows(self) -> list[Action]:
        """The longest in total first."""
        whole = self._last - (self._first or 0.0)
        rows = [Action(name, int(calls), total / calls, total, total / whole if whole > 0 else 0.0) for name, (calls, total) in self._sums.items()]
        return sorted(rows, key=lambda row: -row.total_s)

    def table(self, limit: Optional[int] = None) -> str:
        rows = self.rows()[:limit]
        width = max([len(row.name) for row in rows] + [len("action")])
        lines = [f"{'action':<{width}}   calls     mean (s)    total (s)  percentage"]
        lines += [f"{row.name:<{width}} {row.calls:>7,} {row.mean_s:>12.6f} {row.total_s:>12.6f} {row.ratio:>9.1%}" for row in rows]
        return "\n".join(lines)
