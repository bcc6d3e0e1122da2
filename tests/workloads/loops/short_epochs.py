"""Epochs of about 0.1 s over a DataLoader, each with a pause after it."""
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from truth import step

PAUSE_S = 0.03
torch.set_num_threads(1)
model = torch.nn.Linear(64, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = DataLoader(TensorDataset(torch.randn(2400, 64), torch.randint(0, 2, (2400,))), 16)


def train_one():
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


for epoch in range(500):
    train_one()
    step((epoch + 1) * len(loader), epoch + 1)
    time.sleep(PAUSE_S * (epoch % 3))
