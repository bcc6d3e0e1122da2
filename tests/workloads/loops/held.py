"""A variable holds what iterates over the loader, as where a progress bar goes around it; a short pass of validation after each epoch."""
import torch
from torch.utils.data import DataLoader, TensorDataset
from truth import step

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
optimizer = torch.optim.Adam(model.parameters())
training, validation = (DataLoader(TensorDataset(torch.randn(96 * batches, 256), torch.randint(0, 10, (96 * batches,))), batch_size=96) for batches in (100, 15))
done, epoch = 0, 0
while True:
    batches = enumerate(training)
    for i, (x, y) in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        done += 1
        step(done, epoch + 1)
    with torch.no_grad():
        for i, (x, y) in enumerate(validation):
            model(x)
    epoch += 1
