"""Every PyTorch block of the guide on torch.profiler, guide/003, in an instrumented process: pmtop leaves the program's own profiler alone.

The machine needs no GPU: .cuda() returns its object. The blocks on TensorFlow run where it is installed, but for the one that starts a second
profiler, which TensorFlow refuses."""
import glob
import importlib.util
import math
import types
import warnings

import pmtop
import pytest
import watching
from guide_blocks import blocks_of
from guide_folders import CHANGES, FOLDER, SEED_OF, SEEDS, blocks, kept

torch = pytest.importorskip("torch")

import pmtop.torch  # noqa: E402

CPU = torch.profiler.ProfilerActivity.CPU
SEED = SEEDS / SEED_OF["003"]

if SEED.exists():
    def test_the_kept_blocks_are_the_guides():
        for name, text in blocks_of(SEED.read_text(encoding="utf-8"), CHANGES["003"]).items():
            assert kept("003", name) == text, name

TENSORFLOW = ("05_profile_with_callback", "06_programmatic_profiling", "07_profile_custom_training_loop")
OWN_PROFILER = ("01", "02", "03", "08", "11", "14", "20", "21", "22", "23", "24")


class Images(torch.nn.Module):
    """The mean of each channel, classified: any image will do."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x.flatten(2).mean(2))


def world():
    """What the blocks are given: a model, data, and the functions that the guide leaves out."""
    torch.manual_seed(1)
    model = Images()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    dataset, target = torch.randn(24, 3, 4, 4), torch.zeros(2, dtype=torch.long)
    criterion = torch.nn.CrossEntropyLoss()

    def train_step(batch):
        optimizer.zero_grad()
        loss = criterion(model(batch), torch.zeros(len(batch), dtype=torch.long))
        loss.backward()
        optimizer.step()
        return loss.detach()

    loader = torch.utils.data.DataLoader(dataset, batch_size=2)

    def epoch():
        for batch in loader:
            train_step(batch)

    own = torch.profiler.profile(activities=[CPU])
    with own:
        train_step(dataset[:2])
    return {
        "__name__": "guide", "torch": torch, "profiler": torch.profiler, "F": torch.nn.functional, "math": math, "DataLoader": torch.utils.data.DataLoader,
        "MyModel": Images, "model": model, "optimizer": optimizer, "dataset": dataset, "train_loader": loader, "batch": dataset[:2],
        "single_batch": dataset[:2], "data": dataset[:2], "input": dataset[:2], "x": torch.randn(4), "target": target, "criterion": criterion,
        "train_step": train_step, "preprocess": lambda batch: batch, "total_loss": 0, "epoch": 10, "train_epoch": epoch, "baseline_train": epoch,
        "optimized_train": epoch, "train_with_mixed_precision": epoch, "get_production_request": lambda: dataset[:1], "intermediate_tensor": 1,
        "arguments": {"activities": [CPU]}, "prof": own,
    }  # fmt: skip


def pairs():
    data = [(torch.randn(3, 4, 4), 0) for _ in range(24)]
    return {"train_loader": torch.utils.data.DataLoader(data, batch_size=2)}


@pytest.fixture
def run_block(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for owner in (torch.Tensor, torch.nn.Module):
        monkeypatch.setattr(owner, "cuda", lambda thing, **options: thing)
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda **options: None)
    monkeypatch.setattr(torch.cuda.memory, "_snapshot", lambda: {})
    monkeypatch.setattr(torch.cuda.memory, "_dump_snapshot", lambda path: None)
    pmtop.close()
    pmtop.init("guide")

    def run(name):
        text = kept("003", name + ".py")
        if not torch.cuda.is_available() and "activities=[profiler.ProfilerActivity.CUDA]" in text:
            # torch refuses a profiler for a GPU that is not there.
            monkeypatch.setattr(torch.profiler, "ProfilerActivity", types.SimpleNamespace(CPU=CPU, CUDA=CPU))
        space = {**world(), **(pairs() if name == "01_basic_profiling" else {})}
        with warnings.catch_warnings(), pmtop.torch.instrument(profile=pmtop.torch.Profile(active=2)):
            warnings.simplefilter("ignore")
            exec(compile(text, str(FOLDER / "003" / f"{name}.py"), "exec"), space)
        return space
    yield run
    pmtop.close()


@pytest.mark.parametrize("name", [name for name in blocks("003") if name not in TENSORFLOW])
def test_a_block_runs_beside_pmtop(name, run_block, capsys):
    run_block(name)
    said = capsys.readouterr().err
    assert "please report" not in said and "no further trace" not in said
    if name[:2] in OWN_PROFILER:
        assert not glob.glob("outputs/profiler_logs/*/*.pt.trace.json")
    if name == "02_profiler_configuration":
        assert len(glob.glob("runs/profiler/*.pt.trace.json")) == 2


ON_TENSORFLOW = """
import glob, os, pathlib, sys, tempfile
os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3")
import tensorflow as tf
import pmtop, pmtop.keras
pmtop.keras.instrument()
os.chdir(tempfile.mkdtemp())
x, y = tf.random.normal((320, 8)), tf.random.normal((320, 1))
model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
for block in sys.argv[1:]:
    exec(compile(pathlib.Path(block).read_text(), block, "exec"),
         {"tf": tf, "model": model, "x_train": x, "y_train": y, "train_dataset": data, "train_step": model.train_on_batch})
print("traces", len(glob.glob("logs/**/*.xplane.pb", recursive=True)), "batches", pmtop.statistics()["num_batches"])
"""


@pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="tensorflow is not installed")
def test_blocks_on_tensorflow_run_beside_pmtop():
    paths = [FOLDER / "003" / f"{name}.py" for name in TENSORFLOW if name != "06_programmatic_profiling"]
    assert watching.run(ON_TENSORFLOW, *paths).out().endswith("traces 2 batches 50\n")
