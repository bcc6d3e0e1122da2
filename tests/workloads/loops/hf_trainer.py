"""transformers' Trainer: gradient accumulation of two, evaluation after each epoch."""
import tempfile

import torch
from small import Transformer
from transformers import Trainer, TrainerCallback, TrainingArguments
from truth import step


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Transformer()

    def forward(self, input_ids, labels):
        logits, loss = self.inner(input_ids, labels)
        return {'loss': loss, 'logits': logits}


class Truth(TrainerCallback):
    """Counts batches: each half of a step."""
    batches = 0

    def count(self, *_, **__):
        self.batches += 1
        step(self.batches, (self.batches - 1) // 200 + 1)

    on_substep_end = on_step_end = count


def samples(count):
    return [{'input_ids': torch.randint(0, 65, (64,)), 'labels': torch.randint(0, 65, (64,))} for _ in range(count)]


with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, num_train_epochs=50, per_device_train_batch_size=8, gradient_accumulation_steps=2, eval_strategy='epoch',
                                  save_strategy='no', report_to=[], use_cpu=True, logging_steps=50, disable_tqdm=True)
    Trainer(Model(), arguments, train_dataset=samples(1600), eval_dataset=samples(160), callbacks=[Truth()]).train()
