"""A training loop that publishes its epochs, batches, phases and losses. Plain Python, without torch.

    pmtop -- python epochs_and_batches.py
"""
import random
import sys
import time

import pmtop

SLOPE, OFFSET = 3.0, -0.5


class Loader:
    """Batches of (x, y) on a line with noise; each takes 2 ms to load."""

    def __init__(self, count, size):
        self.count, self.size, self.random = count, size, random.Random(0)

    def __len__(self):
        return self.count

    def __iter__(self):
        for _ in range(self.count):
            time.sleep(0.002)
            xs = [self.random.uniform(-1, 1) for _ in range(self.size)]
            yield [(x, SLOPE * x + OFFSET + self.random.gauss(0, 0.05)) for x in xs]


def main(epochs=5, batches=40, size=64):
    slope, offset, rate = 0.0, 0.0, 0.3
    loader = Loader(batches, size)
    for _ in pmtop.epochs(epochs):
        for batch in pmtop.batches(loader, samples=size):
            with pmtop.span("forward"):
                errors = [slope * x + offset - y for x, y in batch]
                loss = sum(error * error for error in errors) / size
                time.sleep(0.002)
            with pmtop.span("backward"):
                slope_step = sum(2 * error * x for error, (x, _) in zip(errors, batch)) / size
                offset_step = sum(2 * error for error in errors) / size
                time.sleep(0.004)
            with pmtop.span("optimizer"):
                slope, offset = slope - rate * slope_step, offset - rate * offset_step
            pmtop.batch_end(loss)
        pmtop.gauge("slope", slope)
        pmtop.mark("epoch done")
    said = pmtop.statistics()
    print(f"y = {slope:.2f} x {offset:+.2f}")
    if said["num_batches"]:
        print(f"{said['num_batches']} batches in {said['num_epochs']} epochs, {said['avg_batch_time'] * 1000:.1f} ms each")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
