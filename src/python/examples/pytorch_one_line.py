"""A small convolutional network learns to distinguish shapes; pmtop needs only the line marked below.

    python pytorch_one_line.py --workers 2 --slow-every 40 &
    pmtop -p $!
"""
import argparse
import os
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import pmtop.torch

BATCH_SIZE = 32
SIZE = 24


class Shapes(Dataset):
    """Noisy pictures (1, 24, 24) of a disc, a square, a ring or a cross; the label is which.

    One sample in `slow_every` batches takes 0.25 s, as a file that the disk has to look for."""

    def __init__(self, count, seed=0, slow_every=0):
        self.count, self.seed, self.slow_every = count, seed, slow_every

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.slow_every and (index + 1) % (self.slow_every * BATCH_SIZE) == 0:
            time.sleep(0.25)
        dice = torch.Generator().manual_seed(self.seed + index)
        label = int(torch.randint(4, (1,), generator=dice))
        x, y, radius = (torch.rand(3, generator=dice) * torch.tensor([8.0, 8.0, 4.0]) + torch.tensor([8.0, 8.0, 3.0])).tolist()
        rows = (torch.arange(SIZE) - y).abs().unsqueeze(1)
        columns = (torch.arange(SIZE) - x).abs().unsqueeze(0)
        distance = (rows**2 + columns**2).sqrt()
        square, cross = torch.maximum(rows, columns) < radius, torch.minimum(rows, columns) < 1.5
        shape = [distance < radius, square, (distance - radius).abs() < 1.5, cross][label]
        return (shape + 0.7 * torch.randn(SIZE, SIZE, generator=dice)).unsqueeze(0), label


def network():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * (SIZE // 4)**2, 64), nn.ReLU(), nn.Linear(64, 4))


def options(description):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batches", type=int, default=200, help="of each epoch")
    parser.add_argument("--workers", type=int, default=0, help="processes that load")
    parser.add_argument("--slow-every", type=int, default=0, metavar="N", help="every Nth batch takes long to load")
    parser.add_argument("--accumulate", type=int, default=1, metavar="N", help="the optimizer steps every Nth batch")
    return parser.parse_args()


def loaders(chosen):
    """For training and for validation."""
    shared = {"batch_size": BATCH_SIZE, "num_workers": chosen.workers, "persistent_workers": chosen.workers > 0}
    return (DataLoader(Shapes(chosen.batches * BATCH_SIZE, slow_every=chosen.slow_every), **shared),
            DataLoader(Shapes(chosen.batches * BATCH_SIZE // 10, seed=10**9), **shared))


def main():
    chosen = options(__doc__)
    pmtop.torch.instrument(epochs=chosen.epochs)  # the one line
    torch.manual_seed(0)
    torch.set_num_threads(1)
    training, validation = loaders(chosen)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, chosen.epochs)
    loss_of = nn.CrossEntropyLoss()
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(chosen.epochs):
            model.train()
            losses = []
            for number, (pictures, labels) in enumerate(training, 1):
                loss = loss_of(model(pictures), labels)
                (loss / chosen.accumulate).backward()
                if number % chosen.accumulate == 0 or number == len(training):
                    optimizer.step()
                    optimizer.zero_grad()
                losses.append(loss.item())
            scheduler.step()
            model.eval()
            with torch.no_grad():
                right = sum(int((model(pictures).argmax(1) == labels).sum()) for pictures, labels in validation)
            torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, os.path.join(folder, "last.pt"))
            print(f"epoch {epoch + 1}: loss {sum(losses) / len(losses):.3f}, {right / len(validation.dataset):.1%} right", flush=True)


if __name__ == "__main__":
    main()
