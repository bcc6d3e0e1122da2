"""Training loops of the program's own over Keras models, after pmtop.keras.instrument(): each train_on_batch(), test_on_batch() and predict_on_batch() is
a batch, and so is what leads to a call of an optimizer's apply() outside of them.

Such a batch begins at the first call of a model after the last apply(), the first at its apply(); there are no epochs. What a compiled function calls
(tf.function, jax.jit, torch.compile) runs once, when it is traced, and is no batch; of a tf.function that applies an optimizer each call is one
(_keras_compiled.py). On PyTorch the loop over a DataLoader counts, where PyTorch is instrumented as well, and so do its steps.
"""
from __future__ import annotations

import atexit
import numbers
import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any, Optional

import pmtop

from . import _keras_hooks as hooks
from . import _keras_torch as on_torch
from ._callbacks import guarded
from ._keras_compiled import CompiledSteps, is_traced

_MODES = {"train_on_batch": "train", "test_on_batch": "validation", "predict_on_batch": "predict"}
_BATCHES = 2
"""The bit of by_hand() that says that the script publishes its own batches."""


def _never() -> bool:
    return False


class OwnLoop:
    """The batches that the program makes itself. publish_facts(model, optimizer): publishes the facts and returns Keras' backend."""

    def __init__(self, publish_facts: Callable[[Any, Any], Optional[str]]) -> None:
        self._publish_facts = publish_facts
        self._owner = self._busy = 0
        self._is_silent = False
        self._is_traced: Callable[[], bool] = is_traced
        self._compiled = CompiledSteps(self._is_free, self._begin_compiled, self._end_compiled)
        self._has_compiled = False
        self._torch: Optional[on_torch.OwnBatches] = None
        self._counts = dict.fromkeys(_MODES.values(), 0)
        self._mode = "train"
        self._has_applied = self._is_open = False
        """Whether an optimizer has been applied outside of train_on_batch(); whether the batch is open that its next apply() ends."""
        self._owns = False
        """Whether the open batch is published."""
        atexit.register(self.leave)

    def install(self, package: Any) -> None:
        """Replaces the methods of this package's models and optimizers."""
        for name, mode in _MODES.items():
            hooks.replace(package.Model, name, self._on_batch(mode))
        hooks.replace(package.Model, "__call__", self._call(package.Model))
        optimizer = package.optimizers.Optimizer
        name = "apply" if hasattr(optimizer, "apply") else "apply_gradients"
        for owner in (optimizer, getattr(package.optimizers, "LossScaleOptimizer", optimizer)):
            if owner is optimizer or name in vars(owner):
                hooks.replace(owner, name, self._apply)
        if not self._has_compiled:
            self._has_compiled = True
            self._compiled.install()

    # -- what the program calls

    def _on_batch(self, mode: str) -> Any:
        def make(original: Any) -> Any:
            def on_batch(model: Any, *arguments: Any, **more: Any) -> Any:
                if not self._is_free():
                    return original(model, *arguments, **more)
                self._begin_step(mode, model)
                self._busy += 1
                try:
                    result = original(model, *arguments, **more)
                finally:
                    self._busy -= 1
                    self._restore()
                self._end_step(mode, arguments[0] if arguments else more.get("x"), result)
                return result
            return on_batch
        return make

    def _call(self, owner: type) -> Any:
        def make(original: Any) -> Any:
            is_inherited = "__call__" not in vars(owner)

            def __call__(model: Any, *arguments: Any, **more: Any) -> Any:
                if self._has_applied and not self._is_open and more.get("training") is not False and self._is_free():
                    self._open(model, None)
                if is_inherited:  # of the next class, which may be one of the program's
                    return super(owner, model).__call__(*arguments, **more)  # type: ignore[misc]
                return original(model, *arguments, **more)
            return hooks.outside_graphs(__call__)
        return make

    def _apply(self, original: Any) -> Any:
        def apply(optimizer: Any, *arguments: Any, **more: Any) -> Any:
            if not self._is_free():
                self._apply_in_graph(optimizer)
                return original(optimizer, *arguments, **more)
            self._open(None, optimizer)
            self._busy += 1
            try:
                result = original(optimizer, *arguments, **more)
            finally:
                self._busy -= 1
            self._close(optimizer)
            return result
        return hooks.outside_graphs(apply)

    def _is_free(self) -> bool:
        """Whether this call makes a batch: of the first thread that makes one, outside of fit() and of a function that is being traced."""
        if self._is_silent or self._busy or self._is_traced() or self._owner not in (0, get_ident()) or hooks.is_in_call():
            return False
        return not pmtop._pmtop.by_hand(None) & _BATCHES

    # -- batches

    @guarded
    def _apply_in_graph(self, optimizer: Any) -> None:
        self._compiled.applied(optimizer)

    @guarded
    def _begin_compiled(self, optimizer: Any) -> None:
        self._begin_step("train", None, optimizer)

    @guarded
    def _end_compiled(self, arguments: tuple[Any, ...]) -> None:
        self._end_step("train", arguments[0] if arguments else None, None)

    @guarded
    def _begin_step(self, mode: str, model: Any, optimizer: Any = None) -> None:
        self.leave()
        self._introduce(model, optimizer)
        if self._torch is None or self._torch.takes():
            self._begin(mode)

    @guarded
    def _end_step(self, mode: str, x: Any, result: Any) -> None:
        if not self._owns:
            return
        samples = hooks.first_dimension(x)
        if samples:
            pmtop.batch_samples(samples)
        result = next(iter(result.values())) if isinstance(result, dict) else result
        result = result[0] if isinstance(result, (list, tuple)) and result else result
        is_loss = mode != "predict" and isinstance(result, numbers.Real)
        self._end(float(result) if is_loss else None)

    @guarded
    def _open(self, model: Any, optimizer: Any) -> None:
        self._introduce(model, optimizer)
        if not self._is_open and not self._is_traced() and (self._torch is None or not self._torch.are_torchs()):
            self._is_open = True
            self._begin("train")

    @guarded
    def _close(self, optimizer: Any) -> None:
        if self._is_open:
            self._is_open, self._has_applied = False, True
            self._end(None)
        elif self._torch is not None:
            self._torch.applied(optimizer)

    @guarded
    def leave(self) -> None:
        """Something else trains: a batch without its apply() is no step."""
        if self._is_open:
            self._is_open = False
            pmtop.mode("peek")
            self._end(None)
            self._counts["train"] -= 1
            self._mode = "peek"

    def _begin(self, mode: str) -> None:
        if mode != self._mode:
            self._mode = mode
            pmtop.mode(mode)
        self._owns = pmtop._pmtop.auto_batch_begin(self._counts[mode])
        self._counts[mode] += self._owns
        if self._torch is not None:
            self._torch.begins()

    def _end(self, loss: Optional[float]) -> None:
        if self._torch is not None:
            self._torch.ends()
        self._owns = False
        pmtop._pmtop.auto_batch_end(loss)
        if self._mode == "validation":
            self._mode = "train"
            pmtop.mode("train")

    def _restore(self) -> None:
        if self._torch is not None:
            self._torch.restore()

    def _give_back(self) -> None:
        self._restore()

    def _introduce(self, model: Any, optimizer: Any) -> None:
        if self._owner:
            return
        self._owner = get_ident()
        if not pmtop.init(None):
            self._is_silent = True
            return
        backend = self._publish_facts(model, optimizer)
        self._is_traced = _question(backend)
        if backend == "torch":
            self._torch = on_torch.OwnBatches()
        elif backend == "jax":
            from . import jax

            jax.instrument()


def _question(backend: Optional[str]) -> Callable[[], bool]:
    """The backend's answer to whether the code that runs is being traced."""
    if backend == "torch":
        from ._torch.patch import is_compiling

        return is_compiling
    if backend == "tensorflow":
        return is_traced
    return getattr(sys.modules.get("keras.src.backend.common.stateless_scope"), "in_stateless_scope", _never)
