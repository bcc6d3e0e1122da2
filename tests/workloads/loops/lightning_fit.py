"""Lightning's Trainer.fit with validation after each epoch."""
import tempfile

import lightning
import torch
from small import classifier, images
from truth import own_callbacks, step


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = classifier()

    def training_step(self, batch, batch_idx):
        loss = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        self.log('train_loss', loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log('val_loss', torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Truth(lightning.Callback):
    def on_train_batch_end(self, trainer, module, outputs, *_):
        step(trainer.global_step, trainer.current_epoch + 1, outputs['loss'])


with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(max_epochs=60, accelerator='cpu', logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                default_root_dir=folder, callbacks=[Truth(), *own_callbacks()])
    trainer.fit(Model(), images(110), images(12))
