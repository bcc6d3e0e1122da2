"""pmtop.torch.instrument() with the Trainer of transformers, whose callbacks count, and with a loop of accelerate. The models are made here."""
import json
import pathlib

import pytest

import watching

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="transformers is not installed")

SCRIPT = """
import json, os, sys, tempfile
os.environ["HF_HUB_OFFLINE"] = "1"
import pmtop.torch, torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
torch.set_num_threads(1)
pmtop.torch.instrument()
folder = tempfile.mkdtemp()
BertForSequenceClassification(BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                                         max_position_embeddings=16)).save_pretrained(folder)
model = BertForSequenceClassification.from_pretrained(folder)
assert not model.training
rows = [{"input_ids": torch.randint(0, 50, (8,)), "labels": index % 2} for index in range(40)]
seen = {"epochs": 0, "steps": 0, "micro_batches": 0, "validation": 0}


class Count(TrainerCallback):
    def on_epoch_begin(self, *given, **more):
        seen["epochs"] += 1

    def on_step_end(self, *given, **more):
        seen["steps"] += 1
        seen["micro_batches"] += 1

    def on_substep_end(self, *given, **more):
        seen["micro_batches"] += 1

    def on_prediction_step(self, *given, **more):
        seen["validation"] += 1


options = json.loads(os.environ["OPTIONS"])
arguments = TrainingArguments(folder, per_device_train_batch_size=4, per_device_eval_batch_size=4, num_train_epochs=3, report_to=[], save_strategy="no",
                              use_cpu=True, disable_tqdm=True, **options)
Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:20], callbacks=[Count()]).train()
sys.path.insert(0, os.environ["HERE"])
from region_events import Region
import watching
region = Region(os.getpid())
seen["reported"] = watching.object_of(os.getpid())
seen["optimizer.steps"] = region.counters["optimizer.steps"]
seen["empty"] = sum(batch.end_ns - batch.begin_ns < 200_000 for batch in region.batches())
print(json.dumps(seen))
"""


@pytest.mark.parametrize("options", [{}, {"gradient_accumulation_steps": 4}, {"gradient_accumulation_steps": 3, "eval_strategy": "epoch"},
                                     {"eval_strategy": "steps", "eval_steps": 3, "eval_on_start": True}])
def test_counts_are_those_of_the_trainers_callbacks(options):
    here = str(pathlib.Path(__file__).resolve().parent)
    truth = watching.run(SCRIPT, env={"OPTIONS": json.dumps(options), "HERE": here}).truth()
    reported = truth["reported"]
    modes = reported.get("modes", {"train": reported["batch"]})
    assert modes["train"]["count"] == truth["micro_batches"] == 30
    assert modes.get("validation", {"count": 0})["count"] == truth["validation"]
    assert [(epoch["index"], epoch["batches"], epoch.get("mode")) for epoch in reported["epochs"]] == [(index, 10, None) for index in range(3)]
    assert truth["epochs"] == 3 and truth["optimizer.steps"] == truth["steps"]
    assert truth["empty"] == 0


LOOP = """
import json, os, sys
sys.path.insert(0, os.environ["HERE"])
import pmtop.torch, torch
import watching
from accelerate import Accelerator
from torch.utils.data import DataLoader
from region_events import Region
from torch_loop import data, make
torch.set_num_threads(1)


def train():
    seen = {"batches": 0, "steps": 0, "validation": 0}
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model, optimizer = make()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    torch.manual_seed(5)
    loader, other = DataLoader(data(28), batch_size=4, shuffle=True), DataLoader(data(12), batch_size=4)
    model, optimizer, loader, other, scheduler = accelerator.prepare(model, optimizer, loader, other, scheduler)
    for epoch in range(3):
        model.train()
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward(torch.nn.functional.mse_loss(model(x), y))
                seen["steps"] += accelerator.sync_gradients
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            seen["batches"] += 1
        model.eval()
        for x, y in other:
            with torch.no_grad():
                accelerator.gather_for_metrics((model(x), y))
            seen["validation"] += 1
    return seen, [parameter.tolist() for parameter in model.parameters()]


_, without = train()
pmtop.torch.instrument()
seen, parameters = train()
reported, region = watching.object_of(os.getpid()), Region(os.getpid())
print(json.dumps({**seen, "is_same": parameters == without, "modes": {mode: row["count"] for mode, row in reported["modes"].items()},
                  "epochs": [epoch["batches"] for epoch in reported["epochs"]], "optimizer.steps": region.counters["optimizer.steps"]}))
"""


def test_a_loop_of_accelerate():
    truth = watching.run(LOOP, env={"HERE": str(pathlib.Path(__file__).resolve().parent)}).truth()
    assert truth["is_same"]
    assert truth["modes"] == {"train": truth["batches"], "validation": truth["validation"]} == {"train": 21, "validation": 9}
    assert truth["epochs"] == [7, 7, 7] and truth["optimizer.steps"] == truth["steps"] == 12
