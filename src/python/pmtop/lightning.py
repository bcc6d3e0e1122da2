"""`Trainer(callbacks=[PmtopCallback()])` is all that a training with Lightning needs, as `lightning` or as `pytorch_lightning`.

A batch reaches from the callback's on_train_batch_start to its on_train_batch_end. What lies between two of them is the phase "lightning" (other
callbacks, loggers, setting up validation) but for the time in the loader, which is the span "data", for "transfer" (batch_to_device) and "checkpoint".
These, "forward" and "zero_grad" are the actions that the trainer tells its profiler of: its start and stop are listened to while it runs.
"backward" and "optimizer" come from the callback's hooks, which both kinds of optimization call.

Sanity checking, validation, test and predict are modes. Nothing here raises into training, and nothing of it lands in a checkpoint.
"""
from __future__ import annotations

import functools
import importlib
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Optional, TypeVar

import pmtop

H = TypeVar("H", bound=Callable[..., None])

PACKAGES = {"lightning": "lightning.pytorch", "pytorch_lightning": "pytorch_lightning"}
"""What may be installed, and where its Callback is."""

STEPS = ("training_step", "validation_step", "test_step", "predict_step")
FETCHES = ("train_dataloader_next", "val_next", "test_next", "predict_next")
ACTIONS = {**dict.fromkeys(STEPS, "forward"), **dict.fromkeys(FETCHES, "data"),
           "batch_to_device": "transfer", "optimizer_zero_grad": "zero_grad", "save_checkpoint": "checkpoint"}
"""The last word of what a profiler is told, and the span that it is."""


def _guarded(hook: H) -> H:
    """What fails in a hook ends the publishing, said once on standard error, and not the training."""
    @functools.wraps(hook)
    def guarded(self: PmtopCallback, *arguments: Any, **more: Any) -> None:
        if self._is_silent:
            return
        try:
            hook(self, *arguments, **more)
        except Exception as error:
            self._is_silent = True
            self._unlisten()
            print(f"pmtop: {hook.__name__} failed ({type(error).__name__}: {error}); training goes on unwatched; please report this", file=sys.stderr)
    return guarded  # type: ignore[return-value]


@functools.lru_cache(maxsize=None)
def _class_for(cls: type, bases: tuple[type, ...]) -> type:
    return type(cls.__name__, (cls, *bases), {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "_origin": cls})


def _callback_classes() -> tuple[type, ...]:
    """Callback of each package that is imported; of each that is installed where none is yet. ImportError where there is none."""
    names = [name for name in PACKAGES.values() if sys.modules.get(name)] or [name for package, name in PACKAGES.items() if importlib.util.find_spec(package)]
    if not names:
        raise ImportError("pmtop.lightning: neither 'lightning' nor 'pytorch_lightning' is installed; install one of them, such as: pip install lightning")
    return tuple(importlib.import_module(name).Callback for name in names)


def _make(cls: type) -> Any:
    return cls.__new__(cls)


def _samples(batch: Any, depth: int = 0) -> Optional[int]:
    """Length of the first dimension of the first tensor in it; None where there is none."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    inner = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, (list, tuple)) else ()
    found = (_samples(part, depth + 1) for part in inner) if depth < 4 else ()
    return next((samples for samples in found if samples is not None), None)


def _whole(number: Any) -> int:
    """A count, 0 where it is unknown (None, -1, infinite)."""
    return int(number) if number is not None and 0 < number < math.inf else 0


class PmtopCallback:
    """name: of the run (default: PMTOP_RUN, else the class of the module). One object may serve several trainers, one after another.
    ImportError where neither package is installed."""

    _origin: Optional[type] = None
    name: Optional[str]

    def __new__(cls, *arguments: Any, **more: Any) -> PmtopCallback:
        bases = tuple(base for base in _callback_classes() if not issubclass(cls, base))
        self: PmtopCallback = object.__new__(_class_for(cls, bases) if bases else cls)
        self.name = None
        self._reset()
        return self

    def __init__(self, name: Optional[str] = None) -> None:
        self.name = name

    def _reset(self) -> None:
        self._is_silent = False
        self._is_epoch_open = False
        self._is_manual = False
        self._open: Optional[str] = None
        self._optimizer: Any = None
        self._forward_from = 0
        self._steps = 0
        self._listener: Optional[_Listener] = None
        self._optimizer_hook: Any = None

    def __reduce__(self) -> Any:
        own = {key: value for key, value in self.__dict__.items() if not key.startswith("_") and key not in ("log", "log_dict")}
        return _make, (self._origin or type(self),), own

    # -- beginning and end

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._unlisten()
        self._reset()
        self._begin(trainer, pl_module)

    @_guarded
    def _begin(self, trainer: Any, pl_module: Any) -> None:
        self._is_silent = not pmtop.init(self.name or os.environ.get("PMTOP_RUN") or type(pl_module).__name__)
        if self._is_silent:
            return
        for key, value in {
                "model": type(pl_module).__name__, "strategy": type(trainer.strategy).__name__, "precision": trainer.precision,
                "device": trainer.strategy.root_device, "devices": trainer.num_devices, "accumulation": trainer.accumulate_grad_batches,
                "RANK": trainer.global_rank, "LOCAL_RANK": trainer.local_rank, "WORLD_SIZE": trainer.world_size}.items():
            pmtop.meta(key, str(value))
        self._listen(trainer)

    def _listen(self, trainer: Any) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self._listener = _Listener(trainer.profiler, self._end_span)
        pmtop.meta("between", "lightning" if self._listener.is_on else "data")
        self._optimizer_hook = register_optimizer_step_post_hook(self._after_optimizer_step)

    def _unlisten(self) -> None:
        if self._listener:
            self._listener.remove()
        if self._optimizer_hook:
            self._optimizer_hook.remove()
        self._listener = self._optimizer_hook = None

    @_guarded
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._end_span()
        self._end_epoch()
        self._unlisten()

    @_guarded
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._end_span()
        text = str(exception).partition("\n")[0]
        pmtop.mark(f"{type(exception).__name__}: {text}" if text else type(exception).__name__)
        self._unlisten()

    # -- epochs

    @_guarded
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._is_manual = not pl_module.automatic_optimization
        self._steps = trainer.global_step
        if self._listener:
            self._listener.skipped = "training_step" if self._is_manual else ""
        pmtop.mode("train")
        self._plan(trainer)

    def _plan(self, trainer: Any) -> None:
        batches, epochs, accumulation = _whole(trainer.num_training_batches), _whole(trainer.max_epochs), max(1, trainer.accumulate_grad_batches)
        left = max(epochs - trainer.current_epoch, 0)
        if batches and trainer.max_steps >= 0 and not self._is_manual:
            steps = max(trainer.max_steps - trainer.global_step, 0)
            needed = math.ceil(steps / math.ceil(batches / accumulation))
            left = min(left, needed) if epochs else needed
            batches = min(batches, steps * accumulation)
        loader = trainer.train_dataloader
        size = _whole(getattr(loader, "batch_size", None))
        pmtop.plan(pmtop.statistics()["num_epochs"] + left if left else 0, batches, size)
        for key, value in {"batch_size": size or None, **{f"loader.{name}": getattr(loader, name, None) for name in (
                "num_workers", "prefetch_factor", "pin_memory", "persistent_workers")}}.items():
            if value is not None:
                pmtop.meta(key, str(value))

    def _begin_epoch(self, trainer: Any) -> None:
        if not self._is_epoch_open:
            self._is_epoch_open = True
            pmtop.epoch_begin(trainer.current_epoch)

    def _end_epoch(self) -> None:
        if self._is_epoch_open:
            self._is_epoch_open = False
            pmtop.epoch_end()

    @_guarded
    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._begin_epoch(trainer)

    @_guarded
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._end_epoch()

    # -- batches

    @_guarded
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        # A restart in the middle of an epoch does not tell of its beginning.
        self._begin_epoch(trainer)
        pmtop.batch_begin(batch_idx)
        self._forward_from = pmtop.now_ns() if self._is_manual else 0

    @_guarded
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._end_span()
        steps, self._steps = trainer.global_step - self._steps, trainer.global_step
        if steps > 0:
            pmtop.count("optimizer.steps", steps)
        else:
            pmtop.batch_kind("accumulate")
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        loss = float(loss) if getattr(getattr(loss, "device", None), "type", None) == "cpu" and loss.numel() == 1 else None
        # The trainer hands out the part that goes into the accumulated gradient.
        if loss is not None and not self._is_manual:
            loss *= trainer.accumulate_grad_batches
        self._end_batch(batch, loss)
        # Validation that follows the last batch stands between the epochs, as in a loop written by hand.
        if trainer.is_last_batch:
            self._end_epoch()

    def _end_batch(self, batch: Any, loss: Optional[float] = None) -> None:
        samples = _samples(batch)
        if samples is not None:
            pmtop.batch_samples(samples)
        pmtop.batch_end(loss)

    # -- phases that hooks tell of

    def _begin_span(self, name: str) -> None:
        self._end_span()
        self._open = name
        pmtop.span_begin(name)

    def _end_span(self) -> None:
        if self._open:
            self._open = self._optimizer = None
            pmtop.span_end()

    @_guarded
    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        self._end_span()
        if self._forward_from:
            pmtop.span_past("forward", self._forward_from, pmtop.now_ns())
        self._begin_span("backward")

    @_guarded
    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
        self._end_span()
        self._continue_forward()

    @_guarded
    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        self._begin_span("optimizer")
        self._optimizer = optimizer

    @_guarded
    def _after_optimizer_step(self, optimizer: Any, arguments: Any, keywords: Any) -> None:
        if optimizer is self._optimizer:
            self._end_span()
            self._continue_forward()

    def _continue_forward(self) -> None:
        if self._forward_from:
            self._forward_from = pmtop.now_ns()

    # -- other modes

    @_guarded
    def on_sanity_check_start(self, trainer: Any, pl_module: Any) -> None:
        pmtop.mode("sanity")

    @_guarded
    def on_sanity_check_end(self, trainer: Any, pl_module: Any) -> None:
        pmtop.mode("train")

    @_guarded
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        pmtop.mode("sanity" if trainer.sanity_checking else "validation")

    @_guarded
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.state.fn == "fit" and not trainer.sanity_checking:
            pmtop.mode("train")

    @_guarded
    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        pmtop.mode("test")

    @_guarded
    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        pmtop.mode("predict")

    @_guarded
    def on_validation_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        pmtop.batch_begin(batch_idx)

    @_guarded
    def on_validation_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        self._end_batch(batch)

    on_test_batch_start = on_predict_batch_start = on_validation_batch_start
    on_test_batch_end = on_predict_batch_end = on_validation_batch_end


class _Listener:
    """Makes spans of the actions that a trainer tells its profiler of, which still gets them all.

    before: called before each. skipped: an action that is none. is_on: False where this profiler cannot be listened to."""

    def __init__(self, profiler: Any, before: Callable[[], None]) -> None:
        self.profiler = profiler
        self.skipped = ""
        self._spans: dict[str, Optional[Any]] = {}
        start, stop = profiler.start, profiler.stop

        def listening_start(action: str) -> None:
            start(action)
            span = self._span(action)
            if span is not None:
                # An optimizer may call its closure again: what it did until then is a span of its own.
                before()
                span.__enter__()

        def listening_stop(action: str) -> None:
            span = self._span(action)
            if span is not None:
                span.__exit__(None, None, None)
            stop(action)

        try:
            profiler.start, profiler.stop = listening_start, listening_stop
            self.is_on = True
        except AttributeError:
            self.is_on = False

    def _span(self, action: str) -> Optional[Any]:
        try:
            return self._spans[action]
        except KeyError:
            last = action.rpartition(".")[2]
            name = None if action.startswith("[Callback]") or last == self.skipped else ACTIONS.get(last)
            span = self._spans[action] = pmtop.span(name) if name else None
            return span

    def remove(self) -> None:
        if self.is_on:
            self.is_on = False
            del self.profiler.start, self.profiler.stop
