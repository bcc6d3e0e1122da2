"""Small data and models for the scripts of `make loops-bench`."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


def images(batches, batch_size=64, channels=1, **options):
    count = batches * batch_size
    dataset = TensorDataset(torch.randn(count, channels, 28, 28), torch.randint(0, 10, (count,)))
    return DataLoader(dataset, batch_size=batch_size, shuffle=True, **options)


def classifier(channels=1):
    return nn.Sequential(nn.Conv2d(channels, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 12 * 12, 10))


class Transformer(nn.Module):
    def __init__(self, words=65, width=64, length=64):
        super().__init__()
        self.token, self.position = nn.Embedding(words, width), nn.Embedding(length, width)
        self.block = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, x, y=None):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        logits = self.head(self.block(self.token(x) + self.position(torch.arange(x.shape[1])), src_mask=mask))
        return logits, None if y is None else nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
