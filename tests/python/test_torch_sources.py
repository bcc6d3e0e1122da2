"""pmtop.torch.instrument() beside the loops of other libraries: what they fetch, how they step. Counts are the script's own, and the parameters, the
losses and the random numbers that follow are the same to the bit as without it."""
import itertools
import json

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
import watching
from torch import nn
from torch.utils.data import DataLoader, IterableDataset
from torch_loop import Account, Net, data, make

ROWS = data(24).tensors
EPOCHS = 3


@pytest.fixture(autouse=True)
def no_words(capfd):
    """Nothing may be said on standard error."""
    torch.set_num_threads(1)
    yield
    pmtop.close()
    assert "pmtop" not in capfd.readouterr().err


def counts(reported):
    """mode: batches."""
    modes = reported["modes"] if "modes" in reported else {"train": reported["batch"]}
    return {mode: row["count"] for mode, row in modes.items() if row["count"]}


def twice(train):
    """Trains without and with instrument(): (what pmtop said, its region, the number of steps that the script counted)."""
    without = train(Account())
    pmtop.close()
    account = Account()
    with pmtop.torch.instrument():
        assert train(account) == without
        reported, region = account.reported()
    return reported, region, account


def state(models, *more):
    return [[parameter.tolist() for parameter in model.parameters()] for model in models], torch.rand(3).tolist(), *more


# -- where batches come from

def chunks(size=4):
    for begin in range(0, len(ROWS[0]), size):
        yield ROWS[0][begin:begin + size], ROWS[1][begin:begin + size]


class DaliLike:
    """Is its own iterator, gives a list with a dictionary for each pipeline, and is reset after its epoch."""

    def __init__(self):
        self.begin = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.begin >= len(ROWS[0]):
            raise StopIteration
        self.begin += 4
        return [{"data": ROWS[0][self.begin - 4:self.begin], "label": ROWS[1][self.begin - 4:self.begin]}]

    def reset(self):
        self.begin = 0


class Samples(IterableDataset):
    def __iter__(self):
        return iter([{"x": x, "y": y} for x, y in zip(*ROWS)])


class Pipeline(IterableDataset):
    """As webdataset chains its stages; the last one gives batches."""

    def __init__(self, *stages):
        self.stages = stages

    def __iter__(self):
        source = iter(self.stages[0])
        for stage in self.stages[1:]:
            source = stage(source)
        return source


def batched(source):
    while group := list(itertools.islice(source, 4)):
        yield torch.stack([row["x"] for row in group]), torch.stack([row["y"] for row in group])


class TensorflowLike:
    """A tensor that is not torch's."""

    def __init__(self, tensor):
        self.array = tensor.numpy()

    def numpy(self):
        return self.array


def dali(loader=DaliLike()):
    for [rows] in loader:
        yield rows["data"], rows["label"]
    loader.reset()


def huggingface():
    """datasets.IterableDataset.iter(batch_size=4) gives columns of lists."""
    for x, y in chunks():
        columns = {"x": x.tolist(), "y": y.tolist()}
        yield torch.tensor(columns["x"]), torch.tensor(columns["y"])


def tensorflow():
    for x, y in map(lambda pair: tuple(map(TensorflowLike, pair)), chunks()):
        yield torch.from_numpy(x.numpy()), torch.from_numpy(y.numpy())


WITHOUT_LOADER = {"generator": chunks, "dali": dali, "webdataset": lambda: Pipeline(Samples(), batched), "huggingface": huggingface, "tensorflow": tensorflow}
WITH_LOADER = {"iterable data set": lambda: DataLoader(Samples(), batch_size=4),
               "batches from the data set": lambda: DataLoader(Pipeline(Samples(), batched), batch_size=None)}


def over(source):
    """Trains over a source of batches."""
    def train(account):
        model, optimizer = make()
        for _ in range(EPOCHS):
            for batch in source():
                x, y = batch.values() if isinstance(batch, dict) else batch
                account.learn(model, optimizer, nn.functional.dropout(x, 0.1), y)
        return state([model], account.losses)
    return train


@pytest.mark.parametrize("name", WITHOUT_LOADER)
def test_sources_without_a_loader(name):
    reported, region, account = twice(over(WITHOUT_LOADER[name]))
    assert counts(reported) == {"train": account.steps} == {"train": EPOCHS * 6}
    assert not reported.get("epochs") and [batch.index for batch in region.batches()] == list(range(account.steps))
    assert [batch.loss for batch in region.batches()] == pytest.approx(account.losses)


@pytest.mark.parametrize("name", WITH_LOADER)
def test_sources_with_a_loader(name):
    reported, region, account = twice(over(WITH_LOADER[name]))
    assert counts(reported) == {"train": account.steps} == {"train": EPOCHS * 6}
    assert [epoch["batches"] for epoch in reported["epochs"]] == [6] * EPOCHS
    assert [batch.loss for batch in region.batches()] == pytest.approx(account.losses)


def test_data_sets_of_hugging_face():
    datasets = pytest.importorskip("datasets", reason="transformers is not installed, nor datasets")
    rows = datasets.Dataset.from_dict({"x": ROWS[0].tolist(), "y": ROWS[1].tolist()}).to_iterable_dataset().with_format("torch")
    for source, epochs in ((lambda: rows.iter(batch_size=4), []), (lambda: DataLoader(rows, batch_size=4), [6] * EPOCHS)):
        reported, _, account = twice(over(source))
        assert counts(reported) == {"train": account.steps} == {"train": EPOCHS * 6}
        assert [epoch["batches"] for epoch in reported.get("epochs", [])] == epochs


# -- how they step

def with_skipped_steps(account):
    model, optimizer = make()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for index, (x, y) in enumerate(chunks()):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        scaler.scale(loss * float("inf") if index in (1, 4) else loss).backward()
        scaler.step(optimizer)
        scaler.update()
        account.steps += 1
    return state([model], scaler.get_scale())


def with_two_optimizers(account):
    torch.manual_seed(3)
    maker, critic = nn.Linear(2, 4), Net()
    makes, criticises = torch.optim.Adam(maker.parameters(), 0.01), torch.optim.Adam(critic.parameters(), 0.01)
    loss_of = nn.BCEWithLogitsLoss()
    for x, _ in chunks():
        made = maker(torch.randn(4, 2))
        criticises.zero_grad()
        (loss_of(critic(x), torch.ones(4, 1)) + loss_of(critic(made.detach()), torch.zeros(4, 1))).backward()
        criticises.step()
        makes.zero_grad()
        loss_of(critic(made), torch.ones(4, 1)).backward()
        makes.step()
        account.steps += 1
    return state([maker, critic])


def with_closures(account):
    torch.manual_seed(1)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
    for x, y in chunks():
        def closure():
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            return loss
        optimizer.step(closure)
        account.steps += 1
    return state([model])


def compiled(account):
    torch.compiler.reset()
    model, optimizer = make()
    forward = torch.compile(model, backend="aot_eager")
    for x, y in chunks():
        optimizer.zero_grad()
        nn.functional.mse_loss(forward(x), y).backward()
        optimizer.step()
        account.steps += 1
    return state([model])


def compiled_function(account):
    """The forward and its loss are compiled together."""
    torch.compiler.reset()
    model, optimizer = make()
    loss_of = torch.compile(lambda x, y: nn.functional.mse_loss(model(x), y), backend="eager")
    for x, y in chunks():
        loss_of(x, y).backward()
        optimizer.step()
        model.zero_grad()
        account.steps += 1
    return state([model])


@pytest.mark.parametrize("train", [with_skipped_steps, with_two_optimizers, with_closures, compiled, compiled_function])
def test_ways_to_step(train):
    reported, region, account = twice(train)
    assert counts(reported) == {"train": account.steps} == {"train": 6}
    assert [batch.index for batch in region.batches()] == list(range(6))


def test_steps_that_are_compiled_are_unknown():
    """No step is seen: there are no batches, and none that seems to run for ever."""
    def train(account):
        torch.compiler.reset()
        model, optimizer = make()
        step = torch.compile(optimizer.step, backend="eager")
        for x, y in itertools.chain(chunks(), chunks()):
            nn.functional.mse_loss(model(x), y).backward()
            step()
            optimizer.zero_grad()
        return state([model])
    reported, region, _ = twice(train)
    assert "train" not in counts(reported)
    assert [batch.mode for batch in region.batches()] == ["peek"]


RANK = """
import json, os, sys
sys.path.insert(0, os.environ["HERE"])
import torch, pmtop, pmtop.torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torch_loop import Account, Net, data, make
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + os.environ["STORE"], rank=int(os.environ["RANK"]), world_size=2)
ROWS = data(48)


def state(model):
    return [getattr(parameter, "to_local", lambda: parameter)().tolist() for parameter in model.parameters()]


def plain(account):
    torch.manual_seed(1)
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    for step in range(7):
        for micro in range(3):
            begin = (6 * step + 2 * micro + dist.get_rank()) % 40
            x, y = ROWS.tensors[0][begin:begin + 4], ROWS.tensors[1][begin:begin + 4]
            model.require_backward_grad_sync = micro == 2
            (nn.functional.mse_loss(model(x), y) / 3).backward()
        optimizer.step()
        optimizer.zero_grad()
        account.steps += 1
    return state(model)


def with_loader(account):
    torch.manual_seed(1)
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    sampler = DistributedSampler(ROWS, seed=3)
    loader = DataLoader(ROWS, batch_size=4, sampler=sampler)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            account.learn(model, optimizer, x, y)
    return state(model)


def sharded(account):
    from torch.distributed.fsdp import fully_shard
    torch.manual_seed(1)
    model = Net()
    fully_shard(model.first)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    for step in range(7):
        account.learn(model, optimizer, ROWS.tensors[0][4 * step:4 * step + 4], ROWS.tensors[1][4 * step:4 * step + 4])
    return state(model)


seen = {}
for train in (plain, with_loader, sharded):
    without = train(Account())
    pmtop.close()
    account = Account()
    with pmtop.torch.instrument():
        same = train(account) == without
        reported, region = account.reported()
    pmtop.close()
    seen[train.__name__] = {"same": same, "steps": account.steps, "batches": reported["batch"]["count"], "indices": [b.index for b in region.batches()],
                            "epochs": [epoch["batches"] for epoch in reported.get("epochs", [])], "micro": region.meta.get("micro_batches")}
dist.destroy_process_group()
print(json.dumps(seen))
"""


def test_two_ranks_over_gloo(tmp_path):
    env = {"HERE": str(watching.HERE), "STORE": str(tmp_path / "store"), "WORLD_SIZE": "2"}
    with watching.start(RANK, env={**env, "RANK": "0"}) as first, watching.start(RANK, env={**env, "RANK": "1"}) as second:
        for rank in (first, second):
            assert rank.finish(120) == 0, rank.err()
            assert "pmtop" not in rank.err()
            seen = rank.truth()
            assert seen["plain"] == {"same": True, "steps": 7, "batches": 7, "indices": list(range(7)), "epochs": [], "micro": "3"}
            assert seen["with_loader"] == {"same": True, "steps": 12, "batches": 12, "indices": list(range(6)) * 2, "epochs": [6, 6], "micro": None}
            assert seen["sharded"] == {"same": True, "steps": 7, "batches": 7, "indices": list(range(7)), "epochs": [], "micro": None}
