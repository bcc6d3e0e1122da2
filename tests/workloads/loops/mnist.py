"""After pytorch/examples mnist: train(args, model, device, train_loader, optimizer, epoch) and test() in a loop of epochs."""
import torch
import torch.nn.functional as F
from small import classifier, images
from truth import lap, step

done = 0


def train(model, train_loader, optimizer, epoch):
    global done
    model.train()
    lap('outside')
    for batch_idx, (data, target) in enumerate(train_loader):
        lap('data')
        optimizer.zero_grad()
        lap('other')
        output = model(data)
        lap('forward')
        loss = F.cross_entropy(output, target)
        lap('other')
        loss.backward()
        lap('backward')
        optimizer.step()
        lap('optimizer')
        done += 1
        step(done, epoch, loss)
        lap('other')


def test(model, test_loader):
    model.eval()
    with torch.no_grad():
        for data, target in test_loader:
            F.cross_entropy(model(data), target, reduction='sum').item()


def main():
    train_loader, test_loader, model = images(120), images(20), classifier()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, 400 + 1):
        train(model, train_loader, optimizer, epoch)
        test(model, test_loader)
        scheduler.step()


if __name__ == '__main__':
    main()
