"""Batches that take almost no time to fetch come, as argument 2 says, through one generator or two, each of which hands on each item ("once", "twice"),
or from an iterator that a variable has ("variable")."""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader
from truth import step

torch.set_num_threads(1)
done = 0


class Ready(torch.utils.data.Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        return torch.rand(8, 15000)[:, :1500]


def log_every(batches):
    for batch in batches:
        yield batch


def hand_on(batches):
    for batch in batches:
        yield batch


def twice(batches):
    return hand_on(log_every(batches))


def train_batch(x, epoch):
    global done
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    done += 1
    step(done, epoch + 1, loss)


def train_one_epoch(epoch):
    for i, x in enumerate(generators[way](loader)):
        train_batch(x, epoch)


def train_by_variable(epoch):
    batches = iter(loader)
    for x in batches:
        train_batch(x, epoch)


way, generators = sys.argv[2], {'once': log_every, 'twice': twice}
model = nn.Sequential(*(nn.Linear(1500, 1500) for _ in range(4)))
optimizer, loader = torch.optim.SGD(model.parameters(), lr=0.01), DataLoader(Ready(), batch_size=None)
for epoch in range(400):
    if way == 'variable':
        train_by_variable(epoch)
    else:
        train_one_epoch(epoch)
