"""Steps that an int counts to the end of the run, through all passes over a DataLoader, or to that of an epoch. whole.py LOG WAY"""
import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from truth import step

STEPS, BATCHES, CUT = 400, 20, 15
torch.set_num_threads(1)
loader = DataLoader(TensorDataset(torch.randn(512 * BATCHES, 256)), batch_size=512, shuffle=True)
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(12)))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
done = 0


def train(batch, updates=True):
    global done
    (model(batch[0]) - batch[0]).pow(2).mean().backward()
    if updates:
        optimizer.step()
        optimizer.zero_grad()
    time.sleep(0.04)
    done += 1
    step(done)


def around():
    number = 0
    while number < STEPS:
        for batch in loader:
            train(batch)
            number += 1


def within():
    number = 0
    while True:
        for batch in loader:
            train(batch)
            number += 1
            if number == STEPS:
                return


def accumulated():
    number, end = 0, STEPS // 2
    for epoch in range(1000):
        for i, batch in enumerate(loader):
            train(batch, i % 2)
            if i % 2:
                number += 1
            if number >= end:
                break
        if number >= end:
            break


class Model:
    def __init__(self):
        self.number, self.is_test, self.total = 0, False, STEPS

    def attribute(self):
        while self.number < self.total:
            batches = iter(loader)
            batch = next(batches, None)
            while batch is not None:
                self.number += 1
                if self.number > self.total or (self.is_test and self.number > 3):
                    return
                train(batch)
                batch = next(batches, None)


def epochs():
    for epoch in range(STEPS // CUT):
        number = 0
        for batch in loader:
            train(batch)
            number += 1
            if number >= CUT:
                break


{'around': around, 'within': within, 'accumulated': accumulated, 'attribute': Model().attribute, 'epochs': epochs}[sys.argv[2]]()
