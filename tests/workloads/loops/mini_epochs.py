"""PPO as in rl_games: few passes over few minibatches, again and again in a `while True` of the calling method, which counts in an attribute. mini_epochs.py LOG"""
import time

import torch

from truth import step

torch.set_num_threads(1)
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(12)))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


class Agent:
    count = 0

    def update_epoch(self):
        self.count += 1
        return self.count

    def train_epoch(self):
        x = torch.randn(2048, 256)
        for mini_ep in range(4):
            for i in range(4):
                batch = x[i * 512:(i + 1) * 512]
                optimizer.zero_grad()
                (model(batch) - batch).pow(2).mean().backward()
                optimizer.step()
                time.sleep(0.03)

    def train(self):
        while True:
            number = self.update_epoch()
            self.train_epoch()
            step(number)
            if number >= 2000:
                return


Agent().train()
