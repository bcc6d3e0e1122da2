"""After CleanRL's PPO: in each iteration a rollout, then some passes over its minibatches, each of a few milliseconds: an iteration is a step."""
import torch
from torch import nn
from truth import step

torch.set_num_threads(1)
model = nn.Linear(64, 64)
optimizer = torch.optim.Adam(model.parameters())
for iteration in range(1, 20000):
    with torch.no_grad():
        for _ in range(64):
            model(torch.randn(64, 64))
    collected, losses = torch.randn(2048, 64), []
    for epoch in range(4):
        order = torch.randperm(2048)
        for start in range(0, 2048, 512):
            x = collected[order[start:start + 512]]
            loss = (model(x) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    step(iteration, None, losses)
