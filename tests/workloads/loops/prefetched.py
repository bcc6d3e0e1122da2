"""A loop over a library's iterator around a DataLoader, and an int that goes on through the epochs."""
import os
import sys

import torch
from truth import step

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'site-packages'))
from ray.train.torch.train_loop_utils import Wrapped  # noqa: E402

torch.set_num_threads(1)
data = torch.utils.data.TensorDataset(torch.randn(1600, 64))
model = torch.nn.Sequential(torch.nn.Linear(64, 1500), torch.nn.ReLU(), torch.nn.Linear(1500, 1500))
optimizer = torch.optim.Adam(model.parameters())


def main():
    number = 0
    loader = Wrapped(torch.utils.data.DataLoader(data, batch_size=16, shuffle=True))
    for epoch in range(400):
        for x, in loader:
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            number += 1
            step(number, epoch + 1)


main()
