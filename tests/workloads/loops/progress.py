"""A loop over a tqdm bar."""
import torch
from torch import nn
from tqdm import tqdm
from truth import lap, step

torch.set_num_threads(1)
model = nn.Linear(300, 300)
optimizer = torch.optim.Adam(model.parameters())


def fit():
    lap('outside')
    for number in tqdm(range(50000), mininterval=5):
        x = torch.randn(512, 300)
        lap('data')
        output = model(x)
        lap('forward')
        loss = ((output - x) ** 2).mean()
        optimizer.zero_grad()
        lap('other')
        loss.backward()
        lap('backward')
        optimizer.step()
        lap('optimizer')
        step(number + 1, None, loss)
        lap('other')


fit()
