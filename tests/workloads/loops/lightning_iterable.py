"""Lightning's Trainer.fit over an iterable that is no DataLoader and has no length."""
import tempfile

import lightning
import torch
from truth import step

torch.set_num_threads(1)


class Batches:
    def __iter__(self):
        for _ in range(100):
            yield torch.randn(96, 256), torch.randint(0, 10, (96,))


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))

    def training_step(self, batch, batch_idx):
        return torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class Truth(lightning.Callback):
    def on_train_batch_end(self, trainer, *_):
        step(trainer.global_step, trainer.current_epoch + 1)


with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(max_epochs=400, accelerator='cpu', logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                default_root_dir=folder, callbacks=[Truth()])
    trainer.fit(Model(), Batches())
