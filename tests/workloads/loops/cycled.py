"""After lucidrains' trainers: self.step counts, each step takes micro-batches by next() from a generator that goes round a loader."""
import torch
from small import DataLoader, TensorDataset
from truth import step


def cycle(loader):
    while True:
        for data in loader:
            yield data


class Trainer:
    def __init__(self, model):
        self.model, self.step, self.train_num_steps, self.gradient_accumulate_every = model, 0, 100000, 2
        self.dl = cycle(DataLoader(TensorDataset(torch.randn(3000, 64)), batch_size=16, shuffle=True))
        self.opt = torch.optim.Adam(model.parameters())

    def train(self):
        while self.step < self.train_num_steps:
            for _ in range(self.gradient_accumulate_every):
                data, = next(self.dl)
                loss = (self.model(data) - data).pow(2).mean() / self.gradient_accumulate_every
                loss.backward()
            self.opt.step()
            self.opt.zero_grad()
            self.step += 1
            step(self.step)


Trainer(torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64))).train()
