"""Shared by the callbacks of Keras and Lightning."""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

H = TypeVar("H", bound=Callable[..., None])


def guarded(hook: H) -> H:
    """An error in a hook ends publishing, with one line on standard error, and never training. The callback has `_is_silent` and _give_back()."""
    @functools.wraps(hook)
    def call(self: Any, *arguments: Any, **more: Any) -> None:
        if self._is_silent:
            return
        try:
            hook(self, *arguments, **more)
        except Exception as error:
            self._is_silent = True
            self._give_back()
            why = f"{hook.__name__} failed ({type(error).__name__}: {error})"
            print(f"pmtop: {why}; training continues without pmtop; please report this", file=sys.stderr)
    return call  # type: ignore[return-value]


@functools.lru_cache(maxsize=None)
def class_for(cls: type, bases: tuple[type, ...]) -> type:
    """The class with the frameworks' Callbacks as further bases; its `_origin` is the class."""
    return type(cls.__name__, (cls, *bases), {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "_origin": cls})
