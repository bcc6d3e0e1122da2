"""Runs torch.profiler on the schedule of a Profile and writes its traces, as torch's own TensorBoard handler names them.

A profiler exists only from its warm-up to its trace: other steps are as fast as without one. It starts and stops at the end of a batch, in the
thread that trains. The batches in which it runs, starts or stops have the kind "profile", and its own work is the span "profile".
"""
from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Optional

import torch

from pmtop import _pmtop

from .._profiling.settings import Profile
from .._run import facts, run_name
from .group import group_rank
from .patch import Part, Patches

KIND = "profile"
CHROME_TRACE = "chrome_trace.json"
"""The newest trace of rank 0, by the name of guide 004."""


class ProfileRun:
    """settings: the schedule. ended: called once when no further step is profiled. Errors end profiling, with one line on standard error."""

    def __init__(self, settings: Profile, part: Part, out: Any, ended: Callable[[], None]) -> None:
        self.settings, self.part, self.out = settings, part, out
        self.run = settings.run or run_name()
        self._ended = ended
        self._span = out.span(KIND)
        self._patches = Patches()
        self._profiler: Any = None
        self._thread = 0
        self._is_ours = False
        self._marks_next = False
        self._done = 0
        self._traces = 0
        self._skipped = 0
        self.steps_taken = 0
        """Steps of the trace that runs, without its warm-up."""
        self._watch_program()

    # -- what the training does

    def batch_ends(self, trains: bool) -> None:
        """Call before a batch ends. trains: it is a training step."""
        if not self.part.is_on:
            return
        try:
            is_profiled, self._marks_next = self._profiler is not None or self._marks_next, False
            if trains and not self.settings.epochs:
                is_profiled |= self._unit_ends()
            if is_profiled:
                self.out.batch_kind(KIND)
            if self._profiler is None and self.part.is_on and self.settings.is_over(self._done):
                self._finish()
        except Exception as error:
            self._fail(error)

    def epoch_ends(self) -> None:
        """Call after an epoch."""
        if not self.part.is_on or not self.settings.epochs:
            return
        try:
            # The time until the next batch contains the start or the trace.
            self._marks_next = self._unit_ends()
        except Exception as error:
            self._fail(error)

    def close(self) -> None:
        """Training ends: an unfinished trace is written."""
        if not self.part.is_on:
            return
        try:
            if self._profiler is not None:
                self._stop()
            if not self._traces and not self._skipped:
                self._say(f"no trace was written: training had {self._units(self._done)}, and the first trace is complete after {self._first()}")
        except Exception as error:
            self._fail(error)
        self._finish()

    # -- the schedule

    def _units(self, count: int) -> str:
        return f"{count} {'epoch' if self.settings.epochs else 'step'}{'' if count == 1 else 's'}"

    def _first(self) -> int:
        return (self.settings.wait or 1) + self.settings.warmup + self.settings.active

    def _unit_ends(self) -> bool:
        """A step or an epoch ends. True: the profiler was started or stopped, or runs."""
        settings, step = self.settings, self._done
        self._done += 1
        was_running = self._profiler is not None
        is_last = settings.actions(step)[1]
        if was_running:
            if self._thread != threading.get_ident():
                raise RuntimeError("training continued in another thread")
            with self._span:
                self._step(is_last)
        if self._profiler is None and settings.actions(self._done)[0] and (is_last or not settings.actions(step)[0]):
            with self._span:
                self._start()
        return was_running or self._profiler is not None

    def _start(self) -> None:
        if self._is_busy():
            self._give_way()
            return
        settings = self.settings
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.device_count():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        profiler = torch.profiler.profile(
            activities=activities, schedule=torch.profiler.schedule(wait=0, warmup=settings.warmup, active=settings.active, repeat=1),
            on_trace_ready=self._write, record_shapes=settings.record_shapes, profile_memory=settings.profile_memory, with_stack=settings.with_stack,
            with_flops=settings.with_flops)
        self._thread = threading.get_ident()
        self._profiler = profiler
        self._as_ours(profiler.start)

    def _step(self, is_last: bool) -> None:
        self._as_ours(self._profiler.step)
        self.steps_taken = max(0, self._profiler.step_num - self.settings.warmup)
        if is_last:
            self._stop()

    def _stop(self) -> None:
        profiler, self._profiler = self._profiler, None
        self._as_ours(profiler.stop)

    def _as_ours(self, call: Callable[[], None]) -> None:
        self._is_ours = True
        try:
            call()
        finally:
            self._is_ours = False

    def _finish(self) -> None:
        self.part.is_on = False
        self._patches.restore()
        self._ended()

    def _fail(self, error: BaseException) -> None:
        self._say(f"no further trace is written: {type(error).__name__}: {error}; training continues")
        self._abandon()

    def _abandon(self) -> None:
        """Ends the profiler without a trace."""
        profiler, self._profiler = self._profiler, None
        self._finish()
        if profiler is not None:
            profiler.on_trace_ready = None
            try:
                self._as_ours(profiler.stop)
            except Exception as error:
                self._say(f"torch.profiler did not stop: {error}")

    # -- the program's own profiler

    @staticmethod
    def _is_busy() -> bool:
        """Whether a profiler records in this thread, or one that began before pmtop came is in its warm-up, which torch does not report."""
        if getattr(torch.autograd, "_profiler_enabled", bool)():
            return True
        found = _pmtop.instances(gc.get_objects(), {torch.profiler.profile})
        return any(getattr(profiler, "current_action", None) == torch.profiler.ProfilerAction.WARMUP for profiler in found)

    def _give_way(self) -> None:
        self._skipped += 1
        if self._profiler is None:
            self._say("no trace is written: the program's own torch.profiler is running")
            self._finish()
        else:
            self._say("the trace was given up: the program starts its own torch.profiler")
            self._abandon()

    def _watch_program(self) -> None:
        """A profiler that the program starts takes the place of pmtop's: torch allows one, and a second one breaks both."""
        kind = torch.autograd.profiler.profile
        original = getattr(kind, "_prepare_trace", None)
        if original is None:
            return

        def _prepare_trace(profile: Any, *args: Any, **kwargs: Any) -> Any:
            if self.part.is_on and not self._is_ours:
                self._give_way()
            return original(profile, *args, **kwargs)

        self._patches.set(kind, "_prepare_trace", _prepare_trace)

    # -- the trace

    def _write(self, profiler: Any) -> None:
        folder = self._folder()
        os.makedirs(folder, exist_ok=True)
        rank = _rank()
        worker = f"{socket.gethostname()}_{os.getpid()}" + ("" if rank is None else f"_rank{rank}")
        path = os.path.join(folder, f"{worker}.{time.time_ns()}.pt.trace.json")
        profiler.export_chrome_trace(path)
        self._traces += 1
        self._wrote(path, rank)
        self.out.mark(f"trace {os.path.basename(path)}")

    def _folder(self) -> str:
        return os.path.join(os.fspath(self.settings.output_dir), _file_name(self.run))

    def _wrote(self, path: str, rank: Optional[int]) -> None:
        if not rank:
            _link(path, os.path.join(self._folder(), CHROME_TRACE))
        self._say(f"trace of {self._units(self.settings.active)}: {path}")

    def _say(self, text: str) -> None:
        try:
            sys.stderr.write(f"pmtop: profile: {text}\n")
        except (OSError, ValueError, AttributeError):
            pass


def _rank() -> Optional[int]:
    """This process's rank; None if it is the only one."""
    rank = group_rank()
    if rank is not None:
        return rank[0] if rank[1] > 1 else None
    known = facts()
    return int(known.get("RANK", "0")) if known.get("WORLD_SIZE", "1") != "1" else None


def _file_name(run: str) -> str:
    return run.replace(os.sep, "_").replace("\0", "_").lstrip(".") or "run"


def _link(path: str, name: str) -> None:
    """Gives a file another name beside it; replaces what has that name."""
    part = f"{name}.{os.getpid()}"
    try:
        os.link(path, part)
    except OSError:
        os.symlink(os.path.basename(path), part)
    os.replace(part, name)
