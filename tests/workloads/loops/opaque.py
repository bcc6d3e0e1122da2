"""Batches of an iterator that wraps another one: nothing counts them but what the loop assigns. opaque.py LOG torch|plain."""
import sys
import time

from truth import step


class Transformed:
    """As tutorials move batches to a device."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        self.source = iter(self.batches)
        return self

    def __next__(self):
        return tuple(map(float, next(self.source)))


def batches(count):
    return filter(None, ((number, number + 1) for number in range(count)))


def plain():
    time.sleep(0.12)


def torch():
    import torch
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(300, 600), torch.nn.ReLU(), torch.nn.Linear(600, 300))
    optimizer, x = torch.optim.Adam(model.parameters()), torch.randn(256, 300)

    def train():
        begin_s = time.monotonic()
        while time.monotonic() < begin_s + 0.12:
            loss = ((model(x) - x) ** 2).mean()
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return train


def main():
    train = torch() if sys.argv[2] == 'torch' else plain
    done = 0
    for epoch in range(400):
        for x, y in Transformed(batches(50)):
            train()
            done += len((x, y)) // 2 if done % 2 == 0 else 1
            step(done, epoch + 1)
        time.sleep(0.5)


main()
