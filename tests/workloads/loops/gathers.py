"""A generator gathers the samples of a batch, and yields it when it is full."""
import random

import torch
from torch import nn
from truth import step

torch.set_num_threads(1)
samples = [torch.randn(300) for _ in range(6390)]
model = nn.Sequential(nn.Linear(300, 600), nn.ReLU(), nn.Linear(600, 300))
optimizer = torch.optim.Adam(model.parameters())


def batches(size):
    random.shuffle(samples)
    batch = []
    for sample in samples:
        batch.append(sample)
        if len(batch) == size:
            yield torch.stack(batch)
            batch = []
    if batch:
        yield torch.stack(batch)


def train():
    done = 0
    for epoch in range(400):
        for x in batches(64):
            loss = ((model(x) - x) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            step(done, epoch + 1, loss)


train()
