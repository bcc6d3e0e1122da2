"""Minibatches by index in a loop of epochs, as many tutorials have it."""
import torch
from torch import nn
from truth import lap, step

torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(200, 400), nn.ReLU(), nn.Linear(400, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
X, Y = torch.randn(6400, 200), torch.randint(0, 10, (6400,))


def train():
    done = 0
    lap('outside')
    for epoch in range(400):
        order = torch.randperm(len(X))
        for i in range(0, len(X), 64):
            chosen = order[i:i + 64]
            x, y = X[chosen].repeat(16, 1), Y[chosen].repeat(16)
            lap('data')
            output = model(x)
            lap('forward')
            loss = nn.functional.cross_entropy(output, y)
            optimizer.zero_grad()
            lap('other')
            loss.backward()
            lap('backward')
            optimizer.step()
            lap('optimizer')
            done += 1
            step(done, epoch + 1, loss)
            lap('other')


train()
