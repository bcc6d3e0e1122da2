"""After nanoGPT's train.py: an endless while loop, batches drawn by a function, gradient accumulation; it measures its own phases."""
import torch
from small import Transformer
from torch import nn
from truth import lap, step

data = torch.randint(0, 65, (20000,))
block_size, batch_size, gradient_accumulation_steps = 64, 8, 2
model, loss_fn = Transformer(), nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def get_batch():
    starts = torch.randint(len(data) - block_size, (10 * batch_size,))
    rows = [torch.stack([data[i:i + block_size], data[i + 1:i + 1 + block_size]]) for i in starts][:batch_size]
    x, y = torch.stack(rows).unbind(1)
    return x, y


iter_num = 0
X, Y = get_batch()
lap('outside')
while True:
    for micro_step in range(gradient_accumulation_steps):
        logits, _ = model(X)
        loss = loss_fn(logits.flatten(0, 1), Y.flatten())
        lap('forward')
        X, Y = get_batch()
        lap('other')
        loss.backward()
        lap('backward')
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    lap('optimizer')
    iter_num += 1
    step(iter_num)
    lap('other')
