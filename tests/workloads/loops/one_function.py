"""One function for both: run_epoch(batches, is_training), over lists of batches."""
import torch
from torch import nn
from truth import step

torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer, done = torch.optim.SGD(model.parameters(), 0.01), 0


def make(count):
    return [(torch.randn(512, 256), torch.randint(0, 10, (512,))) for _ in range(count)]


def run_epoch(batches, is_training):
    global done
    model.train(is_training)
    with torch.set_grad_enabled(is_training):
        for x, y in batches:
            loss = nn.functional.cross_entropy(model(x), y)
            if is_training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                done += 1
                step(done, epoch, loss)


train, validation = make(100), make(60)
for epoch in range(1, 401):
    run_epoch(train, True)
    run_epoch(validation, False)
