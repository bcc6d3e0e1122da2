"""What the tests of the monitors stand on: a world that moves as they say, an account of what is published, a torch that they made up."""
import pathlib
import sys
import types

import pmtop
import pmtop.monitor
import pytest
from pmtop import monitor as module
from pmtop._profiling import figures as _figures
from pmtop._profiling import measure as _measure

MB = 10**6
GUIDE = pathlib.Path(__file__).resolve().parent / "guide"


def guide(name):
    """A file of guide/."""
    return (GUIDE / name).read_text(encoding="utf-8")


class World:
    """Time, resident set and GPU memory as the test says; work() moves them."""

    def __init__(self):
        self.now, self.resident, self.allocated, self.reserved, self.peak = 10**9, 100 * MB, None, 0, 0

    def work(self, seconds, cpu_mb=0.0, gpu_mb=0.0, peak_mb=0.0):
        self.now += round(seconds * 1e9)
        self.resident += round(cpu_mb * MB)
        if self.allocated is not None:
            self.allocated += round(gpu_mb * MB)
            self.peak = max(self.peak, round(peak_mb * MB))

    def gpu_memory(self, device):
        return None if self.allocated is None else _figures.GpuMemory(self.allocated, self.reserved, self.peak)


@pytest.fixture
def world(monkeypatch):
    world = World()
    for owner in (module, _measure):
        monkeypatch.setattr(owner, "perf_counter_ns", lambda: world.now)
    monkeypatch.setattr(_figures, "resident_bytes", lambda: world.resident)
    monkeypatch.setattr(_figures, "gpu_memory", world.gpu_memory)
    return world


@pytest.fixture
def reported(monkeypatch):
    """What is published, in order; spans as ("begin", name) and ("end", name)."""
    reported = []

    class Span:
        def __init__(self, name, memory=False, gpu=False):
            assert memory and gpu
            self.name = name

        def __enter__(self):
            reported.append(("begin", self.name))

        def __exit__(self, *exception):
            reported.append(("end", self.name))

    monkeypatch.setattr(pmtop, "span", Span)
    monkeypatch.setattr(pmtop, "span_past", lambda name, begin_ns, end_ns: reported.append(("past", name)))
    for name in ("epoch_begin", "epoch_end", "batch_begin", "batch_end", "batch_figure", "gauge", "meta"):
        monkeypatch.setattr(pmtop, name, lambda *values, name=name: reported.append((name, *values)))
    monkeypatch.setattr(pmtop, "batch_number", lambda: 40 + sum(event[0] == "batch_end" for event in reported))
    return reported


def is_well_nested(reported):
    open_ones = []
    for event, name in reported:
        if event == "begin":
            open_ones.append(name)
        elif event == "end":
            assert open_ones.pop() == name
    assert not open_ones


class FakeTensor:
    """A tensor on a CUDA device: any look at its value before the device is done is a mistake, which is counted."""
    read_early = 0

    def __init__(self, value, done):
        self.value, self.done, self.device = value, done, types.SimpleNamespace(type="cuda")

    def numel(self):
        return 1

    def detach(self):
        return self

    def to(self, device, non_blocking=False):
        assert (device, non_blocking) == ("cpu", True)
        FakeTensor.copied = self
        return self

    def __float__(self):
        if not self.done:
            FakeTensor.read_early += 1
        return self.value

    item = cpu = __float__


def fake_torch(monkeypatch, **calls):
    """A torch that has nothing but these in torch.cuda."""
    torch = types.ModuleType("torch")
    torch.cuda, torch.Tensor = types.SimpleNamespace(**calls), FakeTensor
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch
