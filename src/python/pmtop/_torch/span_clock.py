"""Times by the GPU's clock of pmtop.span(name, gpu=True), of monitors' blocks and of the program's own ranges: "gpu.NAME_s" of a measured batch."""
from __future__ import annotations

from threading import get_ident
from typing import Any, Optional

from pmtop import _pmtop

from .device import Device

_NAMES_MAX = 32
_OTHERS = frozenset(("batch", "forward", "criterion", "backward", "optimizer", "transfer"))
"""pmtop.torch measures these itself."""


class SpanClock:
    """Marks of the open spans of the thread that trains. Of spans within another of the same name only the outermost is measured."""

    def __init__(self, device: Device, loop: Any) -> None:
        self.device, self.loop = device, loop
        self.open: dict[str, list[Any]] = {}
        self.figures: dict[str, Optional[str]] = {}

    def install(self) -> None:
        """From now on the compiled part calls begin() and end()."""
        _pmtop.connect_gpu_clock(self.begin, self.end)

    def remove(self) -> None:
        """It calls nothing any more."""
        _pmtop.connect_gpu_clock(None, None)

    def begin(self, name: str) -> None:
        """A span begins."""
        if self.device.measures and self.loop.owner == get_ident():
            marks = self.open.setdefault(name, [])
            marks.append(None if marks else self.device.mark())

    def end(self, name: str) -> None:
        """The innermost span of this name ends."""
        marks = self.open.get(name)
        if not marks or self.loop.owner != get_ident():
            return
        mark, figure = marks.pop(), self._figure(name)
        if figure is not None:
            self.device.note(figure, mark)

    def _figure(self, name: str) -> Optional[str]:
        if name not in self.figures and len(self.figures) < _NAMES_MAX:
            self.figures[name] = None if name in _OTHERS else f"gpu.{name}_s"
        return self.figures.get(name)
