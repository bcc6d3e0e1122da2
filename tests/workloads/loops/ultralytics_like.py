"""After ultralytics' BaseTrainer: while True over epochs in a local name and an attribute, a progress bar over enumerate() of the loader, warm-up accumulation."""
import torch
from small import classifier, images
from tqdm import tqdm
from truth import step


class Trainer:
    def __init__(self):
        self.model, self.epochs, self.epoch, self.done = classifier(), 120, 0, 0
        self.train_loader, self.test_loader, self.start_epoch, self.accumulate = images(120), images(15), 0, 2
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def validate(self):
        with torch.no_grad():
            for batch_i, batch in enumerate(tqdm(self.test_loader, mininterval=5)):
                self.model(batch[0])

    def optimizer_step(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=10.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self):
        nb, last_opt_step = len(self.train_loader), -1
        epoch = self.start_epoch
        self.optimizer.zero_grad()
        while True:
            self.epoch = epoch
            self.model.train()
            pbar = enumerate(self.train_loader)
            pbar = tqdm(pbar, total=nb, mininterval=5)
            for i, batch in pbar:
                ni = i + nb * epoch
                self.loss = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
                self.loss.backward()
                if ni - last_opt_step >= self.accumulate:
                    self.optimizer_step()
                    last_opt_step = ni
                self.done += 1
                step(self.done, epoch + 1, self.loss)
            self.validate()
            if epoch + 1 >= self.epochs:
                break
            epoch += 1


Trainer().train()
