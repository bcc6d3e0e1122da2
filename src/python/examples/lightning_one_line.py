"""The same network with Lightning; pmtop needs only the callback.

    python lightning_one_line.py --workers 2 --slow-every 40 &
    pmtop -p $!
"""
import logging
import tempfile
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn

from pmtop.lightning import PmtopCallback
from pytorch_one_line import loaders, network, options


class ShapeClassifier(lightning.LightningModule):
    def __init__(self, epochs):
        super().__init__()
        self.epochs = epochs
        self.network = network()
        self.loss_of = nn.CrossEntropyLoss()

    def training_step(self, batch, number):
        pictures, labels = batch
        loss = self.loss_of(self.network(pictures), labels)
        self.log("loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, number):
        pictures, labels = batch
        self.log("right", (self.network(pictures).argmax(1) == labels).float().mean())

    def on_train_epoch_end(self):
        figures = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch + 1}: loss {figures['loss']:.3f}, {figures['right']:.1%} right", flush=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.epochs)]


def main():
    chosen = options(__doc__)
    warnings.filterwarnings("ignore", category=UserWarning)
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    lightning.seed_everything(0, verbose=False)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            max_epochs=chosen.epochs, accumulate_grad_batches=chosen.accumulate, accelerator="cpu", logger=False, enable_progress_bar=False,
            enable_model_summary=False, default_root_dir=folder,
            callbacks=[PmtopCallback(), ModelCheckpoint(folder)])  # the one line
        trainer.fit(ShapeClassifier(chosen.epochs), *loaders(chosen))


if __name__ == "__main__":
    main()
