"""Instruments PyTorch: `import pmtop.torch; pmtop.torch.instrument()`, once, before training.

From then on every iteration over a DataLoader is a batch, and every pass over the training loader is an epoch, unless the program begins a pass where
the one before has no batch left (except StopIteration), or asks a loader without a length by next(): then, as in a loop without a DataLoader, in
which a batch is what lies between optimizer steps, no epochs are published, and pmtop shows those of the program's own loop. Forward, criterion (the
loss modules of torch.nn), backward, optimizer, zero_grad and torch.save are spans, as are copies to a device, waits for it, and the program's own
blocks; a forward without gradients within a training step, such as a teacher's, is the span "inference". Validation is recognised by disabled
gradients or a model in evaluation mode. Results do not change, no call waits for a device, and models and checkpoints contain nothing of pmtop. An
error of pmtop switches off only one part, with a line on standard error.
A Trainer of transformers adds its plan and what it logs (pmtop.transformers).

Limits: of two loaders in the same loop the first counts as the main one until it ends; a break out of a loop over a loader with persistent workers is
noticed only when the next pass begins; a function that torch.compile made of forward and backward has no phases; without a DataLoader, what an
evaluation between two steps does beside its forwards (the phase "inference") is the phase "data", and an optimizer's step that torch.compile
compiled is no batch.
"""
from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Optional

import torch as _torch
from torch.utils.data import DataLoader as _DataLoader
from torch.utils.data import dataloader as _dataloader

import pmtop as _pmtop

from . import _workers
from ._profiling.settings import Profile
from ._torch.batches import Loop
from ._torch.device import Device
from ._torch.graphs import Graphs
from ._torch.group import RankFacts
from ._torch.memory import MemoryHistory, is_recording, start_history
from ._torch.modules import ForwardTimes, Optimised
from ._torch.on_request import VARIABLE as _LAUNCH, Requests
from ._torch.patch import Here, Part, Patches
from ._torch.profile import ProfileRun
from ._torch.phases import Backward, Optimizers, patch_save, patch_scaler_step, patch_zero_grad
from ._torch.ranges import Ranges
from ._torch.span_clock import SpanClock
from ._torch.transfers import Transfers

__all__ = ["Instrumentation", "MemoryHistory", "Profile", "instrument", "memory_history", "paused"]

_here = Here()
_current: Optional[Instrumentation] = None
_knows_process = False

_PARTS = {"batches": "batches", "forward": "forward times", "backward": "backward times", "optimizer": "optimizer times", "zero_grad": "zero_grad times",
          "loss": "losses", "device": "device times", "memory": "device memory figures", "sync": "copies and waits for the device", "checkpoints": "checkpoints",
          "ranges": "the program's own ranges",
          "gc": "garbage collections", "workers": "DataLoader workers", "profile": "traces",
          "profile_on_request": "requests for traces"}


class Instrumentation:
    """The installed instrumentation. As a context manager it ends with close()."""

    def __init__(self, parts: dict[str, Part], out: Any, epochs: int = 0, sync: Optional[bool] = None, device: Optional[Device] = None,
                 profile: Optional[Profile] = None, modules: int = 0) -> None:
        self.parts = parts
        self._modules = modules
        self._out = out
        self._patches = Patches()
        self._sync = sync
        self._optimised = Optimised()
        self._device = device or Device(parts["device"], parts["loss"], parts["memory"])
        self._loop = Loop(out, self._optimised, self._device, epochs)
        self._optimizers: Optional[Optimizers] = None
        self._entered = 0
        self._watches_gc = self._has_workers = False
        self._trainers: Any = None
        self._span_clock: Optional[SpanClock] = None
        self._rank = RankFacts(self._loop)
        self.is_open = True
        self.is_forked = self.is_waiting = False
        self.may_listen = parts["profile_on_request"].is_on
        if profile is not None and parts["profile"].is_on:
            self._install_profile(profile)
        if parts["profile_on_request"].is_on:
            self.take_requests()
        for install in (self._install_batches, self._install_phases, self._install_rest):
            install()

    def __enter__(self) -> Instrumentation:
        self._entered += 1
        return self

    def __exit__(self, *exception: object) -> None:
        self._entered -= 1
        if self._entered <= 0:
            self.close()

    def close(self) -> None:
        """Ends open batches and epochs, and restores everything that was replaced. instrument() may be called again afterwards."""
        global _current
        if not self.is_open:
            return
        self.is_open = False
        self._patches.restore()
        if self._optimizers is not None:
            self._optimizers.close()
        if self._span_clock is not None:
            self._span_clock.remove()
        if self._watches_gc:
            _pmtop.unwatch_gc()
        if self._has_workers:
            _workers.remove()
        try:
            if not self.is_forked:
                self._loop.stop()
                if self._loop.profile is not None:
                    self._loop.profile.close()
        except Exception as error:
            self.parts["batches"].failed(error)
        self.end_requests()
        self.silence()
        if _current is self:
            _current = None

    def take_requests(self) -> None:
        """Takes requests for traces and snapshots from now on."""
        part = self.parts["profile_on_request"]
        if self._loop.requests is None and not self.is_forked and any(one.is_on for one in self.parts.values()):
            part.is_on = True
            self._loop.requests = Requests(part, self._out)
            self._loop.watches_end = True

    def end_requests(self) -> None:
        """Takes no further requests for traces."""
        requests, self._loop.requests = self._loop.requests, None
        if requests is not None and self.is_forked:
            requests.forget()
        elif requests is not None:
            requests.close()

    def silence(self) -> None:
        """Switches every part off."""
        for part in self.parts.values():
            part.is_on = False

    def _install_profile(self, settings: Profile) -> None:
        loop, out = self._loop, self._out

        def ended() -> None:
            loop.watches_end = loop.requests is not None

        loop.profile = profile = ProfileRun(settings, self.parts["profile"], out, ended)
        loop.watches_end = True
        if settings.epochs:
            epoch_end = out.epoch_end

            def epoch_end_profiled() -> None:
                epoch_end()
                profile.epoch_ends()

            out.epoch_end = epoch_end_profiled

    def _install_batches(self) -> None:
        loop, part = self._loop, self.parts["batches"]
        if not part.is_on:
            return
        loop.publish_fact("between", "data")
        base = _dataloader._BaseDataLoaderIter
        self._patches.set(_DataLoader, "__iter__", self._iter(_DataLoader.__iter__, loop, part))
        self._patches.set(base, "__init__", self._init(base.__init__, loop, part))
        self._patches.set(base, "__next__", self._next(base.__next__, loop, part))
        workers = _dataloader._MultiProcessingDataLoaderIter
        self._find_trainers()
        if "__del__" in vars(workers):
            self._patches.set(workers, "__del__", self._del(vars(workers)["__del__"], loop, part))

    def _find_trainers(self) -> None:
        """Instruments the trainers of transformers once it has been imported."""
        if self._trainers is None and "transformers.trainer_callback" in sys.modules:
            from .transformers import Trainers

            self.parts["trainers"] = Part("the figures of transformers' Trainer", self.parts["batches"].is_on)
            self._trainers = Trainers(self._patches, self.parts["trainers"])
        if self._trainers is not None:
            self._trainers.install()

    def _install_phases(self) -> None:
        parts, loop, patches, device = self.parts, self._loop, self._patches, self._device
        if parts["forward"].is_on:
            forwards = ForwardTimes(patches, parts["forward"], loop, self._modules)
            loop.forwards = forwards if parts["forward"].is_on else None
            loop.times_forwards = parts["forward"].is_on
        if parts["backward"].is_on:
            Backward(patches, parts["backward"], loop, device, parts["loss"])
        if parts["optimizer"].is_on:
            self._optimizers = Optimizers(parts["optimizer"], _here, loop, device, self._optimised)
            patch_scaler_step(patches, parts["optimizer"], _here, loop)
            loop.count_steps((parts["batches"], parts["optimizer"]), self._publish_device)
            if parts["batches"].is_on:
                Graphs(patches, parts["batches"], _here, loop)
        if parts["zero_grad"].is_on:
            patch_zero_grad(patches, parts["zero_grad"], loop)

    def _install_rest(self) -> None:
        parts, out = self.parts, self._out
        if parts["checkpoints"].is_on:
            patch_save(self._patches, parts["checkpoints"], _here, out)
        if self._sync:
            self._install_waits()
        if parts["device"].is_on and self._device.can_come:
            self._span_clock = SpanClock(self._device, self._loop)
            self._span_clock.install()
        if parts["ranges"].is_on:
            Ranges(self._patches, parts["ranges"], _here, out)
        if parts["gc"].is_on:
            _pmtop.watch_gc()
            self._watches_gc = True
        if parts["workers"].is_on:
            _workers.install()
            self._has_workers = True
        if any(part.is_on for part in parts.values()):
            self._loop.publish_fact("framework", f"torch {_torch.__version__.partition('+')[0]}")
            self._publish_device()

    def _install_waits(self) -> None:
        Transfers(self.parts["sync"], _here, self._loop).install(self._patches)

    def _publish_device(self) -> None:
        """Publishes the rank once it is known, the device once CUDA is in use, and starts to measure copies and waits for it."""
        self._rank.publish()
        if not self._device.has_come():
            self._loop.publish_fact("device", "cpu")
            return
        self._device.find()
        self._loop.publish_fact("device", self._device.name())
        uuid = self._device.uuid()
        if uuid:
            self._loop.publish_fact("gpu.uuid", uuid)
        if self._sync is None and self.parts["sync"].is_on:
            self._sync = True
            self._install_waits()

    def _iter(self, original: Any, loop: Loop, part: Part) -> Any:
        @functools.wraps(original)
        def __iter__(loader: Any) -> Any:
            iterator = original(loader)
            if part.is_on and not _here.paused:
                try:
                    if self._optimizers is not None:
                        self._optimizers.repair()
                    self._find_trainers()
                    self._rank.publish()
                    loop.pass_begins(loader, iterator)
                    loop.publish_fact("between", "data")
                    if self._device.can_come:
                        self._publish_device()
                except Exception as error:
                    part.failed(error)
            return iterator

        return __iter__

    def _init(self, original: Any, loop: Loop, part: Part) -> Any:
        @functools.wraps(original)
        def __init__(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            original(iterator, loader, *args, **kwargs)
            if part.is_on and not _here.paused:
                try:
                    loop.iterator_is_made(loader, iterator)
                except Exception as error:
                    part.failed(error)

        return __init__

    def _next(self, original: Any, loop: Loop, part: Part) -> Any:
        passes = loop.passes
        data_span = loop.out.span("data")

        def unknown(iterator: Any) -> Any:
            try:
                return loop.unknown_requested(iterator)
            except Exception as error:
                part.failed(error)
                return None

        def turn_slow(iterator: Any) -> Any:
            now = passes.get(id(iterator))
            if now is None:
                now = unknown(iterator)
            if now is None:
                return original(iterator)
            is_beside = False
            inside = _here.inside
            try:
                if _here.steps and self._optimizers is not None:
                    self._optimizers.repair()
                is_beside = loop.batch_requested(now)
            except Exception as error:
                part.failed(error)
            _here.inside = 1
            try:
                if is_beside:
                    with data_span:
                        data = original(iterator)
                else:
                    data = original(iterator)
            except StopIteration:
                try:
                    loop.pass_ends(now)
                except Exception as error:
                    part.failed(error)
                raise
            finally:
                _here.inside = inside
            try:
                loop.batch_returned(now, data)
            except Exception as error:
                part.failed(error)
            return data

        turn = _pmtop._pmtop.Hook(loop, part, data_span, original, turn_slow, ()).turn

        @functools.wraps(original)
        def __next__(iterator: Any) -> Any:
            return turn(iterator)

        return __next__

    def _del(self, original: Any, loop: Loop, part: Part) -> Any:
        @functools.wraps(original)
        def __del__(iterator: Any) -> None:
            # Ends the batch first: shutting down the workers is no part of it.
            now = loop.passes.get(id(iterator))
            if now is not None and part.is_on:
                try:
                    loop.pass_ends(now, True)
                except Exception as error:
                    part.failed(error)
            original(iterator)

        return __del__


_CALLS = ("plan", "meta", "mode", "batch_samples", "batch_kind", "batch_figure", "batch_number",
          "span", "span_begin", "span_end", "now_ns", "gauge", "count", "mark")
_AUTOMATIC = ("epoch_begin", "epoch_end", "batch_begin", "batch_end")


def _publisher(cpu_memory: bool = False) -> SimpleNamespace:
    """The calls of pmtop. Those for batches and epochs do nothing if the script publishes its own. cpu_memory: spans measure it."""
    calls = {name: getattr(_pmtop, name) for name in _CALLS}
    calls.update({name: getattr(_pmtop._pmtop, f"auto_{name}") for name in _AUTOMATIC})
    if cpu_memory:
        calls["span"] = functools.partial(_pmtop.span, memory=True)
    return SimpleNamespace(**calls)


def instrument(*, epochs: int = 0, batches: bool = True, forward: bool = True, backward: bool = True, optimizer: bool = True, zero_grad: bool = True,
               loss: bool = True, device: bool = True, memory: bool = True, sync: Optional[bool] = None, checkpoints: bool = True,
               ranges: bool = True, gc: bool = True, workers: bool = True, modules: int = 0, cpu_memory: bool = False, profile: Any = None,
               profile_on_request: Optional[bool] = None) -> Instrumentation:
    """Publishes all training loops of this process from now on. A second call changes nothing and returns the first result.

    epochs: the planned number, 0 if unknown. The other arguments switch parts off: batches (with epochs, validation, the loaders' facts), spans of
    forward, backward, optimizer, zero_grad and torch.save (checkpoints), the loss, the device's own times and its memory, the program's own blocks
    (ranges: torch.profiler.record_function, torch.cuda.nvtx), garbage collections, DataLoader workers (each publishes its own region).
    sync: spans of copies between devices ("transfer") and of calls that wait for one ("sync": .item(), .cpu(), bool(tensor) and the like), with the
    calling line; None: as soon as CUDA is in use.

    modules: times of the submodules that forward calls, so many levels deep, as spans within it, such as "encoder" and "encoder.layers.0". By the
    CPU's clock: on a GPU these are the times of the launches. torch.compile leaves none.

    cpu_memory: how much the process's resident set grows in each span, which costs about 2 µs for each.

    profile: when torch.profiler runs and where its traces go: a pmtop.torch.Profile, True for its defaults, or a mapping of its arguments, also with
    the names of guide 004, or a configuration with such a section "profiling". Raises TypeError or ValueError for a wrong one.

    profile_on_request: `pmtop profile PID` may ask for a trace of the next steps, and `pmtop snapshot PID` for a memory snapshot. Opens a socket for
    this user alone, at which the program looks at the end of a batch, at most ten times a second. None: if `pmtop -- COMMAND` has started the program,
    or memory_history() records.

    The loss of a batch is the value on which its last backward was called. Does nothing if nothing is published (pmtop.is_enabled()). In a
    spawned child that imports the script's module it waits for the child's first loop over a loader, which DataLoader workers do not have.
    """
    global _current
    settings = Profile.of(profile)
    if _current is not None and not _current.is_forked and not (_current.is_waiting and not _pmtop._is_importing_script()):
        return _current
    if _current is not None:
        _current.close()
    chosen = {"batches": batches, "forward": forward, "backward": backward, "optimizer": optimizer, "zero_grad": zero_grad, "loss": loss,
             "device": device, "memory": memory, "sync": sync is not False, "checkpoints": checkpoints, "ranges": ranges, "gc": gc, "workers": workers,
             "profile": settings is not None,
             "profile_on_request": _LAUNCH in os.environ or is_recording() if profile_on_request is None else profile_on_request}
    if _pmtop._is_importing_script():
        _current = _wait_for_loop(chosen, epochs, {"sync": sync, "profile": settings, "modules": modules, "cpu_memory": cpu_memory})
        return _current
    is_enabled = _pmtop.init()
    parts = {name: Part(_PARTS[name], is_enabled and is_on) for name, is_on in chosen.items()}
    _current = Instrumentation(parts, _publisher(cpu_memory), epochs, sync and is_enabled, profile=settings, modules=modules)
    _current.may_listen = profile_on_request is not False
    _watch_process()
    return _current


def _wait_for_loop(chosen: dict[str, bool], epochs: int, as_given: dict[str, Any]) -> Instrumentation:
    waiting = Instrumentation({name: Part(_PARTS[name], False) for name in chosen}, _publisher(), epochs)
    waiting.is_waiting = True
    original = _DataLoader.__iter__

    @functools.wraps(original)
    def __iter__(loader: Any) -> Any:
        if waiting.is_open:
            waiting.close()
            instrument(epochs=epochs, **{**chosen, **as_given})
        return _DataLoader.__iter__(loader)

    waiting._patches.set(_DataLoader, "__iter__", __iter__)
    return waiting


def memory_history(max_entries: int = 100_000, stacks: str = "python", *, on_oom: bool = False, output_dir: Any = ".") -> MemoryHistory:
    """Records the history of CUDA memory from now on, with the stack of each allocation; dump() writes a snapshot for `pmtop trace`, stop() ends it.

    A pmtop that watches this program asks for a snapshot by itself when GPU memory leaks or is 95 % full, at most 3 and one in 10 minutes, if
    instrument() is in use: both together open the socket of profile_on_request.

    max_entries: older events are dropped. stacks: "python", or "all" with those of C++, which takes longer. on_oom: when memory runs out, a snapshot is
    written (at most 3). output_dir: of snapshots without a path. Without CUDA it does nothing, and says so. Raises TypeError or ValueError for a wrong
    argument. torch.cuda.memory._record_memory_history records: a program calls one of both."""
    history = start_history(max_entries, stacks, on_oom, output_dir)
    if history.is_recording and _current is not None and _current.may_listen:
        _current.take_requests()
    return history


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Publishes nothing of what this thread does inside. Loops over loaders that began outside continue afterwards."""
    inside = _here.inside
    _here.inside = 1
    _here.paused += 1
    try:
        yield
    finally:
        _here.paused -= 1
        _here.inside = inside


def _watch_process() -> None:
    global _knows_process
    if not _knows_process:
        _knows_process = True
        os.register_at_fork(after_in_child=_silence_child)
        atexit.register(_end_last_batch)


def _end_last_batch() -> None:
    """A loop that calls next() itself may leave its last batch open. After an error it stays unfinished."""
    if _current is None or _current.is_forked:
        return
    if hasattr(sys, "last_value"):
        _current.end_requests()
    else:
        _current.close()


def _silence_child() -> None:
    if _current is not None:
        _current.is_forked = True
        _current.end_requests()
        _current.silence()
