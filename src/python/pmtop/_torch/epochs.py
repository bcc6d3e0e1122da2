"""Passes over the training loader as epochs.

A program that begins a pass where the one before has no batch left (except StopIteration: it = iter(loader)), or that asks a loader without a length
by next(), counts its epochs, if it has any, by other means. Those published so far are withdrawn, and no others follow: pmtop shows those of the
program's own loop (src/model/run/loop_epochs.h)."""
from __future__ import annotations

from typing import Any


class Epochs:
    """The epoch in progress is `index`; `begun` were published. `out` as in Loop."""

    def __init__(self, out: Any) -> None:
        self.out = out
        self.index = self.begun = 0
        self.is_in = False
        self.are_passes = True

    def begin(self) -> None:
        self.is_in = True
        if self.are_passes:
            self.begun += self.out.epoch_begin(self.index) is not False

    def end(self) -> None:
        self.is_in = False
        if self.are_passes:
            self.out.epoch_end()

    def withdraw(self) -> None:
        """The passes are none."""
        if self.is_in:
            self.end()
        self.are_passes = False
