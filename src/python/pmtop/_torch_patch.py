"""What every part of pmtop.torch stands on: attributes replaced and put back, errors of our own caught, threads kept apart."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from pmtop import _pmtop

_ABSENT = object()

FORWARD, BACKWARD, STEP, ZERO_GRAD = 1, 2, 4, 8
"""What a batch had, as bits of `Loop.work`."""


def _never() -> bool:
    return False


# True while torch.compile traces: what it traces must not see us, so that it neither breaks the graph nor guards on our state.
is_compiling: Callable[[], bool] = getattr(getattr(torch, "compiler", None), "is_compiling", _never)


Here = _pmtop.Here
"""What a thread is in the middle of: the same in all its instances. inside: not 0 where a module that is called is not the outermost one (in
another, in the loader, in `paused()`); is_stepping: a span "optimizer" is open; steps: id()s of the optimizers whose steps are open, outermost first."""


def flag_of_compiling() -> tuple[Any, Any]:
    """The variables and the name of what is_compiling() tells; (None, is_compiling) where it is not known where that stands."""
    compiler = getattr(torch, "compiler", None)
    if compiler is not None and "_is_compiling_flag" in vars(compiler):
        return vars(compiler), "_is_compiling_flag"
    return None, is_compiling


class Part(_pmtop.Switch):
    """One part of the adapter, which its first error switches off, with one line on standard error."""

    __slots__ = ("name",)

    def __init__(self, name: str, is_on: bool = True) -> None:
        self.name = name
        self.is_on = is_on

    def lacks(self, what: str) -> None:
        """Switches it off because this torch has no `what`."""
        self._off(f"torch {torch.__version__} has no {what}; a newer torch brings them")

    def failed(self, error: BaseException) -> None:
        """Switches it off after an error of our own. Training does not notice."""
        self._off(f"{type(error).__name__}: {error}; training goes on without, please report it")

    def _off(self, why: str) -> None:
        if self.is_on:
            self.is_on = False
            try:
                sys.stderr.write(f"pmtop: torch: {self.name} are not measured: {why}\n")
            except (OSError, ValueError, AttributeError):
                pass


class Patches:
    """Attributes that were replaced."""

    def __init__(self) -> None:
        self._made: list[tuple[Any, str, Any, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replaces `owner.name`. An attribute that `owner` only inherited is removed again by `restore`."""
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        self._made.append((owner, name, before, value))

    def undo(self, owner: Any, name: str) -> None:
        """Puts back one attribute."""
        for i, (at, called, before, value) in enumerate(self._made):
            if at is owner and called == name:
                self._put_back(at, called, before, value)
                del self._made[i]
                return

    def restore(self) -> None:
        """Puts back everything, last first. What somebody else replaced since is theirs: it stays, and ours in it does nothing."""
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
