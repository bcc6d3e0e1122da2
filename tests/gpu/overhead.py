#!/usr/bin/env python3
"""What pmtop.torch.instrument() costs a step on a real GPU, whole and with each of its parts left out.

    overhead.py [ROUNDS]

Two models: one whose time is all the host's (launches), one whose time is the GPU's. Plain and instrumented loops alternate in one process; of each the
first pass after instrument() counts separately, for it has costs of its own: it looks for the modules that are trained. Medians over the rounds, in
microseconds a step: by the clock with the GPU waited for at the end of a pass, and CPU of the thread that trains. "common": the median step's CPU,
which is not a measured one."""
import gc
import statistics
import sys
import time

import pmtop.torch
import torch
from torch import nn
from torch.utils.data import DataLoader

STEPS = 500
PARTS = ("forward", "backward", "optimizer", "zero_grad", "loss", "device", "memory", "sync", "gc")
VARIANTS = {"all of it": {}, **{f"without {part}": {part: False} for part in PARTS},
            "without device, loss, memory": {"device": False, "loss": False, "memory": False}}


class Same:
    """One batch that lies on the GPU already: nothing is loaded."""

    def __init__(self, batch):
        self.batch = batch

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        return self.batch


def make(width, layers, size, fused):
    model = nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(width, width), nn.GELU())]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fused)
    loader = DataLoader(Same(torch.randn(size, width, device="cuda")), batch_size=None)

    def run():
        """(us by the clock, us of CPU, us of CPU of the median step) a step."""
        gc.collect()
        taken = []
        torch.cuda.synchronize()
        began = time.perf_counter_ns()
        first = before = time.thread_time_ns()
        for x in loader:
            optimizer.zero_grad(set_to_none=True)
            nn.functional.mse_loss(model(x), x).backward()
            optimizer.step()
            now = time.thread_time_ns()
            taken.append(now - before)
            before = now
        cpu = time.thread_time_ns() - first
        torch.cuda.synchronize()
        return (time.perf_counter_ns() - began) / STEPS / 1e3, cpu / STEPS / 1e3, statistics.median(taken) / 1e3

    return run


def show(name, rows, plain):
    reported = [statistics.median(row[i] for row in rows) for i in range(3)]
    base = [statistics.median(row[i] for row in plain) for i in range(3)]
    print(f"  {name:30}" + "".join(f" {value:+9.1f} ({value / of:+6.1%})" for value, of in zip((a - b for a, b in zip(reported, base)), base)), flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    for name, shape in {"host-bound, AdamW": (256, 2, 64, False), "GPU-bound, fused AdamW": (2048, 6, 1024, True)}.items():
        run = make(*shape)
        run(), run()
        plain, first, later = [], [], {variant: [] for variant in VARIANTS}
        for _ in range(rounds):
            plain.append(run())
            for variant, left_out in VARIANTS.items():
                with pmtop.torch.instrument(**left_out):
                    once = run()
                    later[variant].append(run())
                if not left_out:
                    first.append(once)
        print(f"{name}: plain {', '.join(f'{statistics.median(row[i] for row in plain):.1f}' for i in range(3))} us a step: clock, CPU, common CPU")
        show("the first pass", first, plain)
        for variant, rows in later.items():
            show(variant, rows, plain)


if __name__ == "__main__":
    main()
