"""The device part of pmtop.torch against a stand-in for torch.cuda that is as slow, and fails in the ways, that the real one is and does."""
import contextlib
import os
import sys
import threading
import types

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
import watching
from pmtop._torch import device as _torch_device
from pmtop._torch import transfers as _torch_transfers
from pmtop._torch.device import Device
from pmtop._torch.patch import Part, Patches
from region_events import Region
from torch.utils.data import DataLoader
from torch_loop import Account, data, make, spans


class Cuda:
    """Time goes on by a millisecond with every event; what was recorded is done `lag` events later (None: never)."""

    def __init__(self, lag=3, devices=1):
        self.devices, self.lag, self.now, self.made = devices, lag, 0, 0
        self.is_capturing = False
        self.streams = set()
        self.fails = None
        cuda = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing
                cuda.made += 1

            def record(self, stream="stream 0"):
                cuda.may_fail("record")
                cuda.streams.add(stream)
                assert not cuda.is_capturing, "an event in a graph"
                cuda.now += 1
                self.at = cuda.now

            def query(self):
                cuda.may_fail("query")
                return cuda.lag is not None and cuda.now >= self.at + cuda.lag

            def elapsed_time(self, end):
                cuda.may_fail("elapsed_time")
                assert end.query()
                return float(end.at - self.at)

            def synchronize(self):
                raise AssertionError("waited for the device")

        self.Event = Event

    def may_fail(self, call):
        if self.fails == call:
            raise RuntimeError("CUDA error: the launch timed out and was terminated")

    def is_initialized(self):
        return True

    def is_current_stream_capturing(self):
        self.may_fail("is_current_stream_capturing")
        return self.is_capturing

    def current_device(self):
        return 0

    def device_count(self):
        return self.devices

    def current_stream(self, index):
        return f"stream {index}"

    def get_device_name(self, index):
        return "a stand-in" if index == 0 else f"stand-in {index}"

    def get_device_properties(self, index):
        self.may_fail("get_device_properties")
        return types.SimpleNamespace(uuid=f"0000000{index}-8d1e-4b7a-9c55-000000000000")

    def synchronize(self, *arguments):
        raise AssertionError("waited for the device")


def statistics(allocated, reserved, peak, inactive):
    return {"allocated_bytes": {"all": {"current": allocated, "peak": peak}}, "reserved_bytes": {"all": {"current": reserved}},
            "inactive_split_bytes": {"all": {"current": inactive}}}


def memory_stats(device):
    return statistics(100, 200, 300, 40)


@contextlib.contextmanager
def instrumented(cuda, stats=memory_stats, monkeypatch=None):
    pmtop.close()
    pmtop.init("device")
    parts = {name: Part(text) for name, text in pmtop.torch._PARTS.items()}
    for name in ("sync", "gc", "workers"):
        parts[name].is_on = False
    device = Device(parts["device"], parts["loss"], parts["memory"], cuda, stats)
    instrumentation = pmtop.torch.Instrumentation(parts, pmtop.torch._publisher(), sync=False, device=device)
    try:
        yield instrumentation
    finally:
        instrumentation.close()
        pmtop.close()


@pytest.fixture(autouse=True)
def every_batch_is_measured(monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.setattr(_torch_device, "_MEASURE_EVERY_NS", 0)


def train(batches=8, within=None):
    model, optimizer = make()
    for number, (x, y) in enumerate(DataLoader(data(4 * batches), batch_size=4)):
        if within is not None:
            within(number)
        optimizer.zero_grad()
        model(x).sub(y).square().mean().backward()
        optimizer.step()


def test_times_come_later_and_for_the_right_batch():
    cuda = Cuda(lag=20)
    with instrumented(cuda) as on:
        train()
        figures = Region(os.getpid()).figures()
        numbers = {number for number, _ in figures}
        assert numbers == set(range(len(numbers))) and 4 <= len(numbers) < 8
        for number in numbers:
            assert {name: figures[number, name] for name in ("gpu.forward_s", "gpu.backward_s", "gpu.optimizer_s", "gpu.batch_s")} == pytest.approx(
                {"gpu.forward_s": 0.001, "gpu.backward_s": 0.001, "gpu.optimizer_s": 0.001, "gpu.batch_s": 0.007})
        region = Region(os.getpid())
        assert region.gauges == {"cuda.allocated_bytes": 100, "cuda.reserved_bytes": 200, "cuda.peak_bytes": 300, "cuda.inactive_split_bytes": 40}
        assert region.meta["device"] == "a stand-in" and region.meta["gpu.uuid"] == "00000000-8d1e-4b7a-9c55-000000000000"
        assert on.parts["device"].is_on


def test_spans_blocks_and_ranges_have_times_by_the_gpu():
    cuda, monitor = Cuda(lag=40), pmtop.PerformanceMonitor()

    def within(number):
        with pmtop.span("augment", gpu=True), pmtop.span("augment", gpu=True), pmtop.span("plain"):
            cuda.now += 4
        with monitor.track("metrics"):
            cuda.now += 6
        with torch.profiler.record_function("my block"):
            cuda.now += 8
        with pmtop.span("forward", gpu=True), pytest.raises(KeyError):
            with pmtop.span("raises", gpu=True):
                raise KeyError
        elsewhere = threading.Thread(target=lambda: pmtop.span("elsewhere", gpu=True).__enter__().__exit__(None, None, None))
        elsewhere.start()
        elsewhere.join()

    with instrumented(cuda) as on:
        train(within=within)
        figures = Region(os.getpid()).figures()
        assert on.parts["device"].is_on
    found = {name: value for (number, name), value in figures.items() if number == 1}
    assert found == pytest.approx({"gpu.augment_s": 0.005, "gpu.metrics_s": 0.007, "gpu.my block_s": 0.009, "gpu.raises_s": 0.001, "gpu.forward_s": 0.001,
                                   "gpu.backward_s": 0.001, "gpu.optimizer_s": 0.001, "gpu.batch_s": 0.034}, abs=1e-9, rel=0.2)
    before = cuda.made
    with pmtop.span("augment", gpu=True):
        pass
    assert cuda.made == before, "measured after the end"


def test_a_model_that_lies_elsewhere_than_on_the_current_device_is_measured_there():
    """model.to(local_rank) without set_device: the current device stays 0, and holds nothing."""
    cuda, holds = Cuda(devices=4), [0, 0, 0, 0]
    with instrumented(cuda, lambda device: statistics(100 * holds[device], 200 * holds[device], 300 * holds[device], 0)) as on:
        train(2)
        assert cuda.streams == {"stream 0"} and Region(os.getpid()).meta["device"] == "a stand-in"
        holds[2], holds[3] = 5, 1
        cuda.streams.clear()
        train(8)
        assert cuda.streams == {"stream 2"} and on.parts["device"].is_on
        reported = Region(os.getpid())
        assert reported.meta["device"] == "stand-in 2" and reported.meta["gpu.uuid"].startswith("00000002-")
        assert reported.gauges["cuda.reserved_bytes"] == 1000 and reported.figures()
        holds[0] = 1
        cuda.streams.clear()
        train(2)
        assert cuda.streams == {"stream 0"} and Region(os.getpid()).meta["device"] == "a stand-in"


def test_a_torch_without_uuid_lacks_only_that():
    cuda = Cuda()
    cuda.fails = "get_device_properties"
    with instrumented(cuda) as on:
        train()
        assert "gpu.uuid" not in Region(os.getpid()).meta and Region(os.getpid()).meta["device"] == "a stand-in"
        assert on.parts["device"].is_on and on.parts["memory"].is_on


def test_a_torch_without_one_of_the_figures_publishes_the_others():
    few = memory_stats(0)
    del few["inactive_split_bytes"]
    with instrumented(Cuda(), lambda device: few) as on:
        train()
        assert set(Region(os.getpid()).gauges) == {"cuda.allocated_bytes", "cuda.reserved_bytes", "cuda.peak_bytes"}
        assert on.parts["memory"].is_on


def test_events_that_are_never_ready_are_bounded():
    cuda = Cuda(lag=None)
    with instrumented(cuda) as on:
        train(200)
        assert cuda.made == 256 and on.parts["device"].is_on
        assert Region(os.getpid()).figures() == {}
        cuda.lag = 0
        train(40)
        assert Region(os.getpid()).figures() and cuda.made == 256


def test_nothing_is_recorded_while_a_graph_is_captured():
    cuda = Cuda()

    def within(number):
        cuda.is_capturing = number % 2 == 1

    with instrumented(cuda) as on:
        train(12, within)
        cuda.is_capturing = False
        assert on.parts["device"].is_on
        numbers = {number for number, name in Region(os.getpid()).figures() if name == "gpu.forward_s"}
        assert numbers and all(number % 2 == 0 for number in numbers)


@pytest.mark.parametrize("call", ["record", "query", "elapsed_time", "is_current_stream_capturing"])
def test_a_failing_device_switches_its_part_off_and_training_goes_on(call, capfd):
    cuda = Cuda()

    def within(number):
        cuda.fails = call if number == 3 else cuda.fails

    with instrumented(cuda) as on:
        train(8, within)
        reported, region = Account.reported()
        assert reported["batch"]["count"] == spans(reported, "forward") == 8
        assert not on.parts["device"].is_on and on.parts["forward"].is_on
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("pmtop")]
    assert len(said) == 1 and "device times" in said[0] and "launch timed out" in said[0]


def test_failing_memory_figures_switch_only_themselves_off(capfd):
    def lost(device):
        raise RuntimeError("lost")

    with instrumented(Cuda(), lost) as on:
        train()
        assert not on.parts["memory"].is_on and on.parts["device"].is_on
        assert Region(os.getpid()).figures()
    assert capfd.readouterr().err.count("pmtop") == 1


def test_losses_on_the_device_are_read_when_they_have_come():
    cuda = Cuda(lag=5)
    with instrumented(cuda) as on:
        device = on._device
        losses = []

        def lies_on_device(number):
            # What Backward does for a loss that is not on the CPU.
            losses.append(torch.tensor(float(number)))
            device.loss(losses[-1])

        train(8, lies_on_device)
        reported = {number: value for (number, name), value in Region(os.getpid()).figures().items() if name == "loss"}
        assert len(reported) >= 6 and all(value == number for number, value in reported.items())


def test_losses_that_never_come_are_bounded():
    cuda = Cuda(lag=None)
    with instrumented(cuda) as on:
        train(200, lambda number: on._device.loss(torch.tensor(1.0)))
        assert len(on._device.copies) <= 64 and on.parts["loss"].is_on


def test_short_batches_are_measured_seldom(monkeypatch):
    monkeypatch.setattr(_torch_device, "_MEASURE_EVERY_NS", 10**12)
    cuda = Cuda()
    with instrumented(cuda):
        train(50)
        assert cuda.now == 8


def test_a_batch_that_is_not_measured_asks_nothing_of_the_device(monkeypatch):
    for name in ("_MEASURE_EVERY_NS", "_MEMORY_EVERY_NS"):
        monkeypatch.setattr(_torch_device, name, 10**12)
    asked = []
    for name in ("batch_begins", "mark", "note", "loss", "batch_ends", "read"):
        original = getattr(Device, name)
        monkeypatch.setattr(Device, name, lambda *arguments, name=name, original=original: asked.append(name) or original(*arguments))
    on_device = torch.ones((), device="meta", requires_grad=True)
    with instrumented(Cuda(lag=0)):
        train(5, lambda number: asked.clear() if number == 2 else number > 2 and on_device.backward())
        assert asked == []
        reported, _ = Account.reported()
        assert reported["batch"]["count"] == 5 and "loss" in reported["batch"]


def test_short_batches_are_measured_at_changing_distances_and_long_ones_each(monkeypatch):
    monkeypatch.setattr(_torch_device, "_MEASURE_EVERY_NS", 50_000_000)
    clock = types.SimpleNamespace(now=10**9, now_ns=lambda: clock.now, batch_number=lambda: clock.now)
    device = Device(Part("times"), Part("losses"), Part("memory", False), Cuda())

    def measured(batch_ns, count):
        found = []
        for _ in range(count):
            clock.now += batch_ns
            device.batch_begins(clock)
            if device.measures:
                found.append(clock.now)
            device.batch_ends(clock)
        return found

    short = measured(10**6, 2000)
    distances = [(b - a) // 10**6 for a, b in zip(short, short[1:])]
    assert min(distances) >= 25 and max(distances) <= 51 and len(set(distances)) > 10
    assert len(measured(50_000_000, 100)) == 100


def test_a_mark_is_free_where_nothing_is_measured():
    cuda = Cuda()
    device = Device(Part("times"), Part("losses"), Part("memory"), cuda)
    cuda.fails = "is_current_stream_capturing"
    assert device.mark() is None and device.part.is_on
    device.note("gpu.backward_s", None)
    assert cuda.made == 0 and device.figures == []


def test_what_began_in_another_batch_is_not_reported():
    cuda = Cuda()
    device = Device(Part("times"), Part("losses"), Part("memory"), cuda)
    device.measures, device.number = True, 1
    first, second = device.mark(), device.mark()
    device.number = 2
    device.note("gpu.backward_s", first)
    device.measures = False
    device.note("gpu.backward_s", second)
    device.measures = True
    device.note("gpu.backward_s", None)
    assert device.figures == [] and len(device.free) == cuda.made == 2
    device.note("gpu.backward_s", device.mark())
    assert [name for name, _, _ in device.figures] == ["gpu.backward_s"] and cuda.made == 2


@contextlib.contextmanager
def transfers(monkeypatch, cuda=None):
    """Copies and waits are seen: of tensors that are no leaves, as if these were on a device, and of copies to "meta". The device measures batch 0."""
    pmtop.close()
    pmtop.init("transfers")
    monkeypatch.setattr(_torch_transfers, "_NO_DEVICES", ())
    device = Device(Part("times"), Part("losses"), Part("memory"), cuda or Cuda())
    device.measures = True
    loop = types.SimpleNamespace(out=pmtop.torch._publisher(), device=device, owner=threading.get_ident())
    patches = Patches()
    _torch_transfers.Transfers(Part("transfers"), pmtop.torch._here, loop, "is_leaf").install(patches)
    try:
        yield loop
    finally:
        patches.restore()
        pmtop.close()


def far(*values):
    """A tensor that is no leaf."""
    return torch.tensor(values, requires_grad=True).view(-1)


def test_waits_are_spans_with_their_line_and_only_for_what_lies_on_a_device(monkeypatch):
    names = ("item", "cpu", "tolist", "nonzero", "to", "cuda", "copy_", "__bool__", "__float__", "__int__", "__index__")
    before, originals = {name: vars(torch.Tensor).get(name) for name in names}, [getattr(torch.Tensor, name) for name in names]
    near = torch.ones(1)
    with transfers(monkeypatch):
        assert [getattr(torch.Tensor, name) for name in names] == originals
        with monkeypatch.context() as patch:
            patch.setattr(_torch_transfers, "is_compiling", lambda: pytest.fail("asked for a tensor on the CPU"))
            assert (near.item(), near.tolist(), near.cpu() is near, bool(near), float(near), int(near)) == (1.0, [1.0], True, True, 1.0, 1)
        with pmtop.torch.paused():
            assert far(2.0).item() == 2.0
        line = sys._getframe().f_lineno + 1
        assert [far(2.0).item() for _ in range(3)] == [2.0] * 3
        assert (far(2.0).tolist(), float(far(2.0)), int(far(2.0)), bool(far(0.0))) == ([2.0], 2.0, 2, False)
        assert far(0.0, 3.0).nonzero().tolist() == [[1]]
        with pytest.raises(RuntimeError):
            far(1.0, 2.0).item()
        compiled = torch.compile(lambda x: x.to(torch.float64).cpu() * 2, backend="eager", fullgraph=True)
        assert compiled(near).item() == 2.0
        reported = watching.object_of(os.getpid())
        assert spans(reported, "sync") == 9
        assert spans(reported, f"{_torch_transfers.short_name(__file__)}:{line} .item()") == 3
    assert {name: vars(torch.Tensor).get(name) for name in before} == before


@pytest.mark.parametrize("near, measured", [(0, 40), (100, 38)])
def test_the_numbers_of_an_optimizers_steps_are_waits_where_they_lie_on_a_device(monkeypatch, near, measured):
    """Those on the CPU are asked for their place at every 17th call."""
    from torch.optim.optimizer import _get_value

    with transfers(monkeypatch):
        assert [_get_value(torch.ones(())) for _ in range(near)] == [1.0] * near
        assert [_get_value(far(2.0)) for _ in range(40)] == [2.0] * 40
        assert spans(watching.object_of(os.getpid()), "sync") == measured


def test_copies_are_spans_with_bytes_and_the_rate_of_pageable_memory(monkeypatch):
    cuda = Cuda(lag=0)
    with transfers(monkeypatch, cuda) as loop:
        near = torch.zeros(1 << 20)
        assert near.to("cpu") is near and near.to(torch.float32) is near and near.to(torch.float64).dtype is torch.float64
        assert near.to("meta").is_meta and near.to(device="meta", dtype=torch.float16).is_meta and torch.empty_like(near, device="meta").copy_(near).is_meta
        near.clone().copy_(near)
        with pytest.raises(RuntimeError):
            near.to("nowhere")
        pmtop.torch._here.inside = 1
        near.to("meta")
        pmtop.torch._here.inside = 0
        loop.device.batch_ends(pmtop)
        loop.device.read(pmtop)
        reported, region = watching.object_of(os.getpid()), Region(os.getpid())
        assert spans(reported, "transfer") == 4 and spans(reported, "sync") == 0
        assert region.counters["transfer.h2d_pageable_bytes"] == 4 * near.nbytes and "transfer.d2h_bytes" not in region.counters
        # Within forward a copy is part of its time.
        assert region.figures()[0, "gpu.transfer_s"] == pytest.approx(0.003)
        assert region.gauges["transfer.pageable_bytes_per_s"] == pytest.approx(3 * near.nbytes / 0.003)
        assert loop.device.part.is_on


def test_a_failing_measurement_of_a_copy_changes_nothing_for_training(monkeypatch, capfd):
    with transfers(monkeypatch) as loop:
        monkeypatch.setattr(_torch_transfers.Places, "span", lambda *_: 1 / 0)
        assert torch.zeros(4).to("meta").is_meta and far(2.0).item() == 2.0 and loop.device.part.is_on
    said = capfd.readouterr().err
    assert said.count("pmtop:") == 1 and "transfers are not measured: ZeroDivisionError" in said


def test_a_machine_without_cuda_pays_nothing_for_waits():
    if torch.version.cuda is not None and torch.cuda.is_available():
        pytest.skip("no interpreter: there is CUDA here")
    with pmtop.torch.instrument():
        assert all(name not in vars(torch.Tensor) for name in ("item", "cpu", "tolist", "to", "copy_", "__bool__"))
    pmtop.close()
