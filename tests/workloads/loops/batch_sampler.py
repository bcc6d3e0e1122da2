"""PyTorch's BatchSampler without a DataLoader, as minibatches of rollouts are drawn."""
import torch
from torch import nn
from torch.utils.data import BatchSampler, RandomSampler
from truth import step

torch.set_num_threads(1)
data = torch.randn(12790, 300)
model = nn.Sequential(nn.Linear(300, 600), nn.ReLU(), nn.Linear(600, 300))
optimizer = torch.optim.Adam(model.parameters())
done = 0
for epoch in range(400):
    for chosen in BatchSampler(RandomSampler(range(len(data))), 128, drop_last=False):
        x = data[chosen]
        loss = ((model(x) - x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done += 1
        step(done, epoch + 1, loss)
