"""The spans of submodules, down to a depth, by their names in the outermost module: "encoder", and within it "encoder.layers.0".

nn.ModuleList and nn.ModuleDict are no level, because nobody calls them; nor are the wrappers of DistributedDataParallel and its relatives. The calls are
timed in _pmtop_modules.h, by the CPU's clock: on a GPU these are the times of the launches.
"""
from __future__ import annotations

import re
import weakref
from typing import Any

from torch import nn

_NAMES_MAX = 64
_WRAPPERS = ("module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod")
_UNCALLED = (nn.ModuleList, nn.ModuleDict)


class Submodules:
    """depth: the number of levels. spans: for _pmtop_modules.h, the span of each module by its id()."""

    def __init__(self, out: Any, depth: int) -> None:
        self.out, self.depth = out, depth
        self.spans: dict[int, Any] = {}
        self.named: set[str] = set()
        self.roots: dict[int, weakref.ref[Any]] = {}

    def add(self, root: Any) -> None:
        """An outermost module was called."""
        known = self.roots.get(id(root))
        if known is not None and known() is root:
            return
        names = names_of(root, self.depth)
        spans = {key: self.out.span(name) for key, name in names.items() if self._takes(name)}

        def forget(_: Any, key: int = id(root)) -> None:
            # Another module may get the same id.
            self.roots.pop(key, None)
            for inner in spans:
                self.spans.pop(inner, None)

        self.roots[id(root)] = weakref.ref(root, forget)
        self.spans.update(spans)

    def _takes(self, name: str) -> bool:
        if len(self.named) < _NAMES_MAX:
            self.named.add(name)
        return name in self.named


def names_of(root: Any, depth: int) -> dict[int, str]:
    """The names of the submodules by id(). Of too many, those that differ only in a number share a name: "layers.*"."""
    names: dict[int, str] = {}
    _walk(root, "", depth, names)
    if len(set(names.values())) > _NAMES_MAX:
        names = {key: re.sub(r"(^|\.)\d+(?=\.|$)", r"\1*", name) for key, name in names.items()}
    return names


def _walk(module: Any, prefix: str, depth: int, names: dict[int, str]) -> None:
    for name, child in vars(module).get("_modules", {}).items():
        if child is None:
            continue
        path = f"{prefix}.{name}" if prefix else name
        if name in _WRAPPERS:
            _walk(child, prefix, depth, names)
        elif isinstance(child, _UNCALLED):
            _walk(child, path, depth, names)
        else:
            names.setdefault(id(child), path)
            if depth > 1:
                _walk(child, path, depth - 1, names)
