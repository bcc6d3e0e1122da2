"""After pytorch/examples imagenet: range(start_epoch, epochs), workers, meters, validation by a function in a function."""
import torch
from small import classifier, images
from truth import lap, step

start_epoch, epochs, done = 2, 90, 0


def train(train_loader, model, criterion, optimizer, epoch):
    global done
    model.train()
    lap('outside')
    for i, (inputs, target) in enumerate(train_loader):
        # The first fetch is the start of the workers, which is in no step of pmtop's: an epoch's first step begins behind it.
        lap('data' if i > 0 else 'outside')
        loss = criterion(model(inputs), target)
        lap('forward')
        optimizer.zero_grad()
        lap('other')
        loss.backward()
        lap('backward')
        optimizer.step()
        lap('optimizer')
        done += 1
        step(done, epoch - start_epoch + 1, loss)
        lap('other')


def validate(val_loader, model, criterion):
    def run_validate(loader):
        with torch.no_grad():
            for i, (inputs, target) in enumerate(loader):
                criterion(model(inputs), target)
    model.eval()
    run_validate(val_loader)


def main_worker():
    model = classifier(3)
    train_loader, val_loader = images(110, 32, 3, num_workers=2), images(12, 32, 3, num_workers=1)
    criterion, optimizer = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
    for epoch in range(start_epoch, epochs):
        train(train_loader, model, criterion, optimizer, epoch)
        validate(val_loader, model, criterion)


if __name__ == '__main__':
    main_worker()
