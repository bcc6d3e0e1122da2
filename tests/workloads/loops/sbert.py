"""After sentence-transformers' own fit of earlier releases: epochs and iterations in two ranges, a loader's iterator that begins again at its end."""
import sentence_transformers
import torch
from torch import nn
from torch.utils.data import DataLoader
from truth import step

torch.set_num_threads(1)
assert sentence_transformers.__version__


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.layer = nn.Embedding(1000, 64), nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)

    def forward(self, x):
        return nn.functional.normalize(self.layer(self.words(x)).mean(1), dim=1)


def smart_batching_collate(pairs):
    return torch.stack([a for a, _ in pairs]), torch.stack([b for _, b in pairs])


def fit(model, train_objectives, epochs, steps_per_epoch):
    optimizer, done = torch.optim.AdamW(model.parameters(), lr=2e-5), 0
    data_iterators = [iter(loader) for loader, _ in train_objectives]
    for epoch in range(epochs):
        model.train()
        for _ in range(steps_per_epoch):
            for train_idx in range(len(train_objectives)):
                try:
                    data = next(data_iterators[train_idx])
                except StopIteration:
                    data_iterators[train_idx] = iter(train_objectives[train_idx][0])
                    data = next(data_iterators[train_idx])
                a, b = data
                scores = model(a) @ model(b).T * 20
                loss = train_objectives[train_idx][1](scores, torch.arange(len(a)))
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            done += 1
            step(done, epoch + 1, loss)


pairs = [(torch.randint(0, 1000, (32,)), torch.randint(0, 1000, (32,))) for _ in range(1600)]
fit(Encoder(), [(DataLoader(pairs, batch_size=16, shuffle=True, collate_fn=smart_batching_collate), nn.CrossEntropyLoss())], 100, 150)
