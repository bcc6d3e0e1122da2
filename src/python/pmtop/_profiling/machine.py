"""Readings of the machine: processors, memory, disks, network and temperatures from /proc and /sys, the GPU by NVML.

Nothing here raises or imports a module that is not Python's own. An unknown figure is None.
"""
import glob
import os
import sys
from time import monotonic_ns
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from pmtop._profiling import figures

_NS_PER_MS = 1e6
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
_NO_DISKS = ("loop", "ram", "zram", "fd", "sr")
_IO_TICKS = 12
"""The field of /proc/diskstats with the milliseconds in which a disk was busy (the kernel's Documentation/admin-guide/iostats.rst, field 10)."""


class Reading(NamedTuple):
    """Counters of the machine at one moment."""

    time_ns: int
    cpu: Optional[Tuple[int, int, int]]
    """Ticks since boot: busy, waiting for a disk, all."""
    memory_percent: Optional[float]
    disks_busy_ms: Optional[Dict[str, int]]
    network: Optional[Tuple[int, int]]
    """Bytes since boot: sent, received."""


class SystemStats(NamedTuple):
    """The machine between two readings, all of its processes together."""

    cpu_percent: Optional[float]
    """Of all processors."""
    memory_percent: Optional[float]
    disk_io_percent: Optional[float]
    """Time in which the busiest disk had requests."""
    disk_io_wait_percent: Optional[float]
    """Time of the processors that were idle while a process waited for a disk."""
    network_sent_mb_per_s: Optional[float]
    network_received_mb_per_s: Optional[float]
    cpu_temp_c: Optional[float]
    gpu_utilization_percent: Optional[float]
    gpu_temp_c: Optional[float]


def read(network: bool = False) -> Reading:
    """Takes about 0.1 ms."""
    return Reading(monotonic_ns(), _cpu_ticks(), memory_percent(), _disks_busy_ms(), _network_bytes() if network else None)


def between(before: Reading, after: Reading, cpu_temp_c: Optional[float] = None, gpu: "Optional[GpuReading]" = None) -> SystemStats:
    """The stats of the time between two readings. Figures of counters that have not advanced are None."""
    busy, waiting = _cpu_percents(before.cpu, after.cpu)
    sent, received = _network_rates(before, after)
    return SystemStats(
        busy, after.memory_percent, _disk_percent(before, after), waiting, sent, received,
        cpu_temp_c, gpu.utilization_percent if gpu else None, gpu.temp_c if gpu else None,
    )


def _lines(path: str) -> List[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _cpu_ticks() -> Optional[Tuple[int, int, int]]:
    try:
        user, nice, system, idle, waiting, *others = (int(word) for word in _lines("/proc/stat")[0].split()[1:9])
        total = user + nice + system + idle + waiting + sum(others)
        return total - idle - waiting, waiting, total
    except (IndexError, ValueError):
        return None


def _cpu_percents(before: Optional[Tuple[int, int, int]], after: Optional[Tuple[int, int, int]]) -> Tuple[Optional[float], Optional[float]]:
    if before is None or after is None or after[2] <= before[2]:
        return None, None
    total = after[2] - before[2]
    # The kernel may correct its count of waiting downwards.
    return tuple(min(100.0, max(0.0, 100 * (b - a) / total)) for a, b in zip(before[:2], after[:2]))  # type: ignore[return-value]


def memory_percent() -> Optional[float]:
    """Memory of the machine that is not available to a new process."""
    found = {}
    for line in _lines("/proc/meminfo"):
        key, _, rest = line.partition(":")
        if key in ("MemTotal", "MemAvailable") and rest.split():
            found[key] = float(rest.split()[0])
    total, available = found.get("MemTotal"), found.get("MemAvailable")
    return None if not total or available is None else 100 * (1 - available / total)


def _disks_busy_ms() -> Optional[Dict[str, int]]:
    disks = {}
    for fields in (line.split() for line in _lines("/proc/diskstats")):
        if len(fields) > _IO_TICKS and not fields[2].startswith(_NO_DISKS):
            disks[fields[2]] = int(fields[_IO_TICKS])
    return disks or None


def _disk_percent(before: Reading, after: Reading) -> Optional[float]:
    elapsed_ms = (after.time_ns - before.time_ns) / _NS_PER_MS
    if not before.disks_busy_ms or not after.disks_busy_ms or elapsed_ms <= 0:
        return None
    # The kernel's counters have 32 bits in older versions.
    shares = [(busy - before.disks_busy_ms[disk]) % 2**32 / elapsed_ms for disk, busy in after.disks_busy_ms.items() if disk in before.disks_busy_ms]
    return min(100.0, 100 * max(shares)) if shares else None


def _network_bytes() -> Optional[Tuple[int, int]]:
    sent = received = 0
    lines = [line for line in _lines("/proc/net/dev") if ":" in line]
    for name, _, rest in (line.partition(":") for line in lines):
        fields = rest.split()
        if name.strip() != "lo" and len(fields) >= 9:
            received += int(fields[0])
            sent += int(fields[8])
    return (sent, received) if lines else None


def _network_rates(before: Reading, after: Reading) -> Tuple[Optional[float], Optional[float]]:
    seconds = (after.time_ns - before.time_ns) / 1e9
    if before.network is None or after.network is None or seconds <= 0:
        return None, None
    sent, received = ((b - a) / figures.BYTES_PER_MB / seconds for a, b in zip(before.network, after.network))
    return (sent, received) if sent >= 0 and received >= 0 else (None, None)


def cpu_temp_c() -> Optional[float]:
    """The hottest sensor of the processors."""
    found = []
    for name in glob.glob("/sys/class/hwmon/hwmon*/name"):
        if _lines(name)[:1] and _lines(name)[0] in _CPU_SENSORS:
            found += [line for path in glob.glob(os.path.dirname(name) + "/temp*_input") for line in _lines(path)[:1]]
    for kind in glob.glob("/sys/class/thermal/thermal_zone*/type") if not found else ():
        if _lines(kind)[:1] == ["x86_pkg_temp"]:
            found += _lines(os.path.dirname(kind) + "/temp")[:1]
    degrees = [int(text) / 1000 for text in found if text.lstrip("-").isdigit()]
    return max(degrees) if degrees else None


class GpuReading(NamedTuple):
    """The GPU at one moment, by its driver."""

    utilization_percent: Optional[float]
    """Of the driver's last sampling interval: time in which a kernel ran."""
    temp_c: Optional[float]


class Gpu:
    """One NVIDIA GPU, by the driver's library, which is loaded at the first read(). Without a driver every figure is None."""

    def __init__(self, device: Any = None) -> None:
        self._device = device
        self._library: Any = None
        self._handle: Any = None
        self._has_failed = False

    def read(self) -> Optional[GpuReading]:
        """None if CUDA is not in use: pmtop initialises no driver that the program does not use."""
        if self._has_failed or not is_cuda_in_use():
            return None
        try:
            if self._handle is None:
                self._open()
            return GpuReading(self._utilization(), self._temperature())
        except Exception:
            self._has_failed = True
            return None

    def _open(self) -> None:
        import ctypes

        library = ctypes.CDLL("libnvidia-ml.so.1")
        if library.nvmlInit_v2():
            raise OSError("nvmlInit failed")
        uuid = str(sys.modules["torch"].cuda.get_device_properties(_device_number(self._device)).uuid)
        handle = ctypes.c_void_p()
        prefix = "" if uuid.startswith(("GPU-", "MIG-")) else "GPU-"
        if library.nvmlDeviceGetHandleByUUID((prefix + uuid).encode(), ctypes.byref(handle)):
            raise OSError("the driver does not know the GPU")
        self._library, self._handle = library, handle

    def _utilization(self) -> Optional[float]:
        import ctypes

        # The structure nvmlUtilization_t: two unsigned ints, of the processors and of the memory.
        rates = (ctypes.c_uint * 2)()
        failed = self._library.nvmlDeviceGetUtilizationRates(self._handle, rates)
        return None if failed else float(rates[0])

    def _temperature(self) -> Optional[float]:
        import ctypes

        degrees = ctypes.c_uint()
        failed = self._library.nvmlDeviceGetTemperature(self._handle, 0, ctypes.byref(degrees))
        return None if failed else float(degrees.value)


def _device_number(device: Any) -> int:
    torch = sys.modules["torch"]
    if device is None:
        return int(torch.cuda.current_device())
    if isinstance(device, int):
        return device
    index = torch.device(device).index
    return int(torch.cuda.current_device() if index is None else index)


def is_cuda_in_use() -> bool:
    """Whether torch is imported and has initialised CUDA."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        return cuda is not None and bool(cuda.is_initialized())
    except Exception:
        return False


def gpu_memory_ratio(device: Any = None) -> Optional[float]:
    """Share of the GPU's memory that is in use, by all processes; 0 to 1."""
    if not is_cuda_in_use():
        return None
    try:
        free, total = sys.modules["torch"].cuda.mem_get_info(device)
        return 1 - free / total
    except Exception:
        return None


def gpu_name(device: Any = None) -> Optional[str]:
    """The driver's name of the GPU."""
    if not is_cuda_in_use():
        return None
    try:
        return str(sys.modules["torch"].cuda.get_device_name(device))
    except Exception:
        return None
