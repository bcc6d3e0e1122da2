"""After torchvision's references: a generator that logs hands on the batches; its header is a text with the epoch's number."""
import torch
from small import classifier, images
from torch import nn
from truth import step

done = 0


class MetricLogger:
    def log_every(self, iterable, print_freq, header):
        i = 0
        for obj in iterable:
            yield obj
            if i % print_freq == 0:
                print(header, i)
            i += 1


def train_one_epoch(model, criterion, optimizer, data_loader, epoch):
    global done
    metric_logger = MetricLogger()
    for i, (image, target) in enumerate(metric_logger.log_every(data_loader, 10, f'Epoch: [{epoch}]')):
        loss = criterion(model(image), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done += 1
        step(done, epoch + 1, loss)


if __name__ == '__main__':
    model = classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = images(130)
    for epoch in range(200):
        train_one_epoch(model, nn.CrossEntropyLoss(), optimizer, loader, epoch)
