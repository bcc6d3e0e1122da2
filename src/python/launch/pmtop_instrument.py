"""Run by `pmtop instrument PID` in the main thread of a running program, in a namespace of its own (PEP 768).

pmtop copies it into a private folder and puts two lines before it: FOLDER, that folder, and SITE, pmtop's own package or "". It writes one line,
WORD TEXT, to FOLDER/report. No error of this file reaches the program.
"""


def _pmtop_instrument(folder, site):  # type: ignore[no-untyped-def]
    import _thread
    import os
    import sys

    def report(word, text):  # type: ignore[no-untyped-def]
        try:
            out = os.open(os.path.join(folder, "report"), os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
            try:
                os.write(out, f"{word} {' '.join(text.split())[:400]}\n".encode(errors="replace"))
            finally:
                os.close(out)
        except OSError:
            pass

    def load_hooks():  # type: ignore[no-untyped-def]
        import types

        hooks = types.ModuleType("pmtop_launch_hooks")
        with open(os.path.join(folder, "pmtop_launch_hooks.py"), encoding="utf-8") as file:
            exec(compile(file.read(), file.name, "exec"), hooks.__dict__)
        return hooks

    def instrument():  # type: ignore[no-untyped-def]
        hooks = load_hooks()
        packages = [name for name in hooks._NAMES if ("lightning.pytorch" if name == "lightning" else name) in sys.modules]
        if not packages:
            return "failed", "the program has imported none of PyTorch, Keras, Lightning and JAX"
        for name in packages:
            if getattr(getattr(sys.modules[name], "__spec__", None), "_initializing", False):
                return "failed", f"the program is still importing {hooks._NAMES[name]}: try again"
        if os.environ.get("PMTOP") == "0":
            return "failed", "PMTOP=0 is set in its environment"
        current = getattr(sys.modules.get("pmtop.torch"), "_current", None)
        if current is not None and current.is_open:
            return "already", "pmtop.torch.instrument() was called before"
        import importlib.util

        has_own = importlib.util.find_spec("pmtop") is not None
        is_added = not has_own and bool(site) and os.path.isdir(site) and site not in sys.path
        if is_added:
            sys.path.append(site)
        try:
            hooks.instrument(packages)
        except BaseException:
            if is_added and "pmtop" not in sys.modules and site in sys.path:
                sys.path.remove(site)
            raise
        pmtop = sys.modules["pmtop"]
        if not pmtop.is_enabled():
            return "failed", "the package pmtop cannot publish there: /dev/shm may be missing or full"
        return "instrumented", f"{hooks.names_of(packages)}, package of {'the environment' if has_own else 'pmtop'} {pmtop.__version__}"

    try:
        report(*instrument())
    except KeyboardInterrupt:
        report("failed", "it was interrupted (SIGINT)")
        _thread.interrupt_main()  # for the program, which would not see it otherwise
    except BaseException as error:
        report("failed", str(error) if type(error).__name__ == "CannotInstrument" else f"{type(error).__name__}: {error}")


_pmtop_instrument(FOLDER, SITE)  # type: ignore[name-defined]  # noqa: F821
