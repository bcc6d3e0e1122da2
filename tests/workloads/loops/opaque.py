"""Batches of an iterator that wraps another one: nothing counts them but what the loop assigns. opaque.py LOG torch|plain|faster."""
import sys
import time

from truth import step

BEGUN = time.monotonic()


class Transformed:
    """As tutorials move batches to a device."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        self.source = iter(self.batches)
        return self

    def __next__(self):
        item = next(self.source)
        if item[0] == 0:
            time.sleep(0.2)
        return tuple(map(float, item))


def batches(count):
    return filter(None, ((number, number + 1) for number in range(count)))


def plain():
    time.sleep(0.12)


def faster():
    """Too short to watch, after 10 s."""
    time.sleep(0.12 if time.monotonic() - BEGUN < 10 else 0.01)


def torch():
    import torch
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(2000, 2000), torch.nn.ReLU(), torch.nn.Linear(2000, 2000))
    optimizer, x = torch.optim.Adam(model.parameters()), torch.randn(48, 2000)

    def train():
        optimizer.zero_grad()
        ((model(x) - x) ** 2).mean().backward()
        optimizer.step()
        time.sleep(0.05)
    return train


def main():
    train = torch() if sys.argv[2] == 'torch' else {'plain': plain, 'faster': faster}[sys.argv[2]]
    done = 0
    for epoch in range(400):
        for x, y in Transformed(batches(50)):
            train()
            done += len((x, y)) // 2 if done % 2 == 0 else 1
            step(done, epoch + 1)


main()
