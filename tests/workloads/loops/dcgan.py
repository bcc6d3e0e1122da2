"""After pytorch/examples dcgan: two optimizers and three backwards in each step."""
import torch
from small import images
from torch import nn
from truth import step

if __name__ == '__main__':
    dataloader, done = images(130), 0
    netG = nn.Sequential(nn.Linear(50, 256), nn.ReLU(), nn.Linear(256, 784), nn.Tanh())
    netD = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1), nn.Sigmoid())
    criterion = nn.BCELoss()
    optimizerD, optimizerG = torch.optim.Adam(netD.parameters(), lr=2e-4), torch.optim.Adam(netG.parameters(), lr=2e-4)
    for epoch in range(300):
        for i, data in enumerate(dataloader, 0):
            netD.zero_grad()
            real = data[0]
            criterion(netD(real).view(-1), torch.ones(len(real))).backward()
            fake = netG(torch.randn(len(real), 50))
            criterion(netD(fake.detach()).view(-1), torch.zeros(len(real))).backward()
            optimizerD.step()
            netG.zero_grad()
            errG = criterion(netD(fake).view(-1), torch.ones(len(real)))
            errG.backward()
            optimizerG.step()
            done += 1
            step(done, epoch + 1, errG)
