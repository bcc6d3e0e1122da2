"""Batches that take almost no time to fetch come through generators, one or two (argument 2), each of which hands on each item."""
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


def train_one_epoch(epoch):
    global done
    for i, x in enumerate(generators(loader)):
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done += 1
        step(done, epoch + 1, loss)


generators = {'1': log_every, '2': twice}[sys.argv[2]]
model = nn.Sequential(*(nn.Linear(1500, 1500) for _ in range(4)))
optimizer, loader = torch.optim.SGD(model.parameters(), lr=0.01), DataLoader(Ready(), batch_size=None)
for epoch in range(400):
    train_one_epoch(epoch)
