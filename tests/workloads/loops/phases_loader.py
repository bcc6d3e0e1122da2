"""A loop over a DataLoader that measures its own phases."""
import torch
from small import classifier
from torch import nn
from torch.utils.data import DataLoader, Dataset
from truth import lap, step


class Images(Dataset):
    def __len__(self):
        return 64 * 100

    def __getitem__(self, i):
        return torch.randn(1, 28, 28).mul_(0.5).add_(0.1), i % 10


def main():
    loader, model, loss_fn = DataLoader(Images(), batch_size=64, shuffle=True), classifier(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    done = 0
    for epoch in range(1, 400):
        lap('outside')
        for images, labels in loader:
            lap('data')
            loss = loss_fn(model(images), labels)
            lap('forward')
            loss.backward()
            lap('backward')
            optimizer.step()
            optimizer.zero_grad()
            lap('optimizer')
            done += 1
            step(done, epoch)
            lap('other')


if __name__ == '__main__':
    main()
