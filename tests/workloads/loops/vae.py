"""After pytorch/examples vae: everything global, train(epoch) and test(epoch) in a loop under __main__."""
import torch
from small import images
from torch import nn
from truth import lap, step

train_loader, test_loader, done = images(140, 128), images(15, 128), 0


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.mean, self.variance = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
        self.decoder = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784))

    def forward(self, x):
        h = self.encoder(x.view(-1, 784)).relu()
        mean, variance = self.mean(h), self.variance(h)
        return self.decoder(mean + torch.randn_like(variance) * (0.5 * variance).exp()), mean, variance


def loss_function(x, recon, mean, variance):
    return nn.functional.mse_loss(recon, x.view(-1, 784), reduction='sum') - 0.5 * torch.sum(1 + variance - mean.pow(2) - variance.exp())


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)


def train(epoch):
    global done
    model.train()
    lap('outside')
    for batch_idx, (data, _) in enumerate(train_loader):
        lap('data')
        optimizer.zero_grad()
        lap('other')
        output = model(data)
        lap('forward')
        loss = loss_function(data, *output)
        lap('other')
        loss.backward()
        lap('backward')
        optimizer.step()
        lap('optimizer')
        done += 1
        step(done, epoch, loss)
        lap('other')


def test(epoch):
    model.eval()
    with torch.no_grad():
        for i, (data, _) in enumerate(test_loader):
            loss_function(data, *model(data))


if __name__ == '__main__':
    for epoch in range(1, 300 + 1):
        train(epoch)
        test(epoch)
