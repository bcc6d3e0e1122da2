"""After pytorch/examples reinforce.py: episodes counted by itertools.count, the optimizer in a function of its own."""
from itertools import count

import torch
from torch import nn
from truth import step

torch.set_num_threads(1)
policy = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2))
optimizer = torch.optim.Adam(policy.parameters())


def finish_episode(logs):
    optimizer.zero_grad()
    torch.stack(logs).sum().backward()
    optimizer.step()


def main():
    for i_episode in count(1):
        logs = []
        for _ in range(1, 200):
            action = torch.softmax(policy(torch.randn(1, 4)), 1)
            logs.append(-action.log()[0, 0])
        finish_episode(logs)
        step(i_episode)


main()
