"""A loop over a tqdm bar."""
import torch
from torch import nn
from tqdm import tqdm
from truth import step

torch.set_num_threads(1)
model = nn.Linear(300, 300)
optimizer = torch.optim.Adam(model.parameters())


def fit():
    for number in tqdm(range(50000), mininterval=5):
        x = torch.randn(512, 300)
        loss = ((model(x) - x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step(number + 1)


fit()
