"""Passes over the training loader as epochs.

Three kinds of programs count epochs in another way, if they have any: those that begin a pass where another one has no batch left
(except StopIteration: it = iter(loader)), those that ask a loader without a length by next(), and those whose generators over two loaders take turns.
Then this class publishes no more epochs, and pmtop
drops those published so far. It shows the epochs of the program's own loop (src/model/run/loop_epochs.h). Other programs make several
passes in an epoch, one for each client or task. pmtop finds that by their loop, where the fact epochs_are_passes is published."""
from __future__ import annotations

from typing import Any, Callable


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

    def note_pass(self, is_no_epoch: bool, publish_fact: Callable[[str, object], None]) -> None:
        """Of a program that does not say how many epochs it has."""
        publish_fact("epochs_are_passes", True)
        if not is_no_epoch:
            return
        if self.is_in:
            self.end()
        self.are_passes = False
        if self.begun:
            publish_fact("epochs_withdrawn", self.begun)
