"""The configurations of the guides on torch.profiler and on Lightning, guide/002 and guide/004: each drives a real training."""
import importlib
import importlib.util
import json
import pathlib
import warnings

import pmtop
import pytest
import torch_loop
import yaml
from guide_blocks import blocks_of
from guide_folders import CHANGES, SEED_OF, SEEDS, blocks, kept

torch = pytest.importorskip("torch")

import pmtop.torch  # noqa: E402

OWN = sorted(name for name in SEED_OF if name in ("002", "004") and (SEEDS / SEED_OF[name]).exists())


@pytest.mark.parametrize("guide", OWN)
def test_the_kept_blocks_are_the_guides(guide):
    for name, text in blocks_of((SEEDS / SEED_OF[guide]).read_text(encoding="utf-8"), CHANGES.get(guide, ())).items():
        assert kept(guide, name) == text, name


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pmtop.close()
    pmtop.init("my_profiling_run")
    yield
    if pmtop.torch._current is not None:
        pmtop.torch._current.close()
    pmtop.close()


def train(steps):
    model, optimizer = torch_loop.make()
    for x, y in torch.utils.data.DataLoader(torch_loop.data(steps * 4), batch_size=4):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def events(path):
    return json.loads(pathlib.Path(path).read_text())["traceEvents"]


@pytest.mark.parametrize("name", blocks("002", ".yaml"))
def test_a_configuration_of_the_guide_on_traces(name, tmp_path):
    config = yaml.safe_load(kept("002", name + ".yaml"))
    config["profiling"]["output_dir"] = "runs/profiler_traces"
    with pmtop.torch.instrument(profile=config):
        train(8)
    (path,) = tmp_path.glob("runs/profiler_traces/*/*.pt.trace.json")
    found = events(path)
    assert len({event["name"] for event in found if event["name"].startswith("ProfilerStep#")}) == 3
    assert any("Input Dims" in event.get("args", {}) for event in found) and any(event["name"] == "[memory]" for event in found)
    assert not any(event.get("cat") == "python_function" for event in found)


def test_the_guide_on_lightning_without_a_gpu(capsys):
    exec(compile(kept("004", "01_no_gpu_profiling.py"), "guide", "exec"), {})
    assert capsys.readouterr().out == f"CUDA available: {torch.cuda.is_available()}\n"


INSTALLED = [name for name in ("lightning", "pytorch_lightning") if importlib.util.find_spec(name)]


@pytest.mark.skipif(not INSTALLED, reason="neither lightning nor pytorch_lightning is installed")
@pytest.mark.parametrize("package", INSTALLED)
def test_the_guides_configuration_in_a_trainer(package, tmp_path, capsys):
    warnings.simplefilter("ignore")
    pl = importlib.import_module("lightning.pytorch" if package == "lightning" else package)
    from pmtop.lightning import PmtopCallback

    class BaselineCNN(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, number):
            x, y = batch
            return torch.nn.functional.mse_loss(self.layer(x), y)

        def validation_step(self, batch, number):
            self.training_step(batch, number)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.05)

    def fit(*callbacks):
        pl.seed_everything(1, verbose=False)
        module = BaselineCNN()
        loader = torch.utils.data.DataLoader(torch_loop.data(60 * 4), batch_size=4, shuffle=True)
        trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                             enable_model_summary=False, callbacks=list(callbacks))
        trainer.fit(module, loader, torch.utils.data.DataLoader(torch_loop.data(8), batch_size=4))
        return [parameter.tolist() for parameter in module.parameters()]

    pmtop.close()
    config = yaml.safe_load(kept("004", "01_method_2_configuration.yaml"))
    assert fit(PmtopCallback(profile=config)) == fit()
    paths = sorted(tmp_path.glob("outputs/profiler_logs/BaselineCNN/*.pt.trace.json"))
    steps = [{event["name"] for event in events(path) if event["name"].startswith("ProfilerStep#")} for path in paths]
    assert [len(names) for names in steps] == [3, 3]
    assert (tmp_path / "outputs/profiler_logs/BaselineCNN/chrome_trace.json").samefile(paths[-1])
    assert capsys.readouterr().err.count("pmtop: profile: trace of 3 steps: ") == 2
