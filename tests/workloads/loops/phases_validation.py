"""Training and validation in turn, as in pytorch/examples mnist: validation has no phase of a training step; it measures its own phases."""
import torch
from small import classifier, images
from torch import nn
from truth import lap, step

done = 0


def train(model, loader, optimizer, loss_fn, epoch):
    global done
    model.train()
    for data, target in loader:
        lap('data')
        optimizer.zero_grad()
        lap('optimizer')
        loss = loss_fn(model(data), target)
        lap('forward')
        loss.backward()
        lap('backward')
        optimizer.step()
        lap('optimizer')
        done += 1
        step(done, epoch)
        lap('other')


def test(model, loader, loss_fn):
    model.eval()
    with torch.no_grad():
        for data, target in loader:
            loss_fn(model(data), target).item()


def main():
    train_loader, test_loader, model, loss_fn = images(60), images(60), classifier(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(1, 400):
        train(model, train_loader, optimizer, loss_fn, epoch)
        test(model, test_loader, loss_fn)
        lap('outside')


if __name__ == '__main__':
    main()
