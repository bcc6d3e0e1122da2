"""What the tests of pmtop.torch share: something to learn, and a loop's own account of what it did, to be held against what pmtop says."""
import contextlib
import math
import os
import time

import torch
from torch import nn
from torch.utils.data import TensorDataset

import watching
from region_events import Region

STEP_S = 0.010


class Account:
    """turns: (mode, samples, seconds) of each body of a loop, in order."""

    def __init__(self):
        self.turns = []
        self.epochs = self.steps = 0
        self.losses = []

    @contextlib.contextmanager
    def body(self, mode="train", samples=0):
        """Around the whole body of a loop. It takes STEP_S beside its work, so that a share of its time can be distinguished from noise."""
        begin = time.perf_counter()
        try:
            yield
            time.sleep(STEP_S)
        finally:
            self.turns.append((mode, samples, time.perf_counter() - begin))

    def learn(self, model, optimizer, x, y):
        """One step; its loss is noted."""
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        self.steps += 1
        self.losses.append(loss.item())

    def check(self, learns=True, within=0.02):
        """Counts and their order are exact, times right up to the share `within`. What pmtop said: (JSON object, region).

        Of the times a tenth, where most was lost between two reads of a clock on a busy machine, is left out, but for the sum that pmtop itself gives."""
        reported, region = self.reported()
        batches = region.batches()
        assert [batch.mode for batch in batches] == [mode for mode, _, _ in self.turns]
        # The first batch has nothing to compare its evidence with, which is where samples stand.
        assert [batch.samples for batch in batches[1:]] == [samples for _, samples, _ in self.turns[1:]]
        modes = {mode: row for mode, row in reported["modes"].items() if row["count"]} if "modes" in reported else {"train": reported["batch"]}
        assert set(modes) == {batch.mode for batch in batches}
        for mode, row in modes.items():
            pairs = [((batch.end_ns - batch.begin_ns) / 1e9, seconds) for batch, (_, _, seconds) in zip(batches, self.turns) if batch.mode == mode]
            assert row["count"] == len(pairs)
            assert math.isclose(row["mean_s"] * row["count"], sum(pair[0] for pair in pairs), rel_tol=1e-6)
            pairs.sort(key=lambda pair: abs(pair[0] - pair[1]))
            kept = pairs[:len(pairs) - len(pairs) // 10 - 1] or pairs
            reported_s, truth_s = (sum(pair[i] for pair in kept) for i in (0, 1))
            assert abs(reported_s - truth_s) <= within * truth_s, f"{mode}: {reported_s} s reported, {truth_s} s were"
        assert len(reported.get("epochs", [])) == self.epochs
        assert region.counters.get("optimizer.steps", 0) == self.steps
        if learns:
            assert min(self.losses[-3:]) < 0.7 * self.losses[0], f"nothing was learnt: {self.losses}"
        return reported, region

    @staticmethod
    def reported():
        """What pmtop says of this process, now: (JSON object, region)."""
        return watching.object_of(os.getpid()), Region(os.getpid())


def data(count=32):
    """A regression that a linear model can learn."""
    x = torch.randn(count, 4, generator=torch.Generator().manual_seed(2))
    return TensorDataset(x, x @ torch.tensor([[1.0], [-2.0], [3.0], [0.5]]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def make(lr=0.05):
    """A model, the same each time, and its optimizer."""
    torch.manual_seed(1)
    model = Net()
    return model, torch.optim.SGD(model.parameters(), lr=lr)


def spans(reported, name, mode="train"):
    """How many spans of this name there were in a mode."""
    rows = reported["operations"] if mode == "train" else reported["modes"][mode]["operations"]
    return sum(row["count"] for row in rows if row["name"] == name)
