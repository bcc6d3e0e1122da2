"""After stable-baselines3's PPO: some passes over the minibatches that a generator cuts, whose `while` counts by an int of its own."""
import torch
from truth import step

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
optimizer = torch.optim.Adam(model.parameters())


class Buffer:
    def __init__(self, size):
        self.data, self.size = torch.randn(size, 64), size

    def get(self, batch_size):
        order = torch.randperm(self.size)
        start_idx = 0
        while start_idx < self.size:
            yield self.data[order[start_idx:start_idx + batch_size]]
            start_idx += batch_size


def train(epochs):
    done, buffer = 0, Buffer(51200)
    for epoch in range(epochs):
        for rollout_data in buffer.get(256):
            loss = ((model(rollout_data) - rollout_data) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            step(done, epoch + 1, loss)


train(300)
