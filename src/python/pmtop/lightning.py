"""Instruments Lightning: `Trainer(callbacks=[PmtopCallback()])`, for `lightning` and for `pytorch_lightning`; or `pmtop.lightning.instrument()`, once,
for every Trainer that has no PmtopCallback.

A batch lasts from the callback's on_train_batch_start to its on_train_batch_end. The time between two batches is the phase "lightning"
(setting up validation and the like), except for the spans "data", the time in the loader, "transfer", the time in batch_to_device, and "hooks", in
which each hook of another callback or of the module is a span of its own ("EarlyStopping.on_train_epoch_end"), as is each logger
("CSVLogger"). These spans, "forward" (training_step, validation_step, ...), "clip" and "checkpoint" are actions that the trainer reports to
its profiler; the callback wraps the profiler's start and stop meanwhile. Everything else, such as backward, device times and workers, comes
from pmtop.torch, whose own batches and epochs are switched off meanwhile. With manual optimization training_step contains everything, so
"forward" is then the calls of modules, as in pmtop.torch.

Sanity checking, validation, test and predict are modes. The callback never raises into training, and stores nothing in a checkpoint.
"""
from __future__ import annotations

import functools
import importlib
import importlib.util
import math
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Optional, Union

from torch import Tensor
from torch.utils.data import DataLoader

import pmtop

from . import torch
from ._callbacks import class_for, guarded
from ._torch.actions import Actions
from ._torch.patch import FORWARD
from ._torch.data import LoaderFacts
from ._torch.data import _size as size_of
from ._torch.precision import with_tf32
from .torch import _here as here

PACKAGES = {"lightning": "lightning.pytorch", "pytorch_lightning": "pytorch_lightning"}
"""The supported packages, and the modules of their Callback."""

ACTIONS = {"train_dataloader_next": "data", "val_next": "data", "test_next": "data", "predict_next": "data", "batch_to_device": "transfer",
           "training_step": "forward", "validation_step": "forward", "test_step": "forward", "predict_step": "forward",
           "configure_gradient_clipping": "clip", "save_checkpoint": "checkpoint"}
"""The last word of a profiler's action, and its span."""

HOOKS = "hooks"
LOGGER_METHODS = ("log_metrics", "log_hyperparams", "save", "finalize", "after_save_checkpoint")


def _callback_classes() -> tuple[type, ...]:
    """Callback of each imported package, or of each installed one if none is imported. ImportError if there is none."""
    names = [name for name in PACKAGES.values() if sys.modules.get(name)]
    names = names or [name for package, name in PACKAGES.items() if importlib.util.find_spec(package)]
    if not names:
        raise ImportError("pmtop.lightning: neither 'lightning' nor 'pytorch_lightning' is installed; try: pip install lightning")
    return tuple(importlib.import_module(name).Callback for name in names)


def _make(cls: type) -> Any:
    return cls.__new__(cls)


def _whole(number: Any) -> int:
    """A count; 0 if it is unknown (None, -1, infinite)."""
    return int(number) if number is not None and 0 < number < math.inf else 0


class _Callback:
    """name: the run's name (default: PMTOP_RUN, else the class of the module). profile: as pmtop.torch.instrument() takes it; the traces are in the
    folder of the run's name. One object may serve several trainers, one after another.
    Raises ImportError if neither package is installed."""

    name: Optional[str]
    profile: Optional[torch.Profile]

    def __new__(cls, *arguments: Any, **more: Any) -> _Callback:
        bases = tuple(base for base in _callback_classes() if not issubclass(cls, base))
        self: _Callback = object.__new__(class_for(cls, bases) if bases else cls)
        self.name = None
        self.profile = None
        self._reset()
        return self

    def __init__(self, name: Optional[str] = None, profile: Any = None) -> None:
        self.name = name
        self.profile = torch.Profile.of(profile)

    def _reset(self) -> None:
        self._is_silent = False
        self._is_epoch_open = False
        self._steps = 0
        self._parts: Optional[_Parts] = None
        self._listener: Optional[_Listener] = None
        self._by_hand: Optional[int] = None
        self._actions = Actions()

    actions = property(lambda self: self._actions, doc="What the trainer did since its last setup, as SimpleProfiler counts it.")

    def __reduce__(self) -> Any:
        own = {key: value for key, value in self.__dict__.items() if not key.startswith("_") and key not in ("log", "log_dict")}
        return _make, (vars(type(self)).get("_origin") or type(self),), own

    # -- beginning and end

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._give_back()
        self._reset()
        # Of several in one trainer the first publishes.
        self._is_silent = next((one for one in trainer.callbacks if isinstance(one, _Callback)), self) is not self
        self._begin(trainer, pl_module)

    @guarded
    def _begin(self, trainer: Any, pl_module: Any) -> None:
        name = self.name or os.environ.get("PMTOP_RUN") or type(pl_module).__name__
        self._is_silent = not pmtop.init(name)
        if self._is_silent:
            return
        self._by_hand = pmtop._pmtop.by_hand(None)
        precision = with_tf32(str(trainer.precision), trainer.strategy.root_device.type == "cuda")
        for key, value in {
                "model": type(pl_module).__name__, "strategy": type(trainer.strategy).__name__, "precision": precision,
                "devices": trainer.num_devices, "accumulation": trainer.accumulate_grad_batches
        }.items():
            pmtop.meta(key, str(value))
        for key, value in (("RANK", trainer.global_rank), ("LOCAL_RANK", trainer.local_rank), ("WORLD_SIZE", trainer.world_size)):
            if trainer.world_size > 1:
                pmtop.meta(key, str(value))
        is_manual = not pl_module.automatic_optimization
        self._parts = _Parts(is_manual, self.profile, name)
        self._listener = _Listener(trainer, pl_module, self._parts.device, "training_step" if is_manual else None, self._actions)
        pmtop.meta("between", "lightning" if self._listener.is_on else "data")

    def _give_back(self) -> None:
        if self._listener:
            self._listener.remove()
        if self._parts:
            self._parts.give_back()
        if self._by_hand is not None:
            # What this callback has published is no reason to leave a later loop of the script alone.
            pmtop._pmtop.by_hand(self._by_hand)
        self._listener = self._parts = self._by_hand = None

    @guarded
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._end_epoch()
        self._give_back()

    @guarded
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        if self._parts:
            self._parts.repair()
        text = str(exception).partition("\n")[0]
        pmtop.mark(f"{type(exception).__name__}: {text}" if text else type(exception).__name__)
        self._give_back()

    # -- epochs

    @guarded
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._steps = trainer.global_step
        if self._parts:
            self._parts.training_begins()
        pmtop.mode("train")
        self._plan(trainer)

    def _plan(self, trainer: Any) -> None:
        batches, epochs = _whole(trainer.num_training_batches), _whole(trainer.max_epochs)
        accumulation = max(1, trainer.accumulate_grad_batches)
        left = max(epochs - trainer.current_epoch, 0)
        if batches and trainer.max_steps >= 0 and trainer.lightning_module.automatic_optimization:
            steps = max(trainer.max_steps - trainer.global_step, 0)
            needed = math.ceil(steps / math.ceil(batches / accumulation))
            left = min(left, needed) if epochs else needed
            batches = min(batches, steps * accumulation)
        loader = trainer.train_dataloader
        facts = LoaderFacts(loader) if isinstance(loader, DataLoader) else None
        size = facts.batch_size if facts else None
        pmtop.plan(pmtop.statistics()["num_epochs"] + left if left else 0, batches, size or 0)
        for key, value in {**(facts.meta if facts else {}), **({"batch_size": size} if size else {})}.items():
            pmtop.meta(key, str(value))

    def _begin_epoch(self, trainer: Any) -> None:
        if not self._is_epoch_open:
            self._is_epoch_open = True
            pmtop.epoch_begin(trainer.current_epoch)

    def _end_epoch(self) -> None:
        if self._is_epoch_open:
            self._is_epoch_open = False
            pmtop.epoch_end()
            if self._parts and self._parts.profile:
                self._parts.profile.epoch_ends()

    @guarded
    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._begin_epoch(trainer)

    @guarded
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._end_epoch()

    # -- batches

    @guarded
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        # After a restart in the middle of an epoch there is no on_train_epoch_start.
        self._begin_epoch(trainer)
        self._begin_batch(batch_idx)

    @guarded
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        steps, self._steps = self._steps, trainer.global_step
        if steps == self._steps:
            pmtop.batch_kind("accumulate")
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        # The trainer passes the loss divided by the number of accumulated batches.
        self._end_batch(batch, True, loss, trainer.accumulate_grad_batches if pl_module.automatic_optimization else 1)
        # Validation after the last batch is between the epochs, as in a hand-written loop.
        if trainer.is_last_batch:
            self._end_epoch()

    def _begin_batch(self, index: int) -> None:
        pmtop.batch_begin(index)
        if self._parts:
            self._parts.batch_begins()

    def _end_batch(self, batch: Any, trains: bool, loss: Any = None, parts_of_loss: int = 1) -> None:
        samples = size_of(batch, 0)
        if samples is not None:
            pmtop.batch_samples(samples)
        if self._parts:
            self._parts.batch_ends(trains, loss, parts_of_loss)
        else:
            pmtop.batch_end()

    # -- other modes

    @guarded
    def on_sanity_check_start(self, trainer: Any, pl_module: Any) -> None:
        pmtop.mode("sanity")

    @guarded
    def on_sanity_check_end(self, trainer: Any, pl_module: Any) -> None:
        pmtop.mode("train")

    @guarded
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        pmtop.mode("sanity" if trainer.sanity_checking else "validation")

    @guarded
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.state.fn == "fit" and not trainer.sanity_checking:
            pmtop.mode("train")

    @guarded
    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        pmtop.mode("test")

    @guarded
    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        pmtop.mode("predict")

    @guarded
    def on_validation_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        self._begin_batch(batch_idx)

    @guarded
    def on_validation_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int,
                                dataloader_idx: int = 0) -> None:
        self._end_batch(batch, False)

    on_test_batch_start = on_predict_batch_start = on_validation_batch_start
    on_test_batch_end = on_predict_batch_end = on_validation_batch_end


_Callback.__name__ = _Callback.__qualname__ = "PmtopCallback"

_made: type = _Callback

if TYPE_CHECKING:
    PmtopCallback = _Callback


def __getattr__(name: str) -> Any:
    if name != "PmtopCallback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _made_class()


def _made_class() -> Any:
    """PmtopCallback, with the Callback of each imported trainer as a base: LightningCLI wants the class to have it. Made at its first use, for this
    module imports no trainer, and again when another trainer has been imported."""
    global _made
    try:
        bases = tuple(base for base in _callback_classes() if not issubclass(_made, base))
    except ImportError:
        # Its constructor says what to install.
        return _made
    if bases:
        _made = class_for(_made, bases)
        setattr(_made, "_origin", None)
    return _made


_instrumented: set[type] = set()


def instrument() -> None:
    """Adds a PmtopCallback to every Trainer that is made from now on without one. A second call changes nothing, except for packages that have been
    imported since. Raises ImportError if neither package is installed."""
    for base in _callback_classes():
        trainer = importlib.import_module(base.__module__.partition(".callbacks")[0]).Trainer
        if trainer not in _instrumented:
            _instrumented.add(trainer)
            trainer.__init__ = _trainer_made(trainer.__init__)


def _trainer_made(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(trainer: Any, *arguments: Any, **more: Any) -> None:
        original(trainer, *arguments, **more)
        add_to(trainer)

    return __init__


def add_to(trainer: Any) -> None:
    """Adds a PmtopCallback, unless the trainer has one."""
    try:
        if not any(isinstance(callback, _Callback) for callback in trainer.callbacks):
            trainer.callbacks.insert(0, _made_class()())
    except Exception as error:
        print(f"pmtop: the Trainer is not instrumented ({type(error).__name__}: {error}); training continues; please report this", file=sys.stderr)


class _Parts:
    """pmtop.torch within the trainer's batches. Uses the user's own instrument() if there is one, without its batches until give_back()."""

    def __init__(self, has_forward: bool, profile: Optional[torch.Profile], run: str) -> None:
        self._is_users = torch._current is not None and torch._current.is_open
        self._torch = torch.instrument(batches=False, forward=has_forward, profile=profile)
        self._loop, self.device = self._torch._loop, self._torch._device
        self._loop.stop()
        self.profile = self._loop.profile
        if self.profile is not None and self.profile.settings is profile and profile.run is None:
            self.profile.run = run
        # The trainer itself says by what it divides the loss.
        self._loop.loss_parts = 1
        self._batches = self._torch.parts["batches"]
        self._sees_batches, self._batches.is_on = self._batches.is_on, False

    def training_begins(self) -> None:
        """Call when the model is on its device."""
        if self.device.can_come:
            self._torch._publish_device()

    def give_back(self) -> None:
        if self._is_users:
            self._batches.is_on = self._sees_batches
            self._loop.loss_parts = 0
            self._loop.meta.pop("between", None)  # The next pass publishes it again.
            self._loop.awaits_step = self._loop._counts_steps()
        else:
            self._torch.close()

    def repair(self) -> None:
        """Call after an exception in a step."""
        if self._torch._optimizers is not None:
            self._torch._optimizers.repair()

    def batch_begins(self) -> None:
        """Call after the batch began."""
        self._loop.owner = threading.get_ident()
        self._loop.work = 0
        self._loop.loss = None
        self.device.batch_begins(pmtop)

    def batch_ends(self, trains: bool, loss: Any, parts_of_loss: int) -> None:
        """Ends the batch. trains: it is a training step. loss: the trainer's loss if it is a tensor of one element; otherwise that of the last backward counts.
        Both are multiplied by parts_of_loss."""
        loop, device = self._loop, self.device
        value = loop.loss
        if isinstance(loss, Tensor) and loss.numel() == 1:
            if loss.device.type == "cpu":
                value = float(loss)
            elif parts_of_loss > 1 and device.measures:
                device.loss(loss * parts_of_loss)
        loop._batch_ends(int(trains))
        device.batch_ends(pmtop)
        pmtop.batch_end(None if value is None else value * parts_of_loss)
        device.read(pmtop)
        if loop.forwards is not None and loop.is_learning:
            loop.forwards.batch_ended(bool(loop.work & FORWARD))


class _Action:
    """A span, and the thread's state for pmtop.torch meanwhile: a module within the loader is no forward, and a checkpoint counts once."""

    __slots__ = ("began", "device", "is_forward", "span", "state")
    STATES = {"data": "inside", "forward": "inside", "checkpoint": "saving"}

    def __init__(self, name: str, device: Any) -> None:
        self.span = pmtop.span(name)
        self.state = self.STATES.get(name)
        self.is_forward = name == "forward"
        self.device = device
        self.began: Any = None

    def start(self) -> None:
        if self.is_forward and self.device.measures:
            self.began = self.device.mark()
        self.span.__enter__()
        if self.state:
            setattr(here, self.state, getattr(here, self.state) + 1)

    def stop(self) -> None:
        if self.state:
            setattr(here, self.state, getattr(here, self.state) - 1)
        self.span.__exit__(None, None, None)
        if self.began is not None:
            self.device.note("gpu.forward_s", self.began)
            self.began = None


class _Hook:
    """A hook of a callback or of the module, or the call of a logger: a span within "hooks"."""

    __slots__ = ("hooks", "span")
    open = 0

    def __init__(self, name: str) -> None:
        self.hooks, self.span = pmtop.span(HOOKS), pmtop.span(name)

    def start(self) -> None:
        if not _Hook.open:
            self.hooks.__enter__()
        _Hook.open += 1
        self.span.__enter__()

    def stop(self) -> None:
        self.span.__exit__(None, None, None)
        _Hook.open -= 1
        if not _Hook.open:
            self.hooks.__exit__(None, None, None)


def _has_own(cls: type, hook: str) -> bool:
    """Whether a class has code of its own for a hook, or inherits one that does nothing."""
    owner = next((base for base in cls.__mro__ if hook in vars(base)), object)
    return owner is not object and owner.__name__ not in ("Callback", "ModelHooks", "DataHooks", "CheckpointHooks", "LightningModule")


def _hook_of(trainer: Any, module: Any, action_name: str) -> Optional[_Hook]:
    """The hook of a callback or of the module that has code in it; None for any other action, and for pmtop's own callback."""
    source, _, hook = action_name.rpartition(".")
    if source.startswith("[LightningModule]") and hook.startswith("on_"):
        owner = module
    else:
        owner = next((callback for callback in trainer.callbacks if source == f"[Callback]{callback.state_key}"), None)
    if owner is None or isinstance(owner, _Callback) or not _has_own(type(owner), hook):
        return None
    return _Hook(f"{type(owner).__name__}.{hook}")


def _spanned(original: Callable[..., Any], hook: _Hook) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*arguments: Any, **more: Any) -> Any:
        hook.start()
        try:
            return original(*arguments, **more)
        finally:
            hook.stop()

    return call


class _Listener:
    """Turns the actions that a trainer reports to its profiler, and the calls of its loggers, into spans; the profiler still gets them all.

    skipped: the last word of an action that is no span. is_on: False if this profiler's methods cannot be replaced."""

    def __init__(self, trainer: Any, module: Any, device: Any, skipped: Optional[str], counts: Actions) -> None:
        self.profiler = profiler = trainer.profiler
        self._loggers: list[tuple[Any, str]] = []
        actions: dict[str, Union[_Action, _Hook, None]] = {}
        start, stop = profiler.start, profiler.stop

        def action_of(action_name: str) -> Union[_Action, _Hook, None]:
            try:
                return actions[action_name]
            except KeyError:
                last = action_name.rpartition(".")[2]
                span = None if action_name.startswith("[Callback]") or last == skipped else ACTIONS.get(last)
                actions[action_name] = _Action(span, device) if span else _hook_of(trainer, module, action_name)
                return actions[action_name]

        def listening_start(action_name: str) -> None:
            start(action_name)
            counts.start(action_name)
            action = action_of(action_name)
            if action is not None:
                action.start()

        def listening_stop(action_name: str) -> None:
            action = action_of(action_name)
            if action is not None:
                action.stop()
            counts.stop(action_name)
            stop(action_name)

        try:
            profiler.start, profiler.stop = listening_start, listening_stop
            self.is_on = True
        except AttributeError:
            self.is_on = False
        for logger in trainer.loggers if self.is_on else ():
            self._listen_to(logger)

    def _listen_to(self, logger: Any) -> None:
        hook = _Hook(type(logger).__name__)
        for method in LOGGER_METHODS:
            original = getattr(logger, method, None)
            if original is None or method in vars(logger):
                continue
            try:
                setattr(logger, method, _spanned(original, hook))
                self._loggers.append((logger, method))
            except AttributeError:
                pass

    def remove(self) -> None:
        for logger, method in self._loggers:
            vars(logger).pop(method, None)
        self._loggers.clear()
        if self.is_on:
            self.is_on = False
            del self.profiler.start, self.profiler.stop
