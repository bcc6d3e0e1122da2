"""What pmtop.torch does to models: nothing that pickling, copying, compiling, scripting or wrapping them could see."""
import copy
import io
import os
import pickle

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
from torch import nn
from torch.utils.data import DataLoader
from torch_loop import Account, Net, data, make, spans

NAME = "_compiled_call_impl"


@pytest.fixture(autouse=True)
def instrumentation(capfd):
    torch.set_num_threads(1)
    pmtop.close()
    with pmtop.torch.instrument() as instrumentation:
        yield instrumentation
    pmtop.close()
    assert "pmtop" not in capfd.readouterr().err


def train(model, epochs=1, forward=None):
    """Eight batches an epoch, each with one call of the model: what pmtop said."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(epochs):
        for x, y in DataLoader(data(32), batch_size=4):
            optimizer.zero_grad()
            (model if forward is None else forward)(x).sub(y).square().mean().backward()
            optimizer.step()
    return Account.reported()[0]


def test_only_the_outermost_module_is_forward():
    class Wrapper(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(Net(), nn.Identity())

        def forward(self, x):
            return self.inner(x)

    reported = train(Wrapper())
    assert spans(reported, "forward") == 8
    assert [row["depth"] for row in reported["operations"] if row["name"] == "forward"] == [0]


def test_container_that_is_not_called_itself():
    class Container(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, x):
            return self.net(x)

    model = Container()
    assert spans(train(model, forward=model.training_step), "forward") == 8


def test_model_that_comes_later_is_seen_too():
    train(Net())
    assert spans(train(nn.Sequential(nn.Linear(4, 1))), "forward") >= 8 + 7


@pytest.mark.parametrize("way", ["pickle", "torch.save", "deepcopy"])
def test_models_know_nothing_of_it(way):
    model, optimizer = make()
    train(model)
    before = dict(model.__dict__)
    if way == "deepcopy":
        twin = copy.deepcopy(model)
    elif way == "pickle":
        text = pickle.dumps((model, optimizer))
        assert b"pmtop" not in text
        twin = pickle.loads(text)[0]
    else:
        file = io.BytesIO()
        torch.save((model, optimizer), file)
        assert b"pmtop" not in file.getvalue()
        file.seek(0)
        twin = torch.load(file, weights_only=False)[0]
    assert set(twin.__dict__) == set(model.__dict__) == set(before)
    x = torch.ones(2, 4)
    assert torch.equal(twin(x), model(x))


def test_a_class_that_is_pickled_by_value_takes_nothing_with_it():
    train(Net())
    inherited = vars(Net)[NAME]
    assert pickle.loads(pickle.dumps(inherited)) is None and copy.deepcopy(inherited) is None


def test_nobody_else_sees_an_attribute():
    model, _ = make()
    train(model)
    assert getattr(model, NAME) is None and getattr(Net, NAME) is None and NAME not in model.__dict__


def test_everything_is_put_back(instrumentation):
    from torch.optim import optimizer
    from torch.utils.data import dataloader

    patched = [(nn.Module, "zero_grad"), (torch.optim.Optimizer, "zero_grad"), (DataLoader, "__iter__"), (dataloader._BaseDataLoaderIter, "__next__"),
               (torch.autograd, "backward"), (torch, "save"), (torch.serialization, "save"), (torch.amp.GradScaler, "scale")]
    ours = [vars(owner)[name] for owner, name in patched]
    train(Net())
    assert pmtop.torch.instrument() is instrumentation
    instrumentation.close()
    for (owner, name), value in zip(patched, ours):
        assert vars(owner)[name] is value.__wrapped__, name
    assert vars(nn.Module)[NAME] is None and NAME not in vars(Net)
    assert not optimizer._global_optimizer_pre_hooks and not optimizer._global_optimizer_post_hooks
    assert pmtop.torch.instrument() is not instrumentation
    pmtop.torch.instrument().close()


def test_signatures_stay():
    import inspect

    assert list(inspect.signature(torch.autograd.backward).parameters)[:2] == ["tensors", "grad_tensors"]
    assert list(inspect.signature(torch.save).parameters)[:2] == ["obj", "f"]


def test_share_memory_weight_tying_and_functional_call():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
            self.second.weight = self.first.weight
            self.last = nn.Linear(4, 1)

        def forward(self, x):
            return self.last(self.second(self.first(x)))

    model = Tied().share_memory()
    assert spans(train(model), "forward") == 8
    parameters = {name: torch.zeros_like(value) for name, value in model.named_parameters()}
    assert torch.func.functional_call(model, parameters, (torch.ones(2, 4),)).tolist() == [[0.0], [0.0]]


def test_recomputed_forward_lies_in_backward():
    from torch.utils.checkpoint import checkpoint

    model = Net()
    reported = train(model, forward=lambda x: checkpoint(model, x.requires_grad_(), use_reentrant=False))
    assert spans({"operations": [row for row in reported["operations"] if row["depth"] == 0]}, "forward") == 8


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripting_and_tracing():
    assert spans(train(torch.jit.script(Net())), "forward") == 8
    model = Net()
    train(model)
    x = torch.ones(2, 4)
    assert torch.equal(torch.jit.script(model)(x), model(x))
    assert torch.equal(torch.jit.trace(model, x)(x), model(x))
    assert torch.equal(torch.fx.symbolic_trace(model)(x), model(x))
    assert torch.equal(torch.export.export(model, (x,)).module()(x), model(x))


def test_replicas_of_a_module_call_themselves():
    model = Net()
    train(model)
    replica = model._replicate_for_data_parallel()
    replica.forward = lambda x: "the replica's own"
    assert replica(torch.ones(2, 4)) == "the replica's own"


def test_distributed_wrapper(tmp_path):
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        reported = train(nn.parallel.DistributedDataParallel(Net()))
    finally:
        dist.destroy_process_group()
    assert spans(reported, "forward") == spans(reported, "backward") == 8


def graphs():
    from torch._dynamo.utils import counters

    return {"graphs": counters["stats"]["unique_graphs"], "breaks": sum(counters["graph_break"].values()), "recompiles": sum(counters["recompiles"].values())}


WAYS = {
    "wrapped": lambda model: torch.compile(model, backend="eager", fullgraph=True),
    "function": lambda model: torch.compile(lambda x: model(x) * 1, backend="eager", fullgraph=True),
    "aot": lambda model: torch.compile(model, backend="aot_eager", fullgraph=True),
}


@pytest.mark.parametrize("is_hooked", [False, True])
@pytest.mark.parametrize("way", ["wrapped", "function", "aot", "in place"])
def test_compiled_models_neither_break_nor_compile_again(instrumentation, way, is_hooked):
    def run():
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.manual_seed(1)
        model = Net()
        if is_hooked:
            model.register_forward_hook(lambda module, inputs, output: output * 1)
        if way == "in place":
            model.compile(backend="eager", fullgraph=True)
            called = model
        else:
            called = WAYS[way](model)
        reported = train(model, epochs=2, forward=called)
        return graphs(), [parameter.tolist() for parameter in model.parameters()], reported

    counts, values, reported = run()
    instrumentation.close()
    plain_counts, plain_values, _ = run()
    assert counts["breaks"] == plain_counts["breaks"] and values == plain_values
    if not (way == "function" and is_hooked):
        assert counts == plain_counts
        if way != "function":
            assert spans(reported, "forward") == 16


def test_step_within_a_compiled_function(instrumentation):
    def run():
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        model, optimizer = make()
        for x, y in DataLoader(data(16), batch_size=4):
            model(x).sub(y).square().mean().backward()
            torch.compile(optimizer.step, backend="eager")()
            torch.compile(lambda: torch.ones(3).sum() * 2, backend="eager", fullgraph=True)()
            optimizer.zero_grad()
        return graphs(), [parameter.tolist() for parameter in model.parameters()]

    counts = run()
    instrumentation.close()
    assert run() == counts
