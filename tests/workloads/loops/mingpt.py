"""After minGPT's trainer.py: a while loop around next() of a loader without an end, the count in an attribute of the trainer."""
import torch
from small import Transformer
from torch.utils.data import DataLoader, Dataset, RandomSampler
from truth import lap, step


class Characters(Dataset):
    def __init__(self):
        self.data = torch.randint(0, 65, (20000,))

    def __len__(self):
        return 1920

    def __getitem__(self, i):
        return self.data[i:i + 64], self.data[i + 1:i + 65]


class Trainer:
    def __init__(self, model, dataset):
        self.model, self.dataset, self.max_iters = model, dataset, None
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    def run(self):
        loader = DataLoader(self.dataset, sampler=RandomSampler(self.dataset, replacement=True, num_samples=int(1e10)), batch_size=16, num_workers=0)
        self.model.train()
        self.iter_num = 0
        data_iter = iter(loader)
        lap('outside')
        while True:
            try:
                batch = next(data_iter)
            except StopIteration:
                data_iter = iter(loader)
                batch = next(data_iter)
            lap('data')
            x, y = batch
            _, self.loss = self.model(x, y)
            lap('forward')
            self.model.zero_grad(set_to_none=True)
            lap('other')
            self.loss.backward()
            lap('backward')
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            lap('other')
            self.optimizer.step()
            lap('optimizer')
            self.iter_num += 1
            step(self.iter_num, None, self.loss)
            lap('other')
            if self.max_iters is not None and self.iter_num >= self.max_iters:
                break


Trainer(Transformer(), Characters()).run()
