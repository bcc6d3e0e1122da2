"""PmtopCallback(profile_batch=(10, 12)): a trace of these training batches, as keras.callbacks.TensorBoard counts them: from 1, the last included.

On torch it is torch.profiler's, on jax jax.profiler's, on tensorflow tf.profiler's. The batches have the kind "profile", which pmtop does not flag.
"""
from __future__ import annotations

import glob
import os
import sys
from typing import Any, Callable, Optional, Tuple, Union

import pmtop

from ._profiling.settings import Profile
from ._run import run_name

KIND = "profile"

ProfileBatch = Union[int, str, Tuple[int, int]]


def parse(value: Any) -> Optional[Tuple[int, int]]:
    """10, (10, 12) or "10,12": the first and the last batch; 0: None. TypeError or ValueError for anything else."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, (tuple, list)) else [value]
    try:
        numbers = [int(part) for part in parts if not isinstance(part, (bool, float))]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != len(parts) or len(numbers) not in (1, 2):
        raise TypeError(f"profile_batch: {value!r} is neither a batch nor a pair of batches, such as (10, 12)")
    first, last = numbers[0], numbers[-1]
    if first == last == 0:
        return None
    if not 1 <= first <= last:
        raise ValueError(f"profile_batch: {value!r} is no range of batches that count from 1")
    return first, last


def say(text: str) -> None:
    try:
        sys.stderr.write(f"pmtop: profile: {text}\n")
    except (OSError, ValueError, AttributeError):
        pass


class BatchTrace:
    """One trace per fit(). An error ends it, with one line on standard error."""

    def __init__(self, batches: Tuple[int, int], output_dir: Any, run: Optional[str], begin: Callable[[str], None], end: Callable[[], None]) -> None:
        self.first, self.last = batches
        self.folder = os.path.join(os.fspath(output_dir), (run or run_name()).replace(os.sep, "_").lstrip(".") or "run")
        self._begin, self._end = begin, end
        self._count = 0
        self._runs = False

    def batch_begins(self) -> None:
        self._count += 1
        if self._count == self.first:
            self._runs = self._call(self._begin, self.folder)

    def batch_ends(self) -> None:
        """Call before the batch ends."""
        if not self._runs:
            return
        pmtop.batch_kind(KIND)
        if self._count >= self.last:
            self.close()

    def close(self) -> None:
        """Training may end before the last batch."""
        if not self._runs:
            return
        self._runs = False
        with pmtop.span(KIND):
            is_written = self._call(self._end)
        found = glob.glob(os.path.join(glob.escape(self.folder), "**", "*.trace.json.gz"), recursive=True)
        if is_written:
            say(f"trace of batches {self.first} to {min(self.last, self._count)}: {max(found, key=os.path.getmtime) if found else self.folder}")

    @staticmethod
    def _call(function: Callable[..., Any], *arguments: Any) -> bool:
        try:
            function(*arguments)
        except Exception as error:
            say(f"no trace is written: {type(error).__name__}: {error}; training continues")
            return False
        return True


def on_jax(batches: Tuple[int, int], output_dir: Any, run: Optional[str]) -> BatchTrace:
    import jax

    return BatchTrace(batches, output_dir, run, jax.profiler.start_trace, jax.profiler.stop_trace)


def on_tensorflow(batches: Tuple[int, int], output_dir: Any, run: Optional[str]) -> BatchTrace:
    import tensorflow

    profiler = tensorflow.profiler.experimental
    return BatchTrace(batches, output_dir, run, profiler.start, profiler.stop)


def schedule(batches: Tuple[int, int], output_dir: Any, run: Optional[str]) -> Profile:
    """For torch.profiler, with one batch before as its warm-up. The first batch of a run is never profiled."""
    first, last = max(batches[0], 2), max(batches[1], 2)
    warmup = 1 if first > 2 else 0
    return Profile(wait=first - 1 - warmup, warmup=warmup, active=last - first + 1, record_shapes=True, output_dir=output_dir, run=run)
