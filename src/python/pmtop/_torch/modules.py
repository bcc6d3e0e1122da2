"""Forward passes, and which modules are being trained. Nothing is stored in a module, and no hook is registered.

nn.Module.__call__ reads the attribute `_compiled_call_impl` and calls it if it is not None. ForwardTimes is a descriptor of that name: it returns
a timed call for the outermost call, and the original value for inner calls and for other readers of the attribute. It is installed on nn.Module
only until it has seen which classes are called outermost, then on those classes. torch.compile ignores it.
"""
from __future__ import annotations

import gc
import weakref
from threading import get_ident
from typing import Any, Optional

import torch
from torch import nn

from pmtop import _pmtop

from .patch import Part, Patches, flag_of_compiling
from .precision import Precision
from .submodules import Submodules

_NAME = "_compiled_call_impl"
_LOSSES = getattr(nn.modules.loss, "_Loss", bool)  # a loss module is the criterion, not a forward
_LEARNING_BATCHES = 3
_LESSONS_MAX = 4
_SCANS_MAX = 8
_OWNERS_MAX = 64


class ForwardTimes(_pmtop.ModuleHook):
    """Times the outermost call of any module, in each thread; the descriptor's methods are in _pmtop_modules.h."""

    def __init__(self, patches: Patches, part: Part, loop: Any, depth: int = 0) -> None:
        self.inner = Submodules(loop.out, depth) if depth > 0 else None
        wrapped = getattr(nn.Module, "_wrapped_call_impl", None)
        code = getattr(wrapped, "__code__", None)
        more = (code, _LOSSES, loop.out.span("criterion"), torch.is_grad_enabled, *flag_of_compiling(), self.inner.spans if self.inner else {},
                loop.out.span("inference"))
        super().__init__(loop, part, loop.out.span("forward"), None, self, more)
        self.patches, self.part, self.loop = patches, part, loop
        self.precision = Precision(patches, loop)
        self.classes: set[type] = set()
        self.installed_on: set[type] = set()
        self.learnt_from = 0
        self.lessons = 0
        self.batches_until_lesson = 1
        if code is None or _NAME not in vars(nn.Module):
            part.lacks("nn.Module._compiled_call_impl")
            return
        self.learn()

    def __reduce__(self) -> Any:
        # A class that is pickled by value gets the original value, None.
        return type(None), ()

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def begins(self, module: Any, is_loss: bool) -> Optional[tuple[str, Any]]:
        """Called for a module while learning, for a new loader, and with a device. Returns the argument of ends()."""
        loop = self.loop
        begin = None
        if loop.awaits_step:
            loop.has_forward_outside(module)
        if get_ident() == loop.owner:
            if loop.watches_forward:
                loop.has_forward(module)
            if loop.device.measures:
                begin = loop.device.mark()
        if self.inner is not None:
            self.inner.add(module)
        if loop.is_learning:
            self.classes.add(type(module))
            if not is_loss and get_ident() == loop.owner:
                self.precision.called(module)
        return None if begin is None else ("gpu.criterion_s" if is_loss else "gpu.forward_s", begin)

    def ends(self, began: tuple[str, Any]) -> None:
        """Ends the interval that begins() returned."""
        self.loop.device.note(*began)

    def learn(self) -> None:
        """Installs itself on nn.Module, to see which classes are called."""
        self.lessons += 1
        self.loop.is_learning = True
        self.learnt_from = 0
        self.patches.set(nn.Module, _NAME, self)
        self.precision.watch()

    def batch_ended(self, has_forward: bool) -> None:
        """Call after a batch while learning, and after one with a backward and without a forward."""
        if self.loop.is_learning:
            self.learnt_from += has_forward
            if has_forward:
                self.precision.publish()
            if self.learnt_from >= _LEARNING_BATCHES or not has_forward and self.classes:
                self._install_on_classes()
        elif self.lessons < _LESSONS_MAX and self.part.is_on:
            self.batches_until_lesson -= 1
            if self.batches_until_lesson <= 0:
                self.batches_until_lesson = 10 ** self.lessons
                self.learn()

    def _install_on_classes(self) -> None:
        self.loop.is_learning = False
        if self.inner is not None:
            self.precision.stop()
            return  # it remains on nn.Module, for the inner modules
        for kind in self.classes - self.installed_on:
            # A subclass inherits the descriptor.
            if not any(base in self.installed_on for base in kind.__mro__):
                self.patches.set(kind, _NAME, self)
                self.installed_on.add(kind)
        self.patches.undo(nn.Module, _NAME)
        self.precision.stop()


def kinds_of(base: type) -> set[type]:
    """A class and all its subclasses."""
    found, left = {base}, [base]
    while left:
        for kind in type.__subclasses__(left.pop()):
            if kind not in found:
                found.add(kind)
                left.append(kind)
    return found


def _own_groups(optimizer: Any) -> Optional[list[dict[str, Any]]]:
    """Its param_groups; None if it has none yet, or only shows another optimizer's. After vars(optimizer) CPython would keep its attributes in a
    dict, and each step of the program would look them up there: 3,000 instructions with AdamW."""
    if isinstance(getattr(type(optimizer), "param_groups", None), property):
        return None
    try:
        groups: list[dict[str, Any]] = object.__getattribute__(optimizer, "param_groups")
        return groups
    except AttributeError:
        return None


class Optimised:
    """The modules whose parameters some optimizer has. A rare scan over all objects finds them: about 30 ms with only torch loaded."""

    def __init__(self) -> None:
        self.owners: list[tuple[weakref.ref[nn.Module], set[int]]] = []
        self.known: set[int] = set()
        self.stepping: set[int] = set()
        """id()s of the optimizers that stepped in this epoch, or in the last one if none has yet."""
        self.is_new_epoch = True
        self.is_stale = True
        self.scans = 0
        self.searches = 0
        self.parameters: dict[int, frozenset[int]] = {}
        """id() of each optimizer that was alive at the last scan: the id()s of its parameters."""

    def stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """The first step of an optimizer in this epoch. A new optimizer makes the known modules stale."""
        if self.is_new_epoch:
            self.is_new_epoch = False
            self.stepping.clear()
        self.stepping.add(id(optimizer))
        if id(optimizer) not in self.known:
            self.known.add(id(optimizer))
            self.is_stale = True

    def is_in_eval(self) -> Optional[bool]:
        """Whether all modules that are being trained are in evaluation mode. False if none are known. None if, before any step, this holds for some
        optimizers' modules only: the others may be of an earlier training, even garbage that was not collected yet."""
        if self.is_stale and self.scans < _SCANS_MAX:
            self._scan()
        stepping = self.stepping or self.known
        alive = [(module, by & stepping) for module, by in ((ref(), by) for ref, by in self.owners) if module is not None and by & stepping]
        optimizers = set().union(*(by for _, by in alive))
        training = set().union(*(by for module, by in alive if module.training))
        if training and not self.stepping and optimizers - training:
            return None
        return bool(alive) and not training

    def has_optimizer(self) -> bool:
        """Whether the process has an optimizer. Searches for one at the first, tenth, hundredth, ... call."""
        if self.known:
            return True
        self.searches += 1
        if str(self.searches).strip("0") == "1":
            self._scan()
            self.scans, self.is_stale = 0, True
        return bool(self.known)

    def have_all_stepped(self, stepped: set[int]) -> bool:
        """Whether every optimizer has stepped, but for those that share parameters with one that has."""
        if self.scans < _SCANS_MAX and (self.is_stale or not stepped <= self.parameters.keys()):
            self._scan()
        done = set().union(*(self.parameters.get(optimizer, frozenset()) for optimizer in stepped))
        return all(optimizer in stepped or not done.isdisjoint(parameters) for optimizer, parameters in self.parameters.items() if parameters)

    def _scan(self) -> None:
        self.scans += 1
        self.is_stale = False
        modules, optimizers = kinds_of(nn.Module), kinds_of(torch.optim.Optimizer)
        wanted = modules | optimizers
        found = _pmtop.instances(gc.get_objects(), wanted)
        trained: dict[int, set[int]] = {}
        self.parameters = {}
        for thing in found:
            groups = _own_groups(thing) if type(thing) in optimizers else None
            if groups is not None:
                self.known.add(id(thing))
                self.parameters[id(thing)] = frozenset(id(parameter) for group in groups for parameter in group["params"])
                for key in self.parameters[id(thing)]:
                    trained.setdefault(key, set()).add(id(thing))
        owners = []
        for thing in found:
            if type(thing) in modules:
                by = set().union(*(trained.get(id(parameter), ()) for parameter in vars(thing).get("_parameters", {}).values()))
                if by:
                    owners.append((weakref.ref(thing), by))
        self.owners = owners[::len(owners) // _OWNERS_MAX + 1]
