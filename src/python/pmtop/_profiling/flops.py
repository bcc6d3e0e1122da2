"""What PerformanceProfiler learns from PyTorch while a block is open: optimizer steps, samples of the DataLoaders, and the FLOPs of a step.

PyTorch is used only if the program has imported it. Everything that is installed here is removed when the last block ends.
"""
import functools
import re
import sys
import threading
from typing import Any, Callable, Dict, List, Optional

FORWARDS_MAX = 64
"""A step with more forwards than this (gradient accumulation) is not counted."""

# Dense FLOP/s of FP16 and BF16 with FP32 accumulation, by the makers' data sheets (NVIDIA, AMD). The first name that occurs counts.
PEAK_FLOPS = (
    ("B200", 2250e12), ("GH200", 989.4e12), ("H200", 989.4e12), ("H100 PCIe", 756e12), ("H100 NVL", 835e12), ("H100", 989.4e12), ("H800", 989.4e12),
    ("A100", 312e12), ("A800", 312e12), ("A30", 165e12), ("A40", 149.7e12), ("A10", 125e12), ("L40S", 362e12), ("L40", 181e12), ("L4", 121e12),
    ("V100-SXM2", 125e12), ("V100-PCIE", 112e12), ("T4", 65e12), ("RTX 6000 Ada", 364.2e12), ("RTX A6000", 154.8e12), ("RTX 4090", 165.2e12),
    ("RTX 3090", 71e12), ("MI300X", 1307.4e12), ("MI210", 181e12),
)  # fmt: skip


def peak_flops(name: Optional[str]) -> Optional[float]:
    """The peak FLOP/s of a GPU by its name; None if it is not in the table."""
    if name is None:
        return None
    return next((peak for part, peak in PEAK_FLOPS if re.search(rf"\b{part}\b", name)), None)


class Counts(threading.local):
    """What this thread has done so far."""

    steps = 0
    samples = 0
    has_samples = False


counts = Counts()


class StepFlops:
    """Counts the FLOPs of this thread, from its creation to close(), with torch.utils.flop_counter.

    counts_all: counts until close(). Otherwise it stops by itself after the first optimizer step, and in a block without a backward after its first
    forward, because counting slows the program: a few 10 us for each operation. `is_whole` is then false, unless a step was complete."""

    def __init__(self, torch: Any, counts_all: bool) -> None:
        from torch.utils.flop_counter import FlopCounterMode

        _prepare(torch, FlopCounterMode)
        self._counts_all = counts_all
        self._is_grad_enabled = torch.is_grad_enabled
        self._seen: Dict[int, int] = {}
        self._first: Any = None
        self._forwards = 0
        self._flops: Optional[float] = None
        self.step_flops: Optional[float] = None
        """Of the first step, up to the end of its optimizer."""
        self.is_whole = True
        self._mode = FlopCounterMode(display=False)
        self._owner = threading.get_ident()
        self._mode.__enter__()
        self._top_mode = torch.utils._python_dispatch._get_current_dispatch_mode
        self._entered = self._top_mode()
        self._forwards_hook = torch.nn.modules.module.register_module_forward_pre_hook(self._forward_begins)
        self._steps_hook = _optimizers().register_optimizer_step_post_hook(self._step_ends)

    def total(self) -> float:
        """FLOPs so far."""
        return float(self._mode.get_total_flops()) if self._flops is None else self._flops

    def parameters(self) -> Optional[int]:
        """Parameters of the modules that were called; None if there were none."""
        return sum(self._seen.values()) or None

    def close(self) -> None:
        """Ends counting and removes the hooks. Call in the thread that created it."""
        self._stop()
        self._forwards_hook.remove()
        # Not in _stop(): torch iterates over these hooks while it calls them.
        self._steps_hook.remove()

    def _stop(self) -> None:
        """Ends counting, unless a mode of the program is inside: leaving would end that one."""
        if self._flops is None and self._top_mode() is self._entered:
            self._flops = self.total()
            self._forwards_hook.remove()
            self._mode.__exit__(None, None, None)

    def _forward_begins(self, module: Any, arguments: Any) -> None:
        if threading.get_ident() != self._owner or self._flops is not None:
            return
        self._first = self._first or module
        if module is self._first:
            self._forwards += 1
            if self._forwards > 1 and not self._counts_all and self.step_flops is None and not self._may_train():
                self.is_whole = False
                self._stop()
                return
        for parameter in module._parameters.values():
            if parameter is not None:
                self._seen[id(parameter)] = parameter.numel()

    def _may_train(self) -> bool:
        """Whether the first forward may have had a backward: its module has gradients."""
        if not self._is_grad_enabled():
            return False
        return self._forwards <= FORWARDS_MAX and any(parameter.grad is not None for parameter in self._first.parameters())

    def _step_ends(self, optimizer: Any, arguments: Any, keywords: Any) -> None:
        if threading.get_ident() != self._owner or self._flops is not None:
            return
        if self.step_flops is None:
            self.step_flops = self.total()
        if not self._counts_all:
            self.is_whole = False
            self._stop()


@functools.lru_cache(maxsize=None)
def _prepare(torch: Any, mode: Any) -> None:
    """The first operation that is counted makes torch import modules for about 1 s, which belongs to no block."""
    with mode(display=False):
        torch.zeros(1, 1).mm(torch.zeros(1, 1))


def _optimizers() -> Any:
    """torch.optim.optimizer, which torch.optim itself hides; None if torch is not imported whole."""
    return sys.modules.get("torch.optim.optimizer")


def can_count(counts_all: bool) -> Any:
    """torch if FLOPs can be counted. A program that has compiled a function is counted only on request: counting makes it compile again."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(_optimizers(), "register_optimizer_step_post_hook"):
        return None
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    has_compiled = any(getattr(dynamo, "cached_backends", {}).values())
    return torch if counts_all or not has_compiled else None


class Watch:
    """Counts optimizer steps and samples while blocks are open, of all profilers of the process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open = 0
        self._has_failed = False
        self._remove: List[Callable[[], None]] = []

    def begin(self) -> None:
        """A block begins. Never raises."""
        with self._lock:
            self._open += 1
            loaders = sys.modules.get("torch.utils.data.dataloader")
            if not self._remove and loaders is not None and not self._has_failed:
                self._install(loaders)

    def end(self) -> None:
        """A block ends."""
        with self._lock:
            self._open -= 1
            while self._open <= 0 and self._remove:
                self._remove.pop()()

    def _install(self, loaders: Any) -> None:
        try:
            handle = _optimizers().register_optimizer_step_post_hook(_step_ends)
            self._remove.append(handle.remove)
            _sample_count.begin(loaders._BaseDataLoaderIter)
            self._remove.append(lambda: _sample_count.end(loaders._BaseDataLoaderIter))
        except Exception as error:
            self._has_failed = True
            print(f"pmtop: steps and samples are not counted: {type(error).__name__}: {error}", file=sys.stderr)


def _is_compiling() -> bool:
    return bool(getattr(getattr(sys.modules.get("torch"), "compiler", None), "is_compiling", bool)())


def _step_ends(optimizer: Any, arguments: Any, keywords: Any) -> None:
    if not _is_compiling():
        counts.steps += 1


class _SampleCount:
    """Counts the samples of each batch that a DataLoader returns."""

    def __init__(self) -> None:
        self.is_on = self._is_installed = False

    def begin(self, iterators: Any) -> None:
        self.is_on = True
        if not self._is_installed:
            self._is_installed = True
            iterators.__next__ = self._counted(iterators.__next__)

    def end(self, iterators: Any) -> None:
        """Restores the method. If other code has put its own around it since, it stays and counts nothing."""
        self.is_on = False
        original = getattr(iterators.__next__, "_uncounted", None)
        if original is not None:
            iterators.__next__ = original
            self._is_installed = False

    def _counted(self, original: Any) -> Any:
        from pmtop._torch.data import _size

        def __next__(iterator: Any) -> Any:
            batch = original(iterator)
            samples = _size(batch, 0) if self.is_on else None
            if samples is not None:
                counts.samples += samples
                counts.has_samples = True
            return batch

        __next__._uncounted = original  # type: ignore[attr-defined]
        return __next__


_sample_count = _SampleCount()
watch = Watch()
