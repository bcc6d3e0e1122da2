"""Shared by all parts of pmtop.torch: replaced attributes, errors of pmtop itself, state per thread."""
from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

import torch

from pmtop import _pmtop

_ABSENT = object()

FORWARD, BACKWARD, STEP, ZERO_GRAD = 1, 2, 4, 8
"""Bits of `Loop.work`: what a batch has done."""


def _never() -> bool:
    return False


# True while torch.compile traces. Traced code must not reach pmtop, which would break the graph or add guards on its state.
is_compiling: Callable[[], bool] = getattr(getattr(torch, "compiler", None), "is_compiling", _never)


Here = _pmtop.Here
"""The state of the calling thread, the same in all instances. inside: not 0 if a called module is not the outermost one (within
another, the loader, `paused()`); is_stepping: a span "optimizer" is open; steps: id()s of the optimizers whose steps are open, outermost first."""


def flag_of_compiling() -> tuple[Any, Any]:
    """The variables and the name of the flag behind is_compiling(); (None, is_compiling) if this torch has no such flag."""
    compiler = getattr(torch, "compiler", None)
    if compiler is not None and "_is_compiling_flag" in vars(compiler):
        return vars(compiler), "_is_compiling_flag"
    return None, is_compiling


_pmtop.watch_compiling(*flag_of_compiling())
# The same as is_compiling() for the wrappers that each step calls, at half the cost: compiled hooks read the flag themselves.
is_traced: Callable[[], bool] = is_compiling if flag_of_compiling()[0] is None else getattr(torch.compiler, "is_dynamo_compiling", is_compiling)


def have_same_parameters(wrapper: Any, original: Any) -> bool:
    """Whether a wrapper has the names and the defaults of torch's function, so that it need not take *args and **kwargs, which each call would pack.
    False for functions that other code has put in the place of torch's."""
    try:
        own, its = (inspect.signature(function).parameters.values() for function in (wrapper, original))
        is_torchs = original.__code__.co_filename.startswith(os.path.dirname(torch.__file__) + os.sep)
        return is_torchs and [(one.name, one.kind, one.default) for one in own] == [(one.name, one.kind, one.default) for one in its]
    except (AttributeError, TypeError, ValueError):
        return False


class Part(_pmtop.Switch):
    """One part of the adapter. Its first error switches it off, with one line on standard error."""

    __slots__ = ("name",)

    def __init__(self, name: str, is_on: bool = True) -> None:
        self.name = name
        self.is_on = is_on

    def lacks(self, what: str) -> None:
        """Switches it off because this torch has no `what`."""
        self._off(f"torch {torch.__version__} has no {what}; install a newer torch")

    def failed(self, error: BaseException) -> None:
        """Switches it off after an error of pmtop itself. Training continues."""
        self._off(f"{type(error).__name__}: {error}; training continues; please report this")

    def _off(self, why: str) -> None:
        if self.is_on:
            self.is_on = False
            try:
                sys.stderr.write(f"pmtop: torch: {self.name} are not measured: {why}\n")
            except (OSError, ValueError, AttributeError):
                pass


class Patches:
    """The replaced attributes."""

    def __init__(self) -> None:
        self._made: list[tuple[Any, str, Any, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replaces `owner.name`. An attribute that `owner` only inherited is removed again by `restore`."""
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        self._made.append((owner, name, before, value))

    def undo(self, owner: Any, name: str) -> None:
        """Restores one attribute."""
        for i, (at, called, before, value) in enumerate(self._made):
            if at is owner and called == name:
                self._put_back(at, called, before, value)
                del self._made[i]
                return

    def restore(self) -> None:
        """Restores everything, last first. An attribute that other code has replaced since stays; pmtop's function inside it does nothing."""
        while self._made:
            self._put_back(*self._made.pop())

    @staticmethod
    def _put_back(owner: Any, name: str, before: Any, value: Any) -> None:
        if vars(owner).get(name) is not value:
            return
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
