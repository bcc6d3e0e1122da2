"""pmtop.torch on a real CUDA device. Where there is none, all of this is left out."""
import itertools
import json
import os
import statistics
import time

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no interpreter: there is no CUDA device here", allow_module_level=True)

import pmtop
import pmtop.torch
import watching
from pmtop._torch import device as _torch_device
from pmtop._torch import transfers as _torch_transfers
from region_events import Region
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch_loop import spans


@pytest.fixture(autouse=True)
def closed(monkeypatch):
    """Every batch is measured."""
    monkeypatch.setattr(_torch_device, "_MEASURE_EVERY_NS", 0)
    yield
    torch.cuda.synchronize()
    pmtop.close()


def make(width=2048, layers=6):
    torch.manual_seed(7)
    model = nn.Sequential(*itertools.chain.from_iterable((nn.Linear(width, width), nn.GELU()) for _ in range(layers))).cuda()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-4)


def batches(width=2048, count=60, size=512):
    torch.manual_seed(8)
    return DataLoader(TensorDataset(torch.randn(count * size // 8, width).repeat(8, 1)), batch_size=size, pin_memory=True)


def train(model, optimizer, loader, within=lambda step: None, step=None, scaler=None, dtype=None):
    losses = []
    for number, (x,) in enumerate(loader):
        x = x.cuda(non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = nn.functional.mse_loss((step or model)(x), x)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.detach())
        within(number)
    return [value.item() for value in losses]


def test_times_by_the_gpu_are_what_events_of_ones_own_say():
    """Own events lie outside of pmtop's. The device sleeps first, so that all of a step is queued before it runs: between events no launch is waited for."""
    model, optimizer = make(4096)
    train(model, optimizer, batches(4096, 4, 1024))
    own = []
    with pmtop.torch.instrument() as on:
        for (x,) in batches(4096, 60, 1024):
            x = x.cuda(non_blocking=True)
            torch.cuda._sleep(40_000_000)
            optimizer.zero_grad()
            events = [torch.cuda.Event(enable_timing=True) for _ in range(6)]
            events[0].record()
            output = model(x)
            events[1].record()
            loss = nn.functional.mse_loss(output, x)
            events[2].record()
            loss.backward()
            events[3].record()
            events[4].record()
            optimizer.step()
            events[5].record()
            own.append(events)
            torch.cuda.synchronize()
        for _ in DataLoader(torch.zeros(10, 1)):
            pass
        assert on.parts["device"].is_on
        figures = Region(os.getpid()).figures()
    reported = [number for number in range(len(own)) if (number, "gpu.batch_s") in figures]
    assert len(reported) >= 50
    for name, begin, end in (("gpu.forward_s", 0, 1), ("gpu.backward_s", 2, 3), ("gpu.optimizer_s", 4, 5)):
        truth = [own[number][begin].elapsed_time(own[number][end]) / 1e3 for number in reported]
        values = [figures[number, name] for number in reported]
        # An event itself takes the device some microseconds; the loss is copied between our events and pmtop's.
        assert statistics.median(values) == pytest.approx(statistics.median(truth), rel=0.05, abs=100e-6), name
        # What else runs on the machine may delay a few.
        near = [abs(value - of) <= 0.1 * of + 200e-6 for value, of in zip(values, truth)]
        assert sum(near) >= 0.9 * len(near), name
    for number in reported:
        parts = sum(figures[number, name] for name in ("gpu.forward_s", "gpu.backward_s", "gpu.optimizer_s"))
        assert figures[number, "gpu.batch_s"] >= parts - 100e-6


def test_spans_by_the_gpu_and_peaks_of_blocks():
    """A block that only launches takes its time on the GPU alone; a small block after a large one has its own peak."""
    model, optimizer = make(512, 2)
    monitor, waiting = pmtop.PerformanceMonitor(), pmtop.PerformanceMonitor(synchronize=True)
    cycles = 20_000_000
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(20):  # the clock rises
        begin.record()
        torch.cuda._sleep(cycles)
        end.record()
        end.synchronize()
    seconds = begin.elapsed_time(end) / 1e3

    def within(step):
        with monitor.track("sleeps"):
            torch.cuda._sleep(cycles)
        with pmtop.span("idles", gpu=True), torch.profiler.record_function("block"):
            torch.cuda._sleep(cycles // 2)

    with pmtop.torch.instrument():
        train(model, optimizer, batches(512, 20), within)
        torch.cuda.synchronize()
        for _ in DataLoader(torch.zeros(10, 1)):
            pass
        figures = Region(os.getpid()).figures()
    found = {name: [value for (_, key), value in figures.items() if key == f"gpu.{name}_s"] for name in ("sleeps", "idles", "block")}
    assert min(map(len, found.values())) >= 5
    assert statistics.median(found["sleeps"]) == pytest.approx(seconds, rel=0.1)
    assert statistics.median(found["idles"]) == pytest.approx(seconds / 2, rel=0.1) == statistics.median(found["block"])
    with waiting.track("sleeps"):
        torch.cuda._sleep(cycles)
    assert waiting.get_operation_time("sleeps") == pytest.approx(seconds, rel=0.2)
    for name, megabytes in (("large", 512), ("small", 32)):
        with monitor.track("around"), monitor.track(name):
            torch.empty(megabytes << 20, dtype=torch.uint8, device="cuda")
    before = torch.cuda.memory_allocated() / 1e6
    peaks = {metric.operation: metric.gpu_peak_mb for metric in monitor.get_metrics()}
    assert peaks["large"] == pytest.approx(before + 512 * 1.048576, abs=8) and peaks["small"] == pytest.approx(before + 32 * 1.048576, abs=8)
    assert peaks["around"] == peaks["small"]


def test_nothing_waits_for_the_device():
    """set_sync_debug_mode raises at each call that does, also at those of pmtop."""
    model, optimizer = make()
    train(model, optimizer, batches(count=4))
    with pmtop.torch.instrument() as on:
        torch.cuda.set_sync_debug_mode("error")
        try:
            for (x,) in batches(count=80):
                x = x.cuda(non_blocking=True)
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), x).backward()
                optimizer.step()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert all(on.parts[name].is_on for name in ("device", "loss", "memory", "backward", "optimizer"))
        reported = Region(os.getpid())
        assert {name for _, name in reported.figures()} >= {"gpu.batch_s", "gpu.forward_s", "gpu.backward_s", "gpu.optimizer_s", "loss"}


def test_losses_come_as_they_were():
    model, optimizer = make()
    with pmtop.torch.instrument():
        losses = train(model, optimizer, batches(count=40), within=lambda step: time.sleep(0.011))
        reported = {number: value for (number, name), value in Region(os.getpid()).figures().items() if name == "loss"}
    assert len(reported) >= 30
    assert all(value == pytest.approx(losses[number], rel=1e-6) for number, value in reported.items())


@pytest.mark.parametrize("dtype, scaled", [(None, False), (torch.bfloat16, False), (torch.float16, True)])
def test_learns_bit_for_bit_the_same(dtype, scaled):
    torch.backends.cudnn.deterministic = True
    def learned(is_instrumented):
        model, optimizer = make(512, 3)
        scaler = torch.amp.GradScaler("cuda") if scaled else None
        if not is_instrumented:
            return train(model, optimizer, batches(512, 40, 64), scaler=scaler, dtype=dtype), model.state_dict()
        with pmtop.torch.instrument():
            return train(model, optimizer, batches(512, 40, 64), scaler=scaler, dtype=dtype), model.state_dict()
    plain, reported = learned(False), learned(True)
    assert plain[0] == reported[0]
    assert all(torch.equal(a, b) for a, b in zip(plain[1].values(), reported[1].values()))


def test_a_scaled_loss_is_reported_unscaled():
    model, optimizer = make(512, 3)
    with pmtop.torch.instrument():
        losses = train(model, optimizer, batches(512, 80, 64), within=lambda step: time.sleep(0.011), scaler=torch.amp.GradScaler("cuda"), dtype=torch.float16)
        reported = {number: value for (number, name), value in Region(os.getpid()).figures().items() if name == "loss"}
    assert reported and all(value == pytest.approx(losses[number], rel=1e-5) for number, value in reported.items())


def test_a_model_in_cuda_graphs_trains_and_is_reported():
    model, optimizer = make(512, 3)
    step = torch.compile(model, mode="reduce-overhead")
    with pmtop.torch.instrument() as on:
        train(model, optimizer, batches(512, 60, 64), within=lambda step: (time.sleep(0.011), torch.compiler.cudagraph_mark_step_begin()), step=step)
        assert on.parts["device"].is_on and on.parts["forward"].is_on
        reported = Region(os.getpid())
        assert len({number for number, name in reported.figures() if name == "gpu.batch_s"}) > 30


def test_a_whole_step_captured_by_hand():
    model, optimizer = make(256, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    static = torch.randn(64, 256, device="cuda")
    with pmtop.torch.instrument() as on:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                optimizer.zero_grad(set_to_none=True)
                nn.functional.mse_loss(model(static), static).backward()
                optimizer.step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            nn.functional.mse_loss(model(static), static).backward()
            optimizer.step()
        for (x,) in batches(256, 40, 64):
            static.copy_(x)
            graph.replay()
            time.sleep(0.011)
        torch.cuda.synchronize()
        assert on.parts["device"].is_on
        assert len({number for number, name in Region(os.getpid()).figures() if name == "gpu.batch_s"}) > 20


def test_memory_figures_are_the_allocators():
    model, optimizer = make()
    with pmtop.torch.instrument():
        train(model, optimizer, batches(count=20), within=lambda step: time.sleep(0.06))
        gauges, meta = Region(os.getpid()).gauges, Region(os.getpid()).meta
        assert gauges["cuda.reserved_bytes"] == torch.cuda.memory_reserved()
        # That of the process: blocks that measured their own have reset the allocator's.
        assert gauges["cuda.peak_bytes"] >= torch.cuda.max_memory_allocated()
        assert gauges["cuda.allocated_bytes"] == pytest.approx(torch.cuda.memory_allocated(), rel=0.3)
        assert meta["device"] == torch.cuda.get_device_name()
        assert meta["gpu.uuid"] == str(torch.cuda.get_device_properties(0).uuid)


def test_waits_are_reported():
    model, optimizer = make()
    with pmtop.torch.instrument():
        for (x,) in batches(count=20):
            x = x.cuda(non_blocking=True)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), x)
            loss.backward()
            optimizer.step()
            loss.item()
            (loss > 0 and loss.cpu().tolist(), torch.cuda.current_stream().synchronize())
        reported = watching.object_of(os.getpid())
        assert 4 * 18 <= spans(reported, "sync") <= 4 * 20
        assert sum(row["name"].startswith(_torch_transfers.short_name(__file__)) and row["name"].endswith(" .item()") for row in reported["operations"]) == 1


def test_copies_have_their_bytes_and_the_rate_of_pageable_memory():
    """The rate is the one that events of one's own around such a copy give."""
    much, begin, end = torch.randn(64 << 20), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    pinned, model = torch.randn(1 << 20).pin_memory(), nn.Linear(64, 64).cuda()
    optimizer, times = torch.optim.SGD(model.parameters(), lr=0.01), []
    with pmtop.torch.instrument() as on:
        for (x,) in DataLoader(TensorDataset(torch.randn(24 * 8, 64)), batch_size=8):
            torch.cuda.synchronize()
            begin.record()
            much.cuda()
            end.record()
            optimizer.zero_grad()
            model(x.cuda()).square().mean().backward()
            optimizer.step()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) / 1e3)
        reported = Region(os.getpid())
        assert on.parts["sync"].is_on and on.parts["device"].is_on
        rate = 4 * (64 << 20) / statistics.median(times)
        assert reported.gauges["transfer.pageable_bytes_per_s"] == pytest.approx(rate, rel=0.5)
        figures = [value for (_, name), value in reported.figures().items() if name == "gpu.transfer_s"]
        assert statistics.median(figures) == pytest.approx(statistics.median(times), rel=0.2)
        before = dict(reported.counters)
        pinned.to("cuda", non_blocking=True).to("cpu")
        after = Region(os.getpid()).counters
        for name in ("transfer.h2d_pinned_bytes", "transfer.d2h_bytes"):
            assert after[name] - before.get(name, 0) == 4 << 20, name


def test_the_monitor_sees_the_process_on_the_gpu():
    model, optimizer = make()
    with pmtop.torch.instrument():
        # The device's memory is reported at most every 50 ms, at the end of a batch: so the last ones are as long.
        train(model, optimizer, batches(count=40), within=lambda step: time.sleep(0.06))
        reported = json.loads(watching.pmtop("-b", "--format=json", "-n", 6, "-d", 0.5, "-p", os.getpid()).splitlines()[-1])
        gpu = reported["gpu"][0]
        assert gpu["is_ours"] and gpu["uuid"].endswith(str(torch.cuda.get_device_properties(0).uuid))
        free, total = torch.cuda.mem_get_info()
        assert gpu["memory_total_bytes"] == pytest.approx(total, rel=0.02)
        assert gpu["memory_used_bytes"] == pytest.approx(total - free, rel=0.05)
        assert gpu["process_memory_bytes"] > torch.cuda.memory_reserved()
        assert gpu["runs"][0]["reserved_bytes"] == torch.cuda.memory_reserved()
