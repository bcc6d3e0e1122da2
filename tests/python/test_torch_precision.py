"""What a model computes in, as pmtop.torch reports it, for every position of the autocast."""
import os

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
import watching
from pmtop._torch import precision as _torch_precision
from region_events import Region
from torch.utils.data import DataLoader
from torch_loop import data, make


class Within(torch.nn.Module):
    """With an autocast of its own, as in a library's model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    @torch.autocast("cpu", dtype=torch.float16)
    def forward(self, x):
        return self.model(x).float()


def reported(wrap=lambda model: model, around=None, batches=6):
    pmtop.close()
    pmtop.init("precision")
    try:
        with pmtop.torch.instrument():
            model, optimizer = make()
            model = wrap(model)
            for x, y in DataLoader(data(4 * batches), batch_size=4):
                optimizer.zero_grad()
                with around or torch.autocast("cpu", enabled=False):
                    out = model(x.to(next(model.parameters()).dtype))
                out.float().sub(y).square().mean().backward()
                optimizer.step()
            return Region(os.getpid()).meta.get("torch.precision")
    finally:
        pmtop.close()
        assert not hasattr(torch.autocast.__enter__, "__wrapped__")


def test_the_parameters_say_it_where_there_is_no_autocast():
    assert reported() == "32-true"
    assert reported(lambda model: model.bfloat16()) == "bf16-true"
    assert reported(lambda model: model.double()) == "64-true"


def test_an_autocast_says_it_around_the_model_and_inside_it():
    assert reported(around=torch.autocast("cpu", dtype=torch.bfloat16)) == "bf16-mixed"
    assert reported(Within) == "16-mixed"


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_model_says_it_where_it_is_compiled_and_else_nothing(backend):
    assert reported(lambda model: torch.compile(Within(model), backend=backend, fullgraph=True)) == "16-mixed"
    torch.compiler.reset()
    assert reported(lambda model: torch.compile(model, backend=backend, fullgraph=True)) is None
    torch.compiler.reset()


def test_an_autocast_of_validation_says_nothing():
    def validate_first(model):
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            model(torch.zeros(1, next(model.parameters()).shape[1]))
        return model

    assert reported(validate_first) == "32-true"


def test_single_precision_that_a_gpu_rounds_is_tf32(monkeypatch):
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "high")
    assert _torch_precision.with_tf32("32-true", True) == "tf32 (32-true)"
    assert _torch_precision.with_tf32("32-true", False) == "32-true"
    assert _torch_precision.with_tf32("bf16-mixed", True) == "bf16-mixed"
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "highest")
    assert _torch_precision.with_tf32("32-true", True) == "32-true"
