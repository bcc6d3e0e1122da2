"""After Accelerate's examples (cv_example.py): prepare(), accelerator.backward(), a scheduler."""
import torch
from accelerate import Accelerator
from small import classifier, images
from truth import lap, step


def training_function():
    accelerator, done = Accelerator(cpu=True), 0
    model = classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-4, epochs=200, steps_per_epoch=120)
    model, optimizer, train_dataloader, eval_dataloader, scheduler = accelerator.prepare(model, optimizer, images(120), images(12), scheduler)
    for epoch in range(200):
        model.train()
        lap('outside')
        for step_number, (x, y) in enumerate(train_dataloader):
            lap('data')
            output = model(x)
            lap('forward')
            loss = torch.nn.functional.cross_entropy(output, y)
            lap('other')
            accelerator.backward(loss)
            lap('backward')
            optimizer.step()
            lap('optimizer')
            scheduler.step()
            optimizer.zero_grad()
            done += 1
            step(done, epoch + 1, loss)
            lap('other')
        model.eval()
        for x, y in eval_dataloader:
            with torch.no_grad():
                accelerator.gather_for_metrics((model(x).argmax(-1), y))


training_function()
