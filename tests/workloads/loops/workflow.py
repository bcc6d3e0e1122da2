"""After mmcv's IterBasedRunner: a loop over kinds of work, inside one over all iterations; a method of the kind's name has each step. workflow.py LOG ITERATIONS..."""
import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from truth import step


class Batches:
    """Begins anew when it is over, for ever."""

    def __init__(self, loader):
        self.loader, self.iterator = loader, iter(loader)

    def __next__(self):
        try:
            return next(self.iterator)
        except StopIteration:
            self.iterator = iter(self.loader)
            return next(self.iterator)


class Runner:
    def __init__(self):
        self.model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(20)))
        self.optimizer, self._iter, self._max_iters = torch.optim.SGD(self.model.parameters(), lr=1e-3), 0, 100000

    @property
    def iter(self):
        return self._iter

    def loss(self, batches):
        x = next(batches)[0]
        return (self.model(x) - x).pow(2).mean()

    def train(self, batches):
        self.optimizer.zero_grad()
        self.loss(batches).backward()
        self.optimizer.step()
        time.sleep(0.05)
        self._iter += 1
        step(self._iter)

    @torch.no_grad()
    def val(self, batches):
        self.loss(batches)
        time.sleep(0.05)

    def run(self, batches, workflow):
        while self.iter < self._max_iters:
            for i, (kind, iterations) in enumerate(workflow):
                work = getattr(self, kind)
                for _ in range(iterations):
                    work(batches[i])


torch.set_num_threads(1)
loaders = [DataLoader(TensorDataset(torch.randn(count, 256)), batch_size=512) for count in (51200, 10240)]
Runner().run([Batches(loader) for loader in loaders], list(zip(('train', 'val'), map(int, sys.argv[2:]))))
