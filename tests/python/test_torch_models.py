"""What pmtop.torch does to models: nothing that pickling, copying, compiling, scripting or wrapping them could see."""
import copy
import inspect
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
    assert all(inspect.isfunction(value) for value in ours), "torch.compile binds nothing else to an object"
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


class Deep(nn.Module):
    """first, and blocks 0 and 1 of a list, each with two layers."""

    def __init__(self, blocks=2):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(blocks))
        self.last = nn.Linear(4, 1)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


@pytest.fixture
def depth(instrumentation):
    """Instruments anew, with times of submodules to a depth."""
    instrumentation.close()
    open_ones = []
    yield lambda levels: open_ones.append(pmtop.torch.instrument(modules=levels))
    for one in open_ones:
        one.close()


@pytest.mark.parametrize("levels, names", [(1, {"first", "blocks.0", "blocks.1", "last"}),
                                           (2, {"first", "blocks.0", "blocks.1", "last", "blocks.0.0", "blocks.0.1", "blocks.1.0", "blocks.1.1"})])
def test_times_of_submodules_to_a_depth(depth, levels, names):
    depth(levels)
    reported = train(Deep(), epochs=2)
    rows = {row["name"]: row for row in reported["operations"]}
    assert {name for name in rows if rows[name]["depth"]} == names and rows["forward"]["count"] == 16
    assert all(rows[name]["count"] == 16 and rows[name]["depth"] == 1 + (name.count(".") == 2) for name in names)
    assert sum(rows[name]["total_s"] for name in names if name.count(".") < 2) <= rows["forward"]["total_s"]


def test_many_submodules_share_a_name_and_one_that_dies_leaves_its_id(depth):
    from pmtop._torch.submodules import Submodules, names_of

    depth(2)
    reported = train(Deep(80))
    assert {row["name"]: row["count"] for row in reported["operations"] if row["depth"]} == {
        "first": 8, "last": 8, "blocks.*": 640, "blocks.*.*": 1280}
    inner, model = Submodules(pmtop.torch._publisher(), 1), Deep()
    inner.add(model)
    inner.add(model)
    assert len(inner.spans) == 4
    del model
    assert inner.spans == {} == inner.roots
    assert set(names_of(nn.DataParallel(Deep()), 1).values()) == {"first", "blocks.0", "blocks.1", "last"}


def test_times_of_submodules_change_no_results_and_no_compiled_graph(depth):
    def run(called):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.manual_seed(1)
        model = Deep()
        return train(model, forward=called(model)), graphs(), [parameter.tolist() for parameter in model.parameters()]

    plain = [run(called)[1:] for called in (lambda model: model, WAYS["function"])]
    depth(2)
    assert [run(called)[1:] for called in (lambda model: model, WAYS["function"])] == plain
    # What was compiled calls no submodules.
    assert {row["count"] for row in run(WAYS["wrapped"])[0]["operations"] if row["name"].startswith("blocks.")} == {8}


class Ranged(Net):
    """A module with blocks of its own."""

    def forward(self, x):
        with torch.profiler.record_function("hidden"):
            x = torch.relu(self.first(x))
        return self.second(x)


class _Nvtx:
    """A stand-in for the library, which only CUDA builds have."""

    depth = 0

    def rangePushA(self, text):
        self.depth += 1
        return self.depth - 1

    def rangePop(self):
        self.depth -= 1
        return self.depth


def test_blocks_of_the_program_are_spans_and_those_of_torch_are_none(instrumentation, monkeypatch):
    nvtx, kind, near = torch.cuda.nvtx, torch.profiler.record_function, torch.autograd.profiler.record_function.__enter__
    monkeypatch.setattr(nvtx, "_nvtx", _Nvtx())
    push = nvtx.range_push

    @kind("decorated")
    def step(model, x):
        with nvtx.range("step {}", 7):
            nvtx.range_push("pushed")
            try:
                return model(x)
            finally:
                nvtx.range_pop()

    model = Ranged()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=lambda step: torch.profiler.ProfilerAction.RECORD) as profiler:
        reported = train(model, forward=lambda x: (profiler.step(), step(model, x))[1])
    depths = {row["name"]: (row["depth"], row["count"]) for row in reported["operations"]}
    assert [depths[name] for name in ("decorated", "step 7", "pushed", "forward", "hidden")] == [(depth, 8) for depth in range(5)]
    assert not any(name.startswith(("Optimizer.", "ProfilerStep", "enumerate(")) for name in depths)
    assert nvtx._nvtx.depth == 0 and sum(event.key == "hidden" for event in profiler.key_averages()) == 1
    with pmtop.torch.paused(), kind("not mine"):
        assert nvtx.range_push("nor this") == 0 and nvtx.range_pop() == 0
    for number in range(100):
        with kind(f"step {number}"):
            pass
    named = sum(row["name"].startswith("step ") for row in Account.reported()[0]["operations"])
    assert 50 < named <= 64 and spans(Account.reported()[0], "not mine") == 0
    instrumentation.close()
    assert vars(kind)["__enter__"] is near and nvtx.range_push is push.__wrapped__ and instrumentation.parts["ranges"].is_on is False


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_blocks_within_compiled_code_are_left_alone():
    model, x = Ranged(), torch.ones(2, 4)
    assert torch.equal(torch.jit.script(model)(x), model(x))
    assert torch.equal(torch.compile(model, backend="eager", fullgraph=True)(x), model(x))


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
