"""What the monitors read (memory, losses) and how they write it: the lines and tables of `pmtop -b` and `pmtop report`.

Nothing here raises, waits for a device, imports torch or starts CUDA. What cannot be had is None.
"""
import numbers
import os
import sys
import unicodedata
from typing import Any, List, NamedTuple, Optional

BYTES_PER_MB = 1e6  # as everywhere in pmtop
UNKNOWN = "–"
TABLE_WIDTH = 90
NAME_CELLS = 30
COUNT_MOST = 9_999_999

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_STATM_FIELDS = 7
_statm = -1


def resident_bytes() -> Optional[int]:
    """The resident set of this process, by the kernel's count, which may lag by some pages a thread. About 2 us: one pread."""
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
        _statm = -1  # The program may have closed it: the number may be another file's by now, so it is not ours to close.
    return None


def after_fork_in_child() -> None:
    """The descriptor that came with the fork tells of the parent. It is not closed, for the reason above."""
    global _statm
    _statm = -1


class GpuMemory(NamedTuple):
    """torch's CUDA allocator, in bytes; None: not known."""

    allocated: Optional[int]
    reserved: Optional[int]
    peak: Optional[int]
    """The most that was allocated since the process began, or since the program's own last torch.cuda.reset_peak_memory_stats()."""


GPU_GAUGES = ("cuda.allocated_bytes", "cuda.reserved_bytes", "cuda.peak_bytes")


def gpu_memory(device: Any = None) -> Optional[GpuMemory]:
    """None: CUDA is not in use (torch is not imported, or has not initialised it), so the allocator holds nothing yet.

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
        # One call into the allocator; each of those below makes one, and a dictionary of some hundred keys of it.
        stats = cuda.memory_stats_as_nested_dict(device)
        allocated = stats["allocated_bytes"]["all"]
        return GpuMemory(allocated["current"], stats["reserved_bytes"]["all"]["current"], allocated["peak"])
    except Exception:
        return GpuMemory(*(_asked(cuda, name, device) for name in ("memory_allocated", "memory_reserved", "max_memory_allocated")))


def _asked(cuda: Any, name: str, device: Any) -> Optional[int]:
    try:
        return int(getattr(cuda, name)(device))
    except Exception:
        return None


def growth_mb(before: Optional[int], after: Optional[int]) -> Optional[float]:
    return None if before is None or after is None else (after - before) / BYTES_PER_MB


def gpu_growth_mb(before: Optional[GpuMemory], after: Optional[GpuMemory]) -> Optional[float]:
    """None where CUDA is still not in use: whether there is a device at all is not known then."""
    if after is None:
        return None
    return growth_mb(0 if before is None else before.allocated, after.allocated)


def _is_plain_tensor(loss: Any, torch: Any) -> bool:
    """The value of others may lie in other processes, which would have to be asked together."""
    return type(loss) is torch.Tensor or type(loss) is torch.nn.Parameter


def plain_loss(loss: Any) -> Optional[float]:
    """The value, where no device has to be asked for it: a number, a NumPy array or a tensor on the CPU of one element."""
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
    """A loss on a CUDA device, on its way to the host behind what the device still has to do. Nothing waits for it."""

    __slots__ = ("_copy", "_event")

    def __init__(self, tensor: Any, cuda: Any) -> None:
        self._copy = tensor.detach().to("cpu", non_blocking=True)
        self._event = cuda.Event()
        self._event.record(cuda.current_stream(tensor.device))

    def is_there(self) -> bool:
        """True also where it will never come."""
        try:
            return bool(self._event.query())
        except Exception:
            return True

    def value(self) -> Optional[float]:
        """To be asked once it is there."""
        try:
            return float(self._copy) if self._event.query() else None
        except Exception:
            return None


def late_loss(loss: Any) -> Optional[LateLoss]:
    try:
        torch = sys.modules.get("torch")
        if torch is None or not _is_plain_tensor(loss, torch) or loss.device.type != "cuda" or loss.numel() != 1:
            return None
        # Asking an event would break a graph that is being captured.
        return None if torch.cuda.is_current_stream_capturing() else LateLoss(loss, torch.cuda)
    except Exception:
        return None


# What is written


def say(text: str) -> None:
    """Onto sys.stdout as it is now; where that takes only ASCII, in signs alike. What cannot be written is not."""
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
    # Adding 0 makes -0.0 of what rounds to nothing +0.0.
    return UNKNOWN if figure is None else f"{round(figure, 1) + 0.0:+.1f}"


def small_seconds(seconds: float) -> Optional[str]:
    """What three places of a second would show as 0.000, in its own unit: "451 µs"; None for all else."""
    if seconds == 0 or abs(seconds) >= 0.001:
        return None
    scaled, unit = next((seconds / scale, unit) for scale, unit in ((1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")) if abs(seconds) >= 0.9995 * scale or scale == 1e-9)
    size = abs(scaled)
    return f"{scaled:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f} {unit}"


def brief_seconds(seconds: float) -> str:
    return small_seconds(seconds) or f"{seconds:.3f}s"


def result_lines(name: str, seconds: float, cpu_mb: Optional[float], gpu_mb: Optional[float], peak_mb: Optional[float]) -> str:
    """The lines of track_performance; a figure that is not known is left out."""
    text = f"[Performance] {visible(name)}: {brief_seconds(seconds)}"
    if cpu_mb is not None:
        text += f", CPU {mb_change(cpu_mb)}MB"
    if gpu_mb is not None:
        text += f", GPU {mb_change(gpu_mb)}MB"
    if peak_mb is not None:
        text += f"\n              GPU peak: {peak_mb:.1f}MB"
    return text + "\n"


def batch_line(index: int, seconds: float, gpu: Optional[GpuMemory], resident: Optional[int]) -> str:
    """Up to the loss and the end of the line."""
    text = f"  Batch {index}: {brief_seconds(seconds)}"
    if gpu is not None and gpu.allocated is not None:
        text += f", GPU {gpu.allocated / BYTES_PER_MB:.1f}MB"
    if resident is not None:
        text += f", CPU {resident / BYTES_PER_MB:.1f}MB"
    return text


def epoch_line(seconds: float, gpu: Optional[GpuMemory], resident: Optional[int]) -> str:
    """The resident set stands there only where there is nothing to say of a GPU."""
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
    """Empty where there was no batch."""
    return "" if mean_s is None else (
        f"  Batch timing: avg={brief_seconds(mean_s)}, min={brief_seconds(least_s)}, max={brief_seconds(most_s)}\n")


def visible(text: str) -> str:
    """Control characters, and those that hide or turn others, as signs that can be seen."""
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
    """30 cells, indented by two for each depth; one that is too long ends in "…"."""
    room = NAME_CELLS - min(2 * depth, NAME_CELLS // 2)
    text = visible(name)
    cells = [_cells(sign) for sign in text]
    used = sum(cells)
    if used > room:
        kept, used = 0, 1
        while used + cells[kept] <= room:
            used += cells[kept]
            kept += 1
        text = text[:kept] + "…"
    return " " * (NAME_CELLS - room) + text + " " * (room - used)


def seconds_column(seconds: Optional[float], cells: int) -> str:
    """With 3 places, or as many as leave a blank."""
    if seconds is None:
        return UNKNOWN.rjust(cells)
    if small := small_seconds(seconds):
        return small.rjust(cells)
    texts = [f"{seconds:.{places}f}" for places in (3, 2, 1, 0)]
    return next((text for text in texts if len(text) < cells), texts[-1]).rjust(cells)


def summary_row(name: str, depth: int, seconds: float, cpu_mb: Optional[float], gpu_mb: Optional[float], peak_mb: Optional[float]) -> str:
    columns = seconds_column(seconds, 11), mb_change(cpu_mb).rjust(15), mb_change(gpu_mb).rjust(15), mb(peak_mb).rjust(12)
    return name_column(name, depth) + "".join(columns)


def aggregate_row(name: str, depth: int, count: int, total_s: float, least_s: float, most_s: float) -> str:
    shown = str(count) if count <= COUNT_MOST else _in_units(count)
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
