"""After timm's train.py: train_one_epoch() with accumulation by index, update counts, a loader that wraps a DataLoader, validation."""
import torch
from small import classifier, images
from truth import lap, step

done = 0


class PrefetchLoader:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        for inputs, target in self.loader:
            yield inputs.sub(0.5).div(0.5), target

    def __len__(self):
        return len(self.loader)


def train_one_epoch(epoch, model, loader, optimizer, loss_fn, num_epochs):
    global done
    model.train()
    accum_steps = 1
    updates_per_epoch = (len(loader) + accum_steps - 1) // accum_steps
    num_updates = epoch * updates_per_epoch
    optimizer.zero_grad()
    lap('outside')
    for batch_idx, (inputs, target) in enumerate(loader):
        need_update = (batch_idx + 1) % accum_steps == 0
        lap('data')
        loss = loss_fn(model(inputs), target)
        lap('forward')
        loss.backward()
        lap('backward')
        if not need_update:
            continue
        num_updates += 1
        optimizer.step()
        lap('optimizer')
        optimizer.zero_grad()
        done += 1
        step(done, epoch + 1, loss)
        lap('other')


def validate(model, loader, loss_fn):
    model.eval()
    with torch.no_grad():
        for batch_idx, (inputs, target) in enumerate(loader):
            loss_fn(model(inputs), target)


def main():
    model, loader_train, loader_eval, num_epochs = classifier(), PrefetchLoader(images(115)), PrefetchLoader(images(12)), 300
    optimizer, loss_fn = torch.optim.AdamW(model.parameters(), lr=1e-4), torch.nn.CrossEntropyLoss()
    for epoch in range(0, num_epochs):
        train_one_epoch(epoch, model, loader_train, optimizer, loss_fn, num_epochs)
        validate(model, loader_eval, loss_fn)


main()
