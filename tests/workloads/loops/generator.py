"""Batches from a generator function, in a thread that trains while the main thread waits for it."""
import threading

import torch
from torch import nn
from truth import step

torch.set_num_threads(1)
model = nn.Linear(300, 300)
optimizer = torch.optim.Adam(model.parameters())


def batches(count):
    for _ in range(count):
        yield torch.randn(512, 300)


def fit():
    done = 0
    for epoch in range(1, 300):
        for x in batches(150):
            loss = ((model(x) - x) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            step(done, epoch, loss)


trainer = threading.Thread(target=fit)
trainer.start()
trainer.join()
