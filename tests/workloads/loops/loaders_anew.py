"""Each epoch has a loader of its own for each of its two passes, and takes most of its time between the batches."""
import time

import torch
from truth import step

torch.set_num_threads(1)
data = torch.utils.data.TensorDataset(torch.randn(640, 16), torch.randint(0, 4, (640,)))
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters())
criterion = torch.nn.CrossEntropyLoss()
number = 0


def train(loader, e):
    global number
    for i, (inputs, classes) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(inputs), classes)
        loss.backward()
        optimizer.step()
        number += 1
        step(number, e + 1, loss=loss)
        time.sleep(0.1)


def evaluate(loader):
    with torch.no_grad():
        for inputs, classes in loader:
            loss = criterion(model(inputs), classes) * 100
            time.sleep(0.1)


for e in range(400):
    train(torch.utils.data.DataLoader(data, batch_size=16), e)
    evaluate(torch.utils.data.DataLoader(data, batch_size=64))
