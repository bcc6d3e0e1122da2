"""Steps that tf.function compiles, in a training loop of the program's own: each call of a function that applies an optimizer is a batch.

That it does is seen when it is traced, in its first call, whose batch begins there. A function that loops over batches itself is none, and what it calls
is part of its caller's call.
"""
from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any, Optional

from . import _keras_hooks as hooks

_FUNCTIONS = "tensorflow.python.eager.polymorphic_function.polymorphic_function"


def is_traced() -> bool:
    """Whether TensorFlow traces the code that runs."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and tensorflow.inside_function()  # type: ignore[no-any-return]


def _is_in_loop() -> bool:
    """Whether the code that is traced is the body of a loop: AutoGraph makes a while_loop of a `for` over a range or an iterator, and of one over a
    dataset its scan()."""
    graph = sys.modules["tensorflow"].compat.v1.get_default_graph()
    while graph is not None:
        if getattr(graph, "name", "").startswith(("while_body", "Dataset_")):
            return True
        graph = getattr(graph, "outer_graph", None)
    return False


class CompiledSteps:
    """is_free(): whether a call makes a batch; begin(optimizer) and end(arguments) of one."""

    def __init__(self, is_free: Callable[[], bool], begin: Callable[[Any], None], end: Callable[[tuple[Any, ...]], None]) -> None:
        self._is_free, self._begin, self._end = is_free, begin, end
        self._train: weakref.WeakSet[Any] = weakref.WeakSet()
        self._called: Optional[Any] = None
        """The outermost function that runs."""
        self._is_begun = False

    def install(self) -> None:
        function = getattr(sys.modules.get(_FUNCTIONS), "Function", None)
        if function is not None:
            hooks.replace(function, "__call__", self._call)

    def applied(self, optimizer: Any) -> None:
        """An optimizer is applied in code that is traced."""
        if self._called is None or not is_traced() or _is_in_loop():
            return
        self._train.add(self._called)
        self._begin_once(optimizer)

    def _begin_once(self, optimizer: Any) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._begin(optimizer)

    def _call(self, original: Any) -> Any:
        def __call__(function: Any, *arguments: Any, **more: Any) -> Any:
            if self._called is not None or not self._is_free():
                return original(function, *arguments, **more)
            self._called, self._is_begun = function, False
            if function in self._train:
                self._begin_once(None)
            try:
                return original(function, *arguments, **more)
            finally:
                self._called = None
                if self._is_begun:
                    self._end(arguments)
        return __call__
