"""After Lightning Fabric's examples: setup(), setup_dataloaders(), fabric.backward()."""
import torch
from lightning.fabric import Fabric
from small import classifier, images
from truth import step


def main():
    fabric, done = Fabric(accelerator='cpu', devices=1), 0
    fabric.launch()
    model = classifier()
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.01))
    train_loader, val_loader = fabric.setup_dataloaders(images(130), images(12))
    for epoch in range(1, 151):
        model.train()
        for batch_idx, batch in enumerate(train_loader):
            x, y = batch
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            fabric.backward(loss)
            optimizer.step()
            done += 1
            step(done, epoch, loss)
        with torch.no_grad():
            for x, y in val_loader:
                model(x)


main()
