"""The figures that the monitors read (memory, losses) and their formats, which are those of `pmtop -b` and `pmtop report`.

Nothing here raises, waits for a device, imports torch or initialises CUDA. An unknown figure is None.
"""
import numbers
import os
import sys
import unicodedata
from typing import Any, List, NamedTuple, Optional

BYTES_PER_MB = 1e6
UNKNOWN = "–"
TABLE_WIDTH = 90
NAME_CELLS = 30
COUNT_MAX = 9_999_999

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_STATM_FIELDS = 7
_statm = -1


def resident_bytes() -> Optional[int]:
    """The resident set of this process, by the kernel's count, which may lag by some pages per thread. About 2 us: one pread."""
    global _statm
    for _ in range(2):
        try:
            if _statm < 0:
                _statm = os.open("/proc/self/statm", os.O_RDONLY)
            fields = os.pread(_statm, 128, 0).split()
            if len(fields) == _STATM_FIELDS:
                return int(fields[1]) * _PAGE_BYTES
        except (OSError, ValueError):
            pass
        _statm = -1  # Not closed: the program may have closed it, and the number may now be another file's.
    return None


def after_fork_in_child() -> None:
    """The inherited descriptor reads the parent's memory. It is not closed, for the reason above."""
    global _statm
    _statm = -1


class GpuMemory(NamedTuple):
    """Memory of torch's CUDA allocator in bytes; None is unknown."""

    allocated: Optional[int]
    reserved: Optional[int]
    peak: Optional[int]
    """Peak since the process began, or since the last torch.cuda.reset_peak_memory_stats(), of the program or of gpu_peak."""


GPU_GAUGES = ("cuda.allocated_bytes", "cuda.reserved_bytes", "cuda.peak_bytes")


def gpu_memory(device: Any = None) -> Optional[GpuMemory]:
    """None if CUDA is not in use: torch is not imported or has not initialised it, so the allocator holds nothing.

    device: as torch.cuda.memory_allocated takes it; None is the current one."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None:
        return None
    try:
        if not cuda.is_initialized():
            return None
    except Exception:
        return GpuMemory(None, None, None)
    try:
        # One call into the allocator; each of the calls below makes one too, and builds a dictionary of some hundred keys.
        stats = cuda.memory_stats_as_nested_dict(device)
        allocated = stats["allocated_bytes"]["all"]
        return GpuMemory(allocated["current"], stats["reserved_bytes"]["all"]["current"], allocated["peak"])
    except Exception:
        return GpuMemory(*(_from_allocator(cuda, name, device) for name in ("memory_allocated", "memory_reserved", "max_memory_allocated")))


def _from_allocator(cuda: Any, name: str, device: Any) -> Optional[int]:
    try:
        return int(getattr(cuda, name)(device))
    except Exception:
        return None


def synchronize(device: Any = None) -> None:
    """Waits for the work that the device has now. Only where the user asks for it."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        if cuda is not None and cuda.is_initialized():
            cuda.synchronize(device)
    except Exception:
        pass


def growth_mb(before: Optional[int], after: Optional[int]) -> Optional[float]:
    return None if before is None or after is None else (after - before) / BYTES_PER_MB


def gpu_growth_mb(before: Optional[GpuMemory], after: Optional[GpuMemory]) -> Optional[float]:
    """None if CUDA is still not in use, because then it is unknown whether there is a device."""
    if after is None:
        return None
    return growth_mb(0 if before is None else before.allocated, after.allocated)


def _is_plain_tensor(loss: Any, torch: Any) -> bool:
    """Excludes subclasses, such as distributed tensors, whose value may need a collective call."""
    return type(loss) is torch.Tensor or type(loss) is torch.nn.Parameter


def plain_loss(loss: Any) -> Optional[float]:
    """The value, if reading it waits for no device: a number, a NumPy array or a CPU tensor with one element."""
    try:
        if isinstance(loss, numbers.Real):
            return float(loss)
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        if torch is not None and _is_plain_tensor(loss, torch):
            return float(loss.detach()) if loss.device.type == "cpu" and loss.numel() == 1 else None
        if numpy is not None and isinstance(loss, numpy.ndarray):
            return float(loss.item()) if loss.size == 1 else None
    except Exception:
        pass
    return None


class LateLoss:
    """A loss on a CUDA device, copied to the host in the device's stream order, without waiting for it."""

    __slots__ = ("_copy", "_event")

    def __init__(self, tensor: Any, cuda: Any) -> None:
        self._copy = tensor.detach().to("cpu", non_blocking=True)
        self._event = cuda.Event()
        self._event.record(cuda.current_stream(tensor.device))

    def is_there(self) -> bool:
        """True also if the loss will never arrive."""
        try:
            return bool(self._event.query())
        except Exception:
            return True

    def value(self) -> Optional[float]:
        """Call it once is_there() is true."""
        try:
            return float(self._copy) if self._event.query() else None
        except Exception:
            return None


def late_loss(loss: Any) -> Optional[LateLoss]:
    try:
        torch = sys.modules.get("torch")
        if torch is None or not _is_plain_tensor(loss, torch) or loss.device.type != "cuda" or loss.numel() != 1:
            return None
        # Querying an event would break a CUDA graph that is being captured.
        return None if torch.cuda.is_current_stream_capturing() else LateLoss(loss, torch.cuda)
    except Exception:
        return None


# Output


def print_text(text: str) -> None:
    """Writes to the current sys.stdout, with ASCII substitutes if its encoding needs them; ignores errors."""
    stream = sys.stdout
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError as error:
            alike = text.replace(UNKNOWN, "-").replace("…", "~")
            stream.write(alike.encode(error.encoding, "replace").decode(error.encoding))
    except Exception:
        pass


def mb(figure: Optional[float]) -> str:
    return UNKNOWN if figure is None else f"{figure:.1f}"


def mb_change(figure: Optional[float]) -> str:
    # Adding 0 turns -0.0 into +0.0.
    return UNKNOWN if figure is None else f"{round(figure, 1) + 0.0:+.1f}"


def small_seconds(seconds: float) -> Optional[str]:
    """Below a millisecond, which three decimals of a second show as 0.000, in a smaller unit: "451 µs"; else None."""
    if seconds == 0 or abs(seconds) >= 0.001:
        return None
    scaled, unit = next((seconds / scale, unit) for scale, unit in ((1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")) if abs(seconds) >= 0.9995 * scale or scale == 1e-9)
    size = abs(scaled)
    return f"{scaled:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f} {unit}"


def brief_seconds(seconds: float) -> str:
    return small_seconds(seconds) or f"{seconds:.3f}s"


def result_lines(name: str, seconds: float, cpu_mb: Optional[float], gpu_mb: Optional[float], peak_mb: Optional[float]) -> str:
    """The lines of track_performance, without unknown figures."""
    text = f"[Performance] {visible(name)}: {brief_seconds(seconds)}"
    if cpu_mb is not None:
        text += f", CPU {mb_change(cpu_mb)}MB"
    if gpu_mb is not None:
        text += f", GPU {mb_change(gpu_mb)}MB"
    if peak_mb is not None:
        text += f"\n              GPU peak: {peak_mb:.1f}MB"
    return text + "\n"


def batch_line(index: int, seconds: float, gpu: Optional[GpuMemory], resident: Optional[int]) -> str:
    """The line of a batch, without the loss and the newline."""
    text = f"  Batch {index}: {brief_seconds(seconds)}"
    if gpu is not None and gpu.allocated is not None:
        text += f", GPU {gpu.allocated / BYTES_PER_MB:.1f}MB"
    if resident is not None:
        text += f", CPU {resident / BYTES_PER_MB:.1f}MB"
    return text


def epoch_line(seconds: float, gpu: Optional[GpuMemory], resident: Optional[int]) -> str:
    """The line of an epoch; it shows the resident set only if no GPU memory is known."""
    text = f"  Epoch end: {brief_seconds(seconds)} total"
    if gpu is None or gpu == (None, None, None):
        return text + ("\n" if resident is None else f", CPU {resident / BYTES_PER_MB:.1f}MB\n")
    if gpu.allocated is not None:
        text += f", GPU {gpu.allocated / BYTES_PER_MB:.1f}MB"
    if gpu.reserved is not None:
        text += f", {gpu.reserved / BYTES_PER_MB:.0f}MB reserved"
    if gpu.peak is not None:
        text += f", peak {gpu.peak / BYTES_PER_MB:.0f}MB"
    return text + "\n"


def loss_end(loss: Optional[float]) -> str:
    return "\n" if loss is None else f", loss={loss:.6f}\n"


def timing_line(mean_s: Optional[float], least_s: float, most_s: float) -> str:
    """Empty if there was no batch."""
    return "" if mean_s is None else (
        f"  Batch timing: avg={brief_seconds(mean_s)}, min={brief_seconds(least_s)}, max={brief_seconds(most_s)}\n")


def visible(text: str) -> str:
    """Makes control characters visible, and those that hide or reorder others."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else _visible_sign(ord(sign)) for sign in text)


def _visible_sign(code: int) -> str:
    return "^" + chr(code ^ 0x40) if code < 0x20 or code == 0x7F else f"<U+{code:04X}>"


def _cells(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def name_column(name: str, depth: int = 0) -> str:
    """30 cells, indented by two for each depth; of a name that is too long the middle is cut out, as in pmtop report."""
    room = NAME_CELLS - min(2 * depth, NAME_CELLS // 2)
    text = visible(name)
    if sum(map(_cells, text)) > room:
        tail = (room - 1) // 3
        text = _first(text, room - 1 - tail) + "…" + _first(text[::-1], tail)[::-1]
    return " " * (NAME_CELLS - room) + text + " " * (room - sum(map(_cells, text)))


def _first(text: str, cells: int) -> str:
    """The beginning of a text, of at most so many cells."""
    used = 0
    for length, sign in enumerate(text):
        used += _cells(sign)
        if used > cells:
            return text[:length]
    return text


def seconds_column(seconds: Optional[float], cells: int) -> str:
    """With 3 decimals, or fewer so that a blank remains."""
    if seconds is None:
        return UNKNOWN.rjust(cells)
    if small := small_seconds(seconds):
        return small.rjust(cells)
    texts = [f"{seconds:.{decimals}f}" for decimals in (3, 2, 1, 0)]
    return next((text for text in texts if len(text) < cells), texts[-1]).rjust(cells)


def summary_row(name: str, depth: int, seconds: float, cpu_mb: Optional[float], gpu_mb: Optional[float], peak_mb: Optional[float]) -> str:
    columns = seconds_column(seconds, 11), mb_change(cpu_mb).rjust(15), mb_change(gpu_mb).rjust(15), mb(peak_mb).rjust(12)
    return name_column(name, depth) + "".join(columns)


def aggregate_row(name: str, depth: int, count: int, total_s: float, least_s: float, most_s: float) -> str:
    shown = str(count) if count <= COUNT_MAX else _in_units(count)
    columns = seconds_column(total_s, 8), seconds_column(total_s / count, 12), seconds_column(least_s, 13), seconds_column(most_s, 13)
    return f"{name_column(name, depth)} {shown:<7}" + "".join(columns)


def _in_units(count: int) -> str:
    size, unit = next(((count / scale, unit) for scale, unit in ((1e6, "M"), (1e9, "G")) if count < 999.5 * scale), (count / 1e12, "T"))
    return f"{size:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}{unit}"


def summary_table(rows: List[str], total_s: Optional[float], dropped: int) -> str:
    header = "Operation                      Time (s)     CPU (MB)        GPU (MB)        GPU Peak"
    earlier = [f"({dropped} earlier ones are no longer kept)"] if dropped else []
    total = name_column("TOTAL") + seconds_column(total_s, 11) + ("" if total_s is None else "s")
    return _table("PERFORMANCE SUMMARY", header, earlier + rows, ["-" * TABLE_WIDTH, total])


def aggregate_table(rows: List[str]) -> str:
    header = "Operation                      Count    Total (s)    Mean (s)     Min (s)      Max (s)"
    return _table("AGGREGATE STATISTICS (for repeated operations)", header, rows, [])


def _table(title: str, header: str, rows: List[str], foot: List[str]) -> str:
    double, single = "=" * TABLE_WIDTH, "-" * TABLE_WIDTH
    return "\n".join([double, title, double, header, single, *rows, *foot, double]) + "\n"
