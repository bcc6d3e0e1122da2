"""Epochs of a number of steps, each of a batch of two loaders, which next() fetches and which begin anew when they have no batch left. After each epoch a
third one validates, whose iterator may have had the address of the next one."""
import time

import torch
from torch.utils.data import DataLoader, TensorDataset
from truth import step

STEPS = 60
torch.set_num_threads(1)
few, many, held_out = (DataLoader(TensorDataset(torch.randn(batches * 16, 64)), batch_size=16) for batches in (8, 20, 6))
model = torch.nn.Sequential(torch.nn.Linear(64, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def validate():
    with torch.no_grad():
        for number, (x,) in enumerate(held_out):
            model(x)
            time.sleep(0.03)


def train(epochs):
    few_batches, many_batches = iter(few), iter(many)
    for epoch in range(epochs):
        for number in range(STEPS):
            try:
                x, = next(few_batches)
            except StopIteration:
                few_batches = iter(few)
                x, = next(few_batches)
            try:
                y, = next(many_batches)
            except StopIteration:
                many_batches = iter(many)
                y, = next(many_batches)
            loss = (model(torch.cat((x, y))) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step(STEPS * epoch + number + 1, epoch + 1)
        validate()


train(400)
