"""Instruments Keras: `model.fit(..., callbacks=[PmtopCallback()])`, for Keras 3 on every backend, `tf.keras` and `tf_keras`; or
`pmtop.keras.instrument()`, once, for every fit(), evaluate() and predict() that has no PmtopCallback.

A batch lasts from the callback's on_train_batch_begin to the end of the step; with `steps_per_execution` it is one execution, with the samples of all
its steps. The time between two batches is the phase "keras" (other callbacks), except for the spans "data", the time in the data's iterator.
Validation is a mode, also inside fit(); evaluate() is the mode "test", predict() the mode "predict".

The loss of a batch is the one that Keras logs: the mean since the epoch began. All other values of Keras' logs are gauges. The callback never raises
into training, and does not wait for a device: Keras may call it in another thread, with the losses of earlier batches.
"""
from __future__ import annotations

import importlib
import importlib.util
import math
import numbers
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, Optional

import pmtop

from . import _keras_hooks as hooks
from . import _keras_profile as on_profile
from . import _keras_torch as on_torch
from ._keras_steps import OwnLoop
from ._callbacks import class_for, guarded
from ._profiling.settings import OUTPUT_DIR

PACKAGES = ("keras", "tf_keras")
PRECISIONS = {"mixed_bfloat16": "bf16-mixed", "mixed_float16": "16-mixed"}
LATE_MAX = 4096
"""Losses that can wait until the training thread publishes them."""


def _packages() -> tuple[Any, ...]:
    """The imported packages, or the first installed one if none is imported. ImportError if there is none."""
    names = [name for name in PACKAGES if sys.modules.get(name)]
    names = names or [name for name in PACKAGES if importlib.util.find_spec(name)][:1]
    if not names:
        raise ImportError("pmtop.keras: neither 'keras' nor 'tf_keras' is installed; try: pip install keras")
    return tuple(importlib.import_module(name) for name in names)


def _is_ours(callback: Any) -> bool:
    return isinstance(callback, PmtopCallback)


def _epoch_iterator(package: Any) -> Optional[type]:
    return getattr(sys.modules.get(f"{package.__name__}.src.trainers.epoch_iterator"), "EpochIterator", None)


def _install(package: Any) -> None:
    hooks.install(package.callbacks.CallbackList, _epoch_iterator(package), _is_ours)


def _make(cls: type) -> Any:
    return cls.__new__(cls)


def _is_in_fit() -> bool:
    """Whether this thread is in a fit() of Keras."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "fit" and "keras" in frame.f_code.co_filename:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _name_of(model: Any) -> Optional[str]:
    """The model's name, unless Keras has made it up; else the user's class; else None."""
    cls = type(model).__name__
    name = str(getattr(model, "name", "") or "")
    made_up = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls).lower()
    if name and re.sub(r"_\d+$", "", name) != made_up:
        return name
    return None if cls in ("Sequential", "Functional", "Model") else cls


def _package_of(thing: Any) -> Any:
    """The package of a model or an optimizer."""
    roots = [base.__module__.partition(".")[0] for base in type(thing).__mro__]
    return sys.modules[next((root for root in roots if root in PACKAGES and root in sys.modules), _packages()[0].__name__)]


def _backend_of(package: Any) -> Optional[str]:
    return getattr(getattr(package, "backend", None), "backend", lambda: None)()  # type: ignore[no-any-return]


def publish_facts(model: Any, optimizer: Any) -> Optional[str]:
    """Publishes what is known of a training with them. Returns Keras' backend."""
    package = _package_of(model if model is not None else optimizer)
    backend = _backend_of(package)
    for key, value in {
            "framework": f"{package.__name__} {package.__version__}" + (f" on {backend}" if backend else ""),
            "model": type(model).__name__ if model is not None else None,
            "optimizer": type(optimizer).__name__ if optimizer is not None else None,
            "precision": PRECISIONS.get(str(getattr(getattr(model, "dtype_policy", None), "name", "")))
    }.items():
        pmtop.meta(key, value)
    return backend


class PmtopCallback:
    """name: the run's name (default: PMTOP_RUN, else the model's name or class, else the script's). One object may serve several models, one after
    another. Raises ImportError if Keras is not installed.

    profile_batch: a training batch, or the first and the last of a range, such as (10, 12), counted from 1 in each fit(): a trace of them, from
    torch.profiler, jax.profiler or tf.profiler, in the folder of the run's name in output_dir. 0: none.
    profile_on_request: on torch, `pmtop profile PID` may ask for a trace; None: if pmtop has started the program."""

    _origin: Optional[type] = None
    async_safe = True
    """Keras need not wait for each batch's loss to call it."""
    name: Optional[str]
    profile_batch: on_profile.ProfileBatch
    output_dir: Any
    profile_on_request: Optional[bool]
    params: Any
    _torch: Optional[on_torch.TorchPhases]
    _trace: Optional[on_profile.BatchTrace]
    _by_hand: Optional[int]
    _jax: Any  # pmtop.jax.Instrumentation, if it is the callback's own

    def __new__(cls, *arguments: Any, **more: Any) -> PmtopCallback:
        packages = _packages()
        for package in packages:
            _install(package)
        bases = tuple(package.callbacks.Callback for package in packages if not issubclass(cls, package.callbacks.Callback))
        self: PmtopCallback = object.__new__(class_for(cls, bases) if bases else cls)
        self.name = self.params = self._model = None
        self._is_silent = False
        self.profile_batch, self.output_dir, self.profile_on_request = 0, OUTPUT_DIR, None
        self._torch = self._jax = self._trace = self._by_hand = None
        self._muted = on_torch.mute()
        self._reset()
        return self

    def __init__(self, name: Optional[str] = None, profile_batch: on_profile.ProfileBatch = 0, output_dir: Any = OUTPUT_DIR,
                 profile_on_request: Optional[bool] = None) -> None:
        self.name = name
        on_profile.parse(profile_batch)
        self.profile_batch, self.output_dir, self.profile_on_request = profile_batch, output_dir, profile_on_request

    def __reduce__(self) -> Any:
        own = {key: value for key, value in self.__dict__.items() if not key.startswith("_") and key not in ("params", "model", "validation_data")}
        return _make, (self._origin or type(self),), own

    def _reset(self) -> None:
        self._modes: list[str] = []
        self._fit_params: Any = None
        self._backend: Optional[str] = None
        self._owner = 0
        self._is_epoch_open = False
        self._is_planned = False
        self._begun: Optional[int] = None
        self._batches = 0
        self._source: Optional[hooks.Source] = None
        self._sources: list[Optional[hooks.Source]] = []
        self._numbers: dict[int, int] = {}
        self._late: deque[tuple[int, Mapping[str, Any]]] = deque(maxlen=LATE_MAX)

    # What the base classes do, without their property `model`, which has JAX copy its state.
    def set_model(self, model: Any) -> None:
        self._model = model
        if not isinstance(getattr(type(self), "model", None), property):
            self.model = model

    def set_params(self, params: Any) -> None:
        self.params = params

    # -- beginning and end

    def _begin(self, mode: str) -> None:
        if not self._modes:
            self._introduce()
        self._begun = None
        self._drain()
        self._modes.append(mode)
        self._sources.append(self._source)
        self._source = None
        if not self._is_silent:
            pmtop.mode(mode)

    def _introduce(self) -> None:
        name = self.name or os.environ.get("PMTOP_RUN") or _name_of(self._model)
        self._is_silent = hooks.current() not in (None, self) or not pmtop.init(name)
        self._owner = threading.get_ident()
        keras = _package_of(self._model)
        self._backend = _backend_of(keras)
        if self._is_silent:
            return
        self._take_backend(keras, name)
        self._by_hand = pmtop._pmtop.by_hand(None)
        publish_facts(self._model, getattr(self._model, "optimizer", None))
        pmtop.meta("between", "keras")
        pmtop.meta("steps_per_execution", self._steps_per_execution() or None)

    def _take_backend(self, keras: Any, name: Optional[str]) -> None:
        self._give_back()
        if self._backend == "jax":
            from . import jax

            is_users = jax._current is not None and jax._current.is_open
            instrumentation = jax.instrument()
            self._jax = None if is_users else instrumentation
        elif self._backend == "torch":
            self._mute()
            self._torch = on_torch.TorchPhases()
            on_torch.time_optimizers(keras.optimizers.Optimizer)
            self._torch.listen(self.profile_on_request)
        batches = on_profile.parse(self.profile_batch)
        if batches and self._torch:
            self._torch.profile(on_profile.schedule(batches, self.output_dir, name))
        elif batches:
            self._trace = (on_profile.on_jax if self._backend == "jax" else on_profile.on_tensorflow)(batches, self.output_dir, name)

    def _mute(self) -> None:
        if self._muted is None:
            self._muted = on_torch.mute()

    def _give_back(self) -> None:
        if self._trace:
            self._trace.close()
        if self._torch:
            self._torch.give_back()
        if self._muted:
            self._muted.give_back()
        if self._jax:
            self._jax.close()
        if self._by_hand is not None:  # Its own calls are not the script's.
            pmtop._pmtop.by_hand(self._by_hand)
        self._by_hand = None
        self._torch = self._muted = self._jax = self._trace = None

    def _end(self) -> None:
        """Ends the innermost mode. Inside fit() the mode is training again."""
        self._drain()
        self._begun = None
        if self._modes:
            self._modes.pop()
            self._source = self._sources.pop()
        if not self._modes:
            self._give_back()
            return
        pmtop.mode(self._modes[-1])
        if self._modes[0] == "train":  # Those of a callback's own evaluate() are over.
            self.params = self._fit_params

    def _steps_per_execution(self) -> int:
        """0 if it is unknown: chosen by Keras while it runs."""
        steps = getattr(self._model, "steps_per_execution", None)
        if not steps:
            steps = getattr(self._model, "_steps_per_execution", None) or 1
        if hasattr(steps, "numpy"):
            steps = steps.numpy()
        return int(steps) if isinstance(steps, numbers.Integral) else 0

    def on_train_begin(self, logs: Any = None) -> None:
        self._reset()
        self._is_silent = False
        self._train_begins()

    @guarded
    def _train_begins(self) -> None:
        self._fit_params = self.params
        self._begin("train")

    @guarded
    def on_train_end(self, logs: Any = None) -> None:
        self._end_epoch()
        self._modes[1:] = []
        self._end()

    # -- epochs

    @guarded
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._end_epoch()
        self._drain()
        self._begun = None
        self._numbers.clear()
        self._plan(epoch)
        pmtop.epoch_begin(epoch)
        self._is_epoch_open = True

    def _plan(self, epoch: int) -> None:
        params, each = self._fit_params or {}, self._steps_per_execution()
        steps = int(params.get("steps") or 0)
        # Of data without a length the first epoch shows how many batches there are.
        batches, self._batches = math.ceil(steps / each) if each and steps > 0 else self._batches, 0
        left = max(int(params.get("epochs") or 0) - epoch, 0)
        pmtop.plan(pmtop.statistics()["num_epochs"] + left if left else 0, batches)

    def _plan_samples(self) -> None:
        """Publishes the batch size once the data is known."""
        self._is_planned = True
        size, each = self._source.batch_size if self._source else 0, self._steps_per_execution()
        if size:
            pmtop.meta("batch_size", size)
        pmtop.plan(samples_per_batch=size * each)

    def _end_epoch(self) -> None:
        if self._is_epoch_open:
            self._is_epoch_open = False
            pmtop.epoch_end()

    @guarded
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._drain()
        self._publish_gauges(logs or {})
        self._begun = None
        self._end_epoch()

    # -- batches

    @guarded
    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._drain()
        if not self._is_planned:
            self._plan_samples()
        if self._trace:
            self._trace.batch_begins()
        self._begin_batch(batch)

    @guarded
    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._begin_batch(batch)

    @guarded
    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._begin_batch(batch)

    def _begin_batch(self, batch: int) -> None:
        self._begun = int(batch)
        pmtop.batch_begin(int(batch))
        if self._torch:
            self._torch.batch_begins()

    @guarded
    def _step_ended(self, batch: int) -> None:
        """The step of the open batch has returned; `batch` is the number of its last step. Keras' losses come later."""
        if self._begun is None or threading.get_ident() != self._owner:
            return
        first, self._begun = self._begun, None
        if self._modes[-1] == "train":
            self._numbers[int(batch)] = pmtop.batch_number()
            self._batches += 1
        samples = self._source.take(first, int(batch)) if self._source else 0
        if samples:
            pmtop.batch_samples(samples)
        trains = self._modes[-1] == "train"
        if self._torch:
            self._torch.batch_ends(trains)
        elif self._trace and trains:
            self._trace.batch_ends()
        pmtop.batch_end()
        if self._torch:
            self._torch.batch_ended()

    @guarded
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._late.append((int(batch), logs or {}))
        if threading.get_ident() == self._owner:
            self._step_ended(batch)
            self._drain()

    @guarded
    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self._step_ended(batch)

    @guarded
    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        self._step_ended(batch)

    # -- logs

    def _drain(self) -> None:
        """Publishes the losses that have arrived, and the newest of the other values."""
        newest: Mapping[str, Any] = {}
        newest_step = -1
        while self._late:
            step, logs = self._late.popleft()
            number = self._numbers.pop(step, None)
            loss = logs.get("loss")
            if number is not None and isinstance(loss, numbers.Real):
                pmtop.batch_figure(number, "loss", float(loss))
            if step > newest_step:
                newest, newest_step = logs, step
        self._publish_gauges({name: value for name, value in newest.items() if name != "loss"})

    @staticmethod
    def _publish_gauges(logs: Mapping[str, Any], prefix: str = "") -> None:
        for name, value in logs.items():
            if isinstance(value, numbers.Real) and math.isfinite(value):
                pmtop.gauge(prefix + str(name), float(value))

    # -- other modes

    @guarded
    def on_test_begin(self, logs: Any = None) -> None:
        # Keras validates after the last batch: between the epochs, as in a hand-written loop. A callback's own evaluate() has other parameters.
        is_own = self.params is not self._fit_params
        self._forget_fit(is_own)
        is_inside = "train" in self._modes
        if is_inside and not is_own:
            self._drain()
            self._end_epoch()
        self._begin("validation" if is_inside else "test")

    @guarded
    def _abandon(self) -> None:
        """An exception has left fit(), evaluate() or predict()."""
        self._give_back()
        self._reset()

    def _forget_fit(self, is_own: bool) -> None:
        """After an exception in fit() there is no on_train_end."""
        if is_own and self._modes and not _is_in_fit():
            self._reset()

    @guarded
    def on_test_end(self, logs: Any = None) -> None:
        is_inside = "train" in self._modes
        self._end()
        if not is_inside:
            self._publish_gauges(logs or {}, "test_")

    @guarded
    def on_predict_begin(self, logs: Any = None) -> None:
        self._forget_fit(self.params is not self._fit_params)
        self._begin("predict")

    @guarded
    def on_predict_end(self, logs: Any = None) -> None:
        self._end()


class _ForAll:
    """The callback of all lists that have none. A list that is made within a fit(), such as that of a callback's own evaluate(), shares it."""

    def __init__(self) -> None:
        self.callback: Optional[PmtopCallback] = None
        self.own_loop = OwnLoop(publish_facts)

    def __call__(self, callbacks: Any) -> Optional[PmtopCallback]:
        """callbacks: a list's, None before there is one."""
        try:
            if callbacks is None or not hooks.is_in_call():
                self.own_loop.leave()
            ours = self.callback = self.callback or PmtopCallback()
            if ours._modes and ours._owner != threading.get_ident():  # It is in a fit() of another thread.
                return None
            if callbacks is None:
                ours._mute()
                return None
            # A fit() with a callback of its own also counts what is evaluated within.
            return None if hooks.current() not in (None, ours) or any(map(_is_ours, callbacks)) else ours
        except Exception as error:
            print(f"pmtop: Keras is not instrumented ({type(error).__name__}: {error}); training continues; please report this", file=sys.stderr)
            return None


_for_all: Optional[_ForAll] = None


def data_are_read() -> None:
    """To be called when Keras is about to read data: after instrument() that is done, except for data that it has already."""
    if _for_all is not None:
        _for_all(None)


def instrument() -> None:
    """Adds one PmtopCallback to every fit(), evaluate() and predict() of this process from now on that has none. A second call changes nothing.
    Raises ImportError if Keras is not installed."""
    global _for_all
    if _for_all is None:
        packages = _packages()
        _for_all = _ForAll()
        for package in packages:
            _install(package)
            hooks.for_all(package.callbacks.CallbackList, _epoch_iterator(package), _for_all)
            _for_all.own_loop.install(package)
