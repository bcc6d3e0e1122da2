"""Each epoch trains the last layers, then evaluates on the loader of the training, which takes nearly as long, and on another one."""
import torch
from torch.utils.data import DataLoader, TensorDataset
from truth import step

torch.set_num_threads(1)
body = torch.nn.Sequential(*(layer for _ in range(6) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU()))).requires_grad_(False)
model = torch.nn.Sequential(body, torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
optimizer = torch.optim.Adam([parameter for parameter in model.parameters() if parameter.requires_grad])
training, validation = (DataLoader(TensorDataset(torch.randn(96 * batches, 1024), torch.randint(0, 10, (96 * batches,))), batch_size=96) for batches in (100, 15))
done = 0


def train(epoch):
    global done
    for x, y in training:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        done += 1
        step(done, epoch)


@torch.no_grad()
def accuracy(loader):
    right = 0
    for x, y in loader:
        right += int((model(x).argmax(dim=1) == y).sum())
    return right / len(loader.dataset)


for epoch in range(1, 401):
    train(epoch)
    accuracy(training)
    accuracy(validation)
