#!/usr/bin/env python3
"""What pmtop.torch.instrument() adds to a step: the hooks are taken out and put back every 100 steps of one loop.

    overhead.py [--cpu] [--pairs=N] [--steps=N] [--model=NAME] [--left-out]

On a GPU there are two models: one whose time is the CPU's (launches), with as many layers as make a step of about 1 ms, and one whose time is the
GPU's. With --cpu the steps take about 0.2 ms and 2 ms of one core. A pair is a block of steps with the hooks beside one without them, in
alternating order. The result is the median of the paired differences with its 95 % interval (order statistics, no distribution assumed), by the
clock (the GPU waited for at the end of a block) and by the CPU time of the thread that trains. Where there is an aim, the line after it says
whether the median meets it. --left-out repeats that with each part left out. The first block after instrument() is shown by itself: it finds the
modules that are trained. Steps after each change of the hooks are not measured: Python specializes its code again.
"""
import argparse
import gc
import itertools
import math
import statistics
import time

import pmtop.torch
import torch
from torch import nn
from torch.utils.data import DataLoader

PARTS = ("forward", "backward", "optimizer", "zero_grad", "loss", "device", "memory", "sync", "ranges", "gc")
GPU = {"host-bound, AdamW": (256, 2, 64, False), "GPU-bound, fused AdamW": (2048, 6, 1024, True)}
CPU = {"0.2 ms, AdamW": (16, 1, 8, False), "2 ms, AdamW": (256, 2, 96, False)}
AIMS = {"host-bound, AdamW": 0.01, "2 ms, AdamW": 0.005}
HOST_BOUND_US = 1000
LAYERS_MAX = 64
CONFIDENCE_Z = 1.96
SETTLED = 300
UNMEASURED = 30  # steps after a change of the hooks


class Same:
    """One batch that lies on its device already: nothing is loaded."""

    def __init__(self, batch, count):
        self.batch, self.count = batch, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.batch


class Switch:
    """Takes out what instrument() installed, and puts it back. Nothing is forgotten in between, unlike by close()."""

    def __init__(self, **left_out):
        self.instrumentation = pmtop.torch.instrument(**left_out)
        self.taken = None

    def off(self):
        if self.taken is not None:
            return
        patches, optimizers = self.instrumentation._patches, self.instrumentation._optimizers
        self.taken = [(owner, name, value) for owner, name, _, value in patches._made]
        patches.restore()
        if optimizers is not None:
            optimizers.close()
        if self.instrumentation._watches_gc:
            pmtop.unwatch_gc()

    def on(self):
        if self.taken is None:
            return
        for owner, name, value in self.taken:
            self.instrumentation._patches.set(owner, name, value)
        self.taken = None
        if self.instrumentation._optimizers is not None:
            self.instrumentation._optimizers.open()
        if self.instrumentation._watches_gc:
            pmtop.watch_gc()


def interval(values):
    """(median, low, high): the 95 % interval of the median by order statistics."""
    ordered = sorted(values)
    reach = CONFIDENCE_Z * math.sqrt(len(ordered)) / 2
    low, high = math.floor(len(ordered) / 2 - reach), math.ceil(len(ordered) / 2 + reach)
    return statistics.median(ordered), ordered[max(low, 0)], ordered[min(high, len(ordered) - 1)]


class Bench:
    """A model and its loop."""

    def __init__(self, device, shape, steps):
        width, layers, size, fused = shape
        torch.manual_seed(1)
        self.device, self.steps = device, steps
        self.model = nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(width, width), nn.GELU())]).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, **({"fused": True} if fused else {}))
        self.batch = torch.randn(size, width, device=device)

    def turns(self, count):
        return iter(DataLoader(Same(self.batch, count), batch_size=None))

    def block(self, turns, count=None):
        """(us by the clock, us of CPU) a step, over one block."""
        model, optimizer, loss_of = self.model, self.optimizer, nn.functional.mse_loss
        left = count or self.steps
        self.wait()
        clock, cpu = time.perf_counter_ns(), time.thread_time_ns()
        for x in turns:
            optimizer.zero_grad(set_to_none=True)
            loss_of(model(x), x).backward()
            optimizer.step()
            left -= 1
            if not left:
                break
        cpu = time.thread_time_ns() - cpu
        self.wait()
        return (time.perf_counter_ns() - clock) / (count or self.steps) / 1e3, cpu / (count or self.steps) / 1e3

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def measure(self, pairs, has_loader, **left_out):
        """(the first block, the blocks without hooks, those with them): each block's (clock, CPU) in us a step."""
        switch = Switch(**left_out)
        count = self.steps + SETTLED + (self.steps + UNMEASURED) * 2 * pairs + 1
        turns = self.turns(count) if has_loader else itertools.repeat(self.batch, count)
        self.wait()
        gc.collect()
        first = self.block(turns)
        self.block(turns, SETTLED)
        rows = {True: [], False: []}
        for pair in range(pairs):
            for has_hooks in ((False, True), (True, False))[pair % 2]:
                if not has_hooks:
                    switch.off()
                else:
                    switch.on()
                self.block(turns, UNMEASURED)
                gc.collect()
                rows[has_hooks].append(self.block(turns))
        switch.on()
        switch.instrumentation.close()
        return first, rows[False], rows[True]


def deep_enough(device, shape, steps):
    """The shape with as many layers as make a step of about HOST_BOUND_US."""
    width, layers, size, fused = shape
    for _ in range(3):
        bench = Bench(device, (width, layers, size, fused), steps)
        turns = bench.turns(SETTLED + steps)
        bench.block(turns, SETTLED)
        layers = min(LAYERS_MAX, max(1, round(layers * HOST_BOUND_US / bench.block(turns)[0])))
    return width, layers, size, fused


def aim_text(aim, plain, hooked):
    """Whether the medians meet the aim, a ratio."""
    texts = []
    for index, what in enumerate(("clock", "CPU")):
        more = statistics.median(on[index] - off[index] for on, off in zip(hooked, plain))
        ratio = more / statistics.median(off[index] for off in plain)
        texts.append(f"{what} {ratio:.2%} {'meets' if ratio <= aim else 'misses'} it")
    return f"  aim {aim:.1%}: " + ", ".join(texts)


def row_text(name, plain, hooked):
    texts = []
    for index, what in enumerate(("clock", "CPU")):
        differences = [on[index] - off[index] for on, off in zip(hooked, plain)]
        base = statistics.median(off[index] for off in plain)
        middle, low, high = interval(differences)
        texts.append(f"{what} {middle:+7.2f} us [{low:+.2f}, {high:+.2f}] {middle / base:+7.2%} [{low / base:+.2%}, {high / base:+.2%}]")
    return f"  {name:18} " + "   ".join(texts)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cpu", action="store_true")
    options.add_argument("--pairs", type=int, default=60)
    options.add_argument("--steps", type=int, default=100)
    options.add_argument("--model", default="")
    options.add_argument("--left-out", action="store_true")
    given = options.parse_args()
    if given.cpu:
        torch.set_num_threads(1)
    for name, shape in (CPU if given.cpu else GPU).items():
        if not name.startswith(given.model):
            continue
        device = "cpu" if given.cpu else "cuda"
        if name.startswith("host-bound"):
            shape = deep_enough(device, shape, given.steps)
        bench = Bench(device, shape, given.steps)
        bench.block(bench.turns(SETTLED), SETTLED)
        for has_loader in (True, False):
            first, plain, hooked = bench.measure(given.pairs, has_loader)
            base = [statistics.median(row[index] for row in plain) for index in (0, 1)]
            kind = "over a loader" if has_loader else "without a loader"
            print(f"{name}, {shape[1]} layers, {kind}: {base[0]:.1f} us a step by the clock, {base[1]:.1f} us of CPU; {given.pairs} pairs of {given.steps} steps")
            print(f"  the first block    clock {first[0] - base[0]:+7.2f} us   CPU {first[1] - base[1]:+7.2f} us")
            print(row_text("all parts", plain, hooked), flush=True)
            if name in AIMS:
                print(aim_text(AIMS[name], plain, hooked), flush=True)
        for part in PARTS if given.left_out else ():
            _, plain, hooked = bench.measure(given.pairs, True, **{part: False})
            print(row_text(f"without {part}", plain, hooked), flush=True)


if __name__ == "__main__":
    main()
