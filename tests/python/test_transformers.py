"""pmtop.torch.instrument() and PmtopCallback with the Trainer of transformers, whose callbacks count, and with a loop of accelerate. The models are
made here."""
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
how = os.environ["HOW"]
if how == "instrument, then import":
    pmtop.torch.instrument()
import transformers
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
torch.set_num_threads(1)
torch.manual_seed(3)
if how == "instrument":
    pmtop.torch.instrument()
folder = tempfile.mkdtemp()
BertForSequenceClassification(BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                                         max_position_embeddings=16)).save_pretrained(folder)
model = BertForSequenceClassification.from_pretrained(folder)
assert not model.training
rows = [{"input_ids": torch.randint(0, 50, (8,)), "labels": index % 2} for index in range(40)]
seen = {"epochs": 0, "steps": 0, "micro_batches": 0, "validation": 0, "losses": []}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = model

    def forward(self, input_ids, labels):
        out = self.inner(input_ids=input_ids, labels=labels)
        if self.training:
            seen["losses"].append(out.loss.item())
        return {"loss": out.loss, "logits": out.logits}


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
callbacks = [Count()]
if how == "callback":
    import pmtop.transformers
    callbacks.append(pmtop.transformers.PmtopCallback())
trainer = Trainer(model=Model(), args=arguments, train_dataset=rows, eval_dataset=rows[:20], callbacks=callbacks)
before = [type(callback).__name__ for callback in trainer.callback_handler.callbacks]
trainer.train()
assert before == [type(callback).__name__ for callback in trainer.callback_handler.callbacks]
seen["history"] = [{name: value for name, value in row.items() if "_per_second" not in name and "runtime" not in name} for row in trainer.state.log_history]
seen["parameters"] = [parameter.tolist() for parameter in model.parameters()]
if how == "without":
    print(json.dumps(seen))
    sys.exit()
sys.path.insert(0, os.environ["HERE"])
from region_events import Region
import watching
region = Region(os.getpid())
seen["reported"] = watching.object_of(os.getpid())
seen["optimizer.steps"] = region.counters["optimizer.steps"]
seen["gauges"], seen["meta"] = region.gauges, region.meta
seen["published_losses"] = [batch.loss for batch in region.batches() if batch.mode == "train"]
seen["planned"] = pmtop._pmtop.planned()
seen["empty"] = sum(batch.end_ns - batch.begin_ns < 200_000 for batch in region.batches())
print(json.dumps(seen))
"""


def run(how, options):
    here = str(pathlib.Path(__file__).resolve().parent)
    return watching.run(SCRIPT, env={"OPTIONS": json.dumps({"logging_steps": 2, **options}), "HERE": here, "HOW": how}).truth()


@pytest.mark.parametrize("how, options", [("instrument", {}), ("instrument, then import", {"gradient_accumulation_steps": 4}),
                                          ("callback", {"gradient_accumulation_steps": 3, "eval_strategy": "epoch"}),
                                          ("instrument", {"gradient_accumulation_steps": 3, "eval_strategy": "epoch"}),
                                          ("instrument, then import", {"eval_strategy": "steps", "eval_steps": 3, "eval_on_start": True})])
def test_counts_are_those_of_the_trainers_callbacks(how, options):
    truth = run(how, options)
    reported = truth["reported"]
    modes = reported.get("modes", {"train": reported["batch"]})
    assert modes["train"]["count"] == truth["micro_batches"] == 30
    assert modes.get("validation", {"count": 0})["count"] == truth["validation"]
    assert [(epoch["index"], epoch["batches"], epoch.get("mode")) for epoch in reported["epochs"]] == [(index, 10, None) for index in range(3)]
    assert truth["epochs"] == 3 and truth["optimizer.steps"] == truth["steps"]
    assert truth["empty"] == 0
    # What the trainer plans: the run's end is known.
    assert reported["epoch"]["total"] == 3 and reported["epoch"]["ordinal"] == 3
    assert truth["meta"]["max_steps"] == str(truth["steps"])
    assert truth["meta"]["model"] == "Model"
    # What it logs, at its last time.
    for name in ("loss", "learning_rate", "grad_norm", *["eval_loss"] * ("eval_strategy" in options)):
        assert truth["gauges"][name] == pytest.approx([row[name] for row in truth["history"] if name in row][-1], rel=1e-6), name
    # Each batch's own loss, not divided by the accumulation: from the first on, also in the shorter last step of an epoch.
    assert truth["published_losses"] == pytest.approx(truth["losses"], rel=1e-5)


def test_results_are_the_same_without_pmtop():
    options = {"gradient_accumulation_steps": 3, "eval_strategy": "epoch"}
    truth, with_callback, without = run("instrument", options), run("callback", options), run("without", options)
    assert truth["parameters"] == with_callback["parameters"]
    for what in ("parameters", "history", "losses", "steps"):
        assert truth[what] == without[what], what


@pytest.mark.parametrize("how", ["instrument", "callback"])
def test_max_steps_end_a_run_within_an_epoch(how):
    truth = run(how, {"gradient_accumulation_steps": 2, "max_steps": 4})
    assert truth["steps"] == 4 and truth["meta"]["max_steps"] == "4"
    assert truth["reported"]["epoch"]["total"] == 1
    assert truth["planned"] == [1, 8, 4] and truth["reported"]["epochs"][0]["batches"] == 8


def test_the_class_is_a_callback_of_the_trainer():
    import pickle

    import pmtop.transformers
    import transformers
    assert issubclass(pmtop.transformers.PmtopCallback, transformers.TrainerCallback)
    assert pickle.loads(pickle.dumps(pmtop.transformers.PmtopCallback("run"))).name == "run"


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
    seen = {"batches": 0, "steps": 0, "validation": 0, "losses": []}
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
                loss = torch.nn.functional.mse_loss(model(x), y)
                seen["losses"].append(loss.item())
                accelerator.backward(loss)
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
                  "epochs": [epoch["batches"] for epoch in reported["epochs"]], "optimizer.steps": region.counters["optimizer.steps"],
                  "accumulation": region.meta["accumulation"], "published_losses": [batch.loss for batch in region.batches() if batch.mode == "train"],
                  "kinds": [batch.kind for batch in region.batches() if batch.mode == "train"]}))
"""


def test_a_loop_of_accelerate():
    truth = watching.run(LOOP, env={"HERE": str(pathlib.Path(__file__).resolve().parent)}).truth()
    assert truth["is_same"]
    assert truth["modes"] == {"train": truth["batches"], "validation": truth["validation"]} == {"train": 21, "validation": 9}
    assert truth["epochs"] == [7, 7, 7] and truth["optimizer.steps"] == truth["steps"] == 12
    # Each epoch has three steps of two batches, and one of its last batch, whose loss accelerate divides too.
    assert truth["accumulation"] == "2"
    assert truth["published_losses"] == pytest.approx(truth["losses"], rel=1e-5)
    assert truth["kinds"] == ["accumulate", None] * 3 + [None] + (["accumulate", None] * 3 + [None]) * 2
