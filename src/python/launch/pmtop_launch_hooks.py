"""Instruments PyTorch in a program that `pmtop -- COMMAND` started: when it creates its first DataLoader or optimizer.

Until then nothing of pmtop is imported, so that a program that imports torch but does not train, such as torchrun itself, publishes nothing.
What happens goes to the file PMTOP_LAUNCH, which pmtop reads, never to the program's own output. No error of this file reaches the program.
"""
from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import os
import sys
import threading
from typing import Any, Optional

_REPORT_BYTES_MAX = 65536
_lock = threading.Lock()
_replaced: list[tuple[type, Any, Any]] = []
_has_begun = False


class CannotInstrument(Exception):
    """Its text says why."""


def report(word: str, text: str) -> None:
    """Adds a line to the file that pmtop reads; without the file, does nothing."""
    try:
        out = os.open(os.environ.get("PMTOP_LAUNCH", ""), os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        try:
            if os.fstat(out).st_size < _REPORT_BYTES_MAX:
                os.write(out, f"{word} {os.getpid()} {' '.join(text.split())[:200]}\n".encode(errors="replace"))
        finally:
            os.close(out)
    except OSError:
        pass


# -- imports


def find(watch: Any, name: str, path: Any, target: Any) -> Any:
    """What the other finders find; its module is handed to replace() when it has been imported."""
    for finder in list(sys.meta_path):
        spec = finder.find_spec(name, path, target) if finder is not watch and hasattr(finder, "find_spec") else None
        if spec is not None:
            break
    else:
        return None
    loader = spec.loader
    try:
        execute = loader.exec_module

        def exec_module(module: Any) -> Any:
            if module.__name__ != name:  # a loader of several modules
                return execute(module)
            del loader.exec_module
            execute(module)
            try:
                imported(watch, name, module)
            except Exception as error:
                report("failed", f"{type(error).__name__}: {error}")

        loader.exec_module = exec_module
    except Exception as error:
        report("failed", f"{name} is imported in an unknown way ({type(error).__name__}: {error})")
    return spec


def imported(watch: Any, name: str, module: Any) -> None:
    """Has begin() called by the first object of the module's class. The last module removes the finder."""
    watch.waits_for = {other: kind for other, kind in watch.waits_for.items() if other != name}
    if not watch.waits_for and watch in sys.meta_path:
        sys.meta_path.remove(watch)
    cls = getattr(module, type(watch).waits_for[name])
    original = cls.__init__

    @functools.wraps(original)
    def __init__(self: Any, *arguments: Any, **more: Any) -> None:
        begin()
        original(self, *arguments, **more)

    with _lock:
        if not _has_begun:
            _replaced.append((cls, __init__, original))
            cls.__init__ = __init__


# -- instrumenting


def begin() -> None:
    """Restores the classes and instruments, once."""
    global _has_begun
    with _lock:
        if _has_begun:
            return
        _has_begun = True
        for cls, ours, original in _replaced:
            if vars(cls).get("__init__") is ours:
                cls.__init__ = original  # type: ignore[misc]
        _replaced.clear()
    try:
        if "pmtop" in sys.modules:
            report("left", "it imports pmtop itself")
        else:
            instrument()
    except CannotInstrument as why:
        report("failed", str(why))
    except Exception as error:
        report("failed", f"{type(error).__name__}: {error}")


def instrument() -> None:
    """Instruments with the environment's package, else with pmtop's own. A later call by the program itself takes over."""
    has_own = find_package()
    import pmtop
    import pmtop.torch

    original = pmtop.torch.instrument
    original()

    @functools.wraps(original)
    def instrument(*arguments: Any, **chosen: Any) -> Any:
        pmtop.torch.instrument = original
        original().close()
        return original(*arguments, **chosen)

    pmtop.torch.instrument = instrument
    if pmtop.is_enabled() or pmtop._is_importing_script():
        report("instrumented", f"{'the environment' if has_own else 'pmtop'} {pmtop.__version__}")
    else:
        report("failed", "the package pmtop cannot publish here: /dev/shm may be missing or full")


def find_package() -> bool:
    """Makes sure that `import pmtop` finds a package that can publish. Returns whether the environment has it."""
    site = os.environ.get("PMTOP_LAUNCH_PACKAGE")
    spec = importlib.util.find_spec("pmtop")
    if spec is not None:
        folders = list(spec.submodule_search_locations or [])
        if len(folders) != 1 or not os.path.exists(os.path.join(folders[0], "torch.py")):
            raise CannotInstrument(f"{(folders or [spec.origin])[0]} is named pmtop, but is another package")
        check_extension(folders[0])
        return not site or folders[0] != os.path.join(site, "pmtop")  # a spawned process has its parent's sys.path
    if not site or not os.path.exists(os.path.join(site, "pmtop", "torch.py")):
        raise CannotInstrument("the package pmtop is not installed: pip install pmtop in the program's environment")
    check_extension(os.path.join(site, "pmtop"))
    # At the end: it hides no module. Spawned processes, such as DataLoader workers, get sys.path from their parent.
    sys.path.append(site)
    return False


def check_extension(folder: str) -> None:
    """Raises unless this Python can load the package's compiled part: without it, the package would complain on standard error."""
    python = f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"
    spec: Optional[Any] = importlib.machinery.PathFinder.find_spec("pmtop._pmtop", [folder])
    is_loadable = spec is not None and spec.loader is not None
    if is_loadable and ".abi3." in str(spec.origin) and sys.version_info < (3, 10):  # type: ignore[union-attr]
        is_loadable = False
    if not is_loadable:
        raise CannotInstrument(f"the package in {folder} has no compiled part for {python}: pip install pmtop there")
    try:
        spec.loader.create_module(spec)  # type: ignore[union-attr]
    except ImportError as error:
        raise CannotInstrument(f"{python} cannot load the compiled part of the package pmtop: {error}") from None
