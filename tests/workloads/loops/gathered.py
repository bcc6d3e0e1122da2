"""Steps of two batches each, which a generator gathers from passes over a DataLoader without end, as OpenNMT does."""
import torch
from torch.utils.data import DataLoader, TensorDataset

from truth import step

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(6400, 64), torch.randint(0, 10, (6400,))), batch_size=32)


def endless():
    while True:
        for batch in loader:
            yield batch


def gathered(batches, count):
    found = []
    for batch in batches:
        found.append(batch)
        if len(found) == count:
            yield found
            found = []


def train():
    for number, batches in enumerate(gathered(endless(), 2)):
        optimizer.zero_grad()
        for x, y in batches:
            torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        step(number + 1)


train()
