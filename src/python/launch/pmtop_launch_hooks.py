"""Instruments the training of a program that `pmtop -- COMMAND` started: when it creates its first DataLoader, iterator of one (some libraries have
loaders of their own over it) or optimizer of PyTorch, calls its first backward while there are parameters of modules, creates its first Trainer of
Lightning, creates its first optimizer or reads its first data in Keras, or differentiates its first function in JAX. The Trainer of transformers is
instrumented with PyTorch.

Until then nothing of pmtop is imported, so that a program that imports torch but does not train, such as torchrun itself, publishes nothing.
What happens goes to the file PMTOP_LAUNCH, which pmtop reads, never to the program's own output. No error of this file reaches the program.
"""
from __future__ import annotations

import functools
import gc
import importlib.machinery
import importlib.util
import os
import sys
import threading
from typing import Any, Optional

_REPORT_BYTES_MAX = 65536
_NAMES = {"torch": "PyTorch", "keras": "Keras", "lightning": "Lightning", "pytorch_lightning": "Lightning", "jax": "JAX"}
"""The frameworks by the packages whose modules sitecustomize.py waits for."""
_KERAS_DATA = "keras.src.trainers.epoch_iterator"
_ITERATOR = "_BaseDataLoaderIter"
_lock = threading.Lock()
_replaced: list[tuple[str, Any, str, Any, Any]] = []
"""Package, owner, the attribute's name, ours, the original."""
_begun: list[str] = []
_has_imported = False


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
    """What the other finders find; its module is handed to imported() afterwards."""
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
    """Has begin() called by the first object of one of the module's classes, or the first call of its function. The last module removes the finder."""
    watch.waits_for = {other: kind for other, kind in watch.waits_for.items() if other != name}
    if not watch.waits_for and watch in sys.meta_path:
        sys.meta_path.remove(watch)
    attributes = type(watch).waits_for[name].split()
    for attribute in [one for one in attributes if hasattr(module, one)] or attributes:
        replace(name, module, attribute)


def replace(name: str, module: Any, attribute: str) -> None:
    """Has begin() called by the first object of a class of a module, or the first call of its function."""
    package, value = name.partition(".")[0], getattr(module, attribute)
    is_iterator = attribute == _ITERATOR
    owner, attribute = (value, "__init__") if isinstance(value, type) else (module, attribute)
    original = getattr(owner, attribute)

    @functools.wraps(original)
    def first(*arguments: Any, **more: Any) -> Any:
        is_first = is_iterator and owner.__init__ is first  # else another library has wrapped it, and calls it
        call = first_backward(module, first, original) if name == "torch.autograd" else begin(package)
        if is_first and owner.__init__ is not first:
            call = owner.__init__  # instrumented now
        if name == _KERAS_DATA:
            keras_reads_data()
        result = (call or original)(*arguments, **more)
        if _NAMES[package] == "Lightning" and arguments:
            trainer_is_made(arguments[0])
        return result

    with _lock:
        if package not in _begun:
            _replaced.append((package, owner, attribute, first, original))
            setattr(owner, attribute, first)


def first_backward(module: Any, ours: Any, original: Any) -> Any:
    """The function to call. Without parameters of a module, no step of the program would be seen."""
    kind = getattr(sys.modules.get("torch.nn.parameter"), "Parameter", None)
    is_ours = module.backward is ours
    if is_ours:
        module.backward = original
    if any(type(thing) is kind for thing in gc.get_objects()):
        begin("torch")
    return module.backward if is_ours else original


# -- instrumenting


def begin(package: str) -> None:
    """Restores what was replaced and instruments, once for each framework."""
    global _has_imported
    if package in _begun:
        return
    try:
        packages = needed_by(package)
        with _lock:
            packages = [name for name in packages if name not in _begun]
            _begun.extend(packages)
            for name, owner, attribute, ours, original in _replaced:
                if name in packages and vars(owner).get(attribute) is ours:
                    setattr(owner, attribute, original)
            _replaced[:] = [row for row in _replaced if row[0] not in packages]
        if "pmtop" in sys.modules and not _has_imported:
            report("left", "it imports pmtop itself")
        elif packages:
            _has_imported = True
            instrument(packages)
    except CannotInstrument as why:
        report("failed", str(why))
    except Exception as error:
        report("failed", f"{type(error).__name__}: {error}")


def needed_by(package: str) -> list[str]:
    """The framework, after PyTorch if it trains with it: what is called later finds PyTorch instrumented, and publishes the batches in its place.
    Nothing in a spawned child that imports the script's module; PyTorch's own waits there."""
    if package == "torch":
        return ["torch"]
    process = sys.modules.get("multiprocessing.process")
    if process is not None and getattr(process.current_process(), "_inheriting", False):
        return []
    is_on_torch = _NAMES[package] == "Lightning" or (package == "keras" and sys.modules["keras"].backend.backend() == "torch")
    return ["torch", package] if is_on_torch else [package]


def names_of(packages: list[str]) -> str:
    return " and ".join(dict.fromkeys(_NAMES[package] for package in packages))


def instrument(packages: list[str]) -> None:
    """Instruments with the environment's package, else with pmtop's own."""
    has_own = find_package()
    import pmtop

    for package in packages:
        _INSTRUMENT[package]()
    if pmtop.is_enabled():
        pmtop.meta("instrumented", names_of(_begun or packages))
    if pmtop.is_enabled() or pmtop._is_importing_script():
        only = "compilations only, steps are inferred; " if packages == ["jax"] and "keras" not in _begun else ""
        report("instrumented", f"{names_of(packages)} ({only}package of {'the environment' if has_own else 'pmtop'} {pmtop.__version__})")
    else:
        report("failed", "the package pmtop cannot publish here: /dev/shm may be missing or full")


def instrument_torch() -> None:
    """A later call by the program itself takes over; those of the package's other modules join."""
    import pmtop.torch

    original = pmtop.torch.instrument
    original()

    @functools.wraps(original)
    def instrument(*arguments: Any, **chosen: Any) -> Any:
        if sys._getframe(1).f_globals.get("__name__", "").startswith("pmtop."):
            return original(*arguments, **chosen)
        pmtop.torch.instrument = original
        original().close()
        return original(*arguments, **chosen)

    pmtop.torch.instrument = instrument


def check_is_new(framework: str, is_new: bool) -> None:
    """Raises if the environment's package is of a time when launch mode instrumented PyTorch only."""
    if not is_new:
        raise CannotInstrument(f"the environment's package pmtop is too old for {framework}: pip install --upgrade pmtop there")


def instrument_keras() -> None:
    import pmtop.keras

    check_is_new("Keras", hasattr(pmtop.keras, "instrument"))
    pmtop.keras.instrument()


def keras_reads_data() -> None:
    """Keras is about to read the first batch, with which it builds the model."""
    try:
        keras = sys.modules.get("pmtop.keras")
        if keras is not None and _has_imported:
            keras.data_are_read()
    except Exception as error:
        report("failed", f"{type(error).__name__}: {error}")


def instrument_lightning() -> None:
    import pmtop.lightning

    check_is_new("Lightning", hasattr(pmtop.lightning, "instrument"))
    pmtop.lightning.instrument()


def trainer_is_made(trainer: Any) -> None:
    """The first trainer has been made before its class was instrumented."""
    try:
        lightning = sys.modules.get("pmtop.lightning")
        if lightning is not None and _has_imported:
            lightning.add_to(trainer)
    except Exception as error:
        report("failed", f"{type(error).__name__}: {error}")


def instrument_jax() -> None:
    """Its compilations only: a step is a call that JAX does not show. Without spans pmtop still infers the steps."""
    import pmtop.jax

    check_is_new("JAX", "spans" in (pmtop.jax.instrument.__kwdefaults__ or {}))
    pmtop.jax.instrument(spans=False)


_INSTRUMENT = {"torch": instrument_torch, "keras": instrument_keras, "lightning": instrument_lightning, "pytorch_lightning": instrument_lightning,
               "jax": instrument_jax}


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
