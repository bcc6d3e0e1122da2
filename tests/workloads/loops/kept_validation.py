"""A kept iterator validates one batch in each fourth step, before or after it."""
import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset
from truth import step

is_before = sys.argv[2] == 'before'


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        time.sleep(0.1)
        return x * 1

    @staticmethod
    def backward(context, gradient):
        time.sleep(0.2)
        return gradient


def validate(batches):
    with torch.no_grad():
        x, y = next(batches)
        return torch.nn.functional.cross_entropy(Slow.apply(model(x)), y)


torch.set_num_threads(1)
model = torch.nn.Linear(256, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
training, held_out = (DataLoader(TensorDataset(torch.randn(16 * batches, 256), torch.randint(0, 10, (16 * batches,))), batch_size=16) for batches in (100, 1000))
held = iter(held_out)
done = 0
for epoch in range(400):
    for x, y in training:
        if is_before and done % 4 == 0:
            validate(held)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(Slow.apply(model(x)), y).backward()
        optimizer.step()
        done += 1
        if not is_before and done % 4 == 0:
            validate(held)
        step(done, epoch + 1)
