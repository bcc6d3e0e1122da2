"""After nanoGPT's train.py: an endless while loop, batches drawn by a function, gradient accumulation, an evaluation now and then."""
import torch
from torch import nn
from truth import step

torch.set_num_threads(1)
data = torch.randint(0, 65, (20000,))
block_size, batch_size, gradient_accumulation_steps, eval_interval, max_iters = 64, 16, 3, 200, 100000
model = nn.Sequential(nn.Embedding(65, 128), nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 65))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def get_batch():
    starts = torch.randint(len(data) - block_size, (batch_size,))
    return torch.stack([data[i:i + block_size] for i in starts]), torch.stack([data[i + 1:i + 1 + block_size] for i in starts])


def loss_of(x, y):
    return nn.functional.cross_entropy(model(x).view(-1, 65), y.view(-1))


@torch.no_grad()
def estimate_loss():
    for split in ['train', 'val']:
        losses = torch.zeros(20)
        for k in range(20):
            losses[k] = loss_of(*get_batch()).item()


iter_num = 0
local_iter_num = 0
X, Y = get_batch()
while True:
    if iter_num % eval_interval == 0:
        estimate_loss()
    for micro_step in range(gradient_accumulation_steps):
        loss = loss_of(X, Y) / gradient_accumulation_steps
        X, Y = get_batch()
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    lossf = loss.item() * gradient_accumulation_steps
    iter_num += 1
    local_iter_num += 1
    step(iter_num, None, lossf)
    if iter_num > max_iters:
        break
