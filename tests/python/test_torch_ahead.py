"""pmtop.torch.instrument() with libraries that load models in evaluation mode and fetch batches ahead, as transformers and accelerate do."""
import time

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
import watching
from torch import nn
from torch.utils.data import DataLoader
from torch_loop import Account, data, make, spans


@pytest.fixture(autouse=True)
def account(capfd):
    """Instruments for one test, with a region of its own; nothing may be said on standard error."""
    torch.set_num_threads(1)
    pmtop.close()
    with pmtop.torch.instrument():
        yield Account()
    pmtop.close()
    assert "pmtop" not in capfd.readouterr().err


def counts(reported):
    """mode: batches."""
    modes = reported["modes"] if "modes" in reported else {"train": reported["batch"]}
    return {mode: row["count"] for mode, row in modes.items() if row["count"]}


def one_ahead(loader):
    """accelerate's loop: the next batch is fetched before the one before is handed on."""
    iterator = iter(loader)
    try:
        current = next(iterator)
    except StopIteration:
        return
    while True:
        try:
            following = next(iterator)
        except StopIteration:
            yield current
            return
        yield current
        current = following


def loaded():
    """A model as from_pretrained returns it."""
    model, optimizer = make()
    return model.eval(), optimizer


def trainer_step(account, model, optimizer, x, y):
    """The trainer switches the mode in each step, after its batch was fetched."""
    model.train()
    account.learn(model, optimizer, x, y)


@pytest.mark.parametrize("fetch", [iter, one_ahead])
def test_first_epoch_of_a_loaded_model_is_an_epoch(account, fetch):
    model, optimizer = loaded()
    loader = DataLoader(data(20), batch_size=4)
    for account.epochs in range(1, 4):
        for x, y in fetch(loader):
            with account.body("train", len(x)):
                trainer_step(account, model, optimizer, x, y)
    reported, region = account.reported()
    assert counts(reported) == {"train": 15}
    assert [(epoch["index"], epoch["batches"]) for epoch in reported["epochs"]] == [(0, 5), (1, 5), (2, 5)]
    assert [batch.index for batch in region.batches()] == list(range(5)) * 3
    assert {batch.mode for batch in region.batches()} == {"train"}
    assert min(batch.end_ns - batch.begin_ns for batch in region.batches()) >= 10_000_000, "no batch is empty"
    assert [batch.loss for batch in region.batches()] == pytest.approx(account.losses)


def test_a_model_that_trains_in_evaluation_mode_has_all_its_epochs(account):
    model, optimizer = loaded()
    for account.epochs in range(1, 4):
        for x, y in DataLoader(data(20), batch_size=4):
            account.learn(model, optimizer, x, y)
    reported, region = account.reported()
    assert counts(reported) == {"train": 15}
    assert [(epoch["index"], epoch["batches"]) for epoch in reported["epochs"]] == [(0, 5), (1, 5), (2, 5)]


@pytest.mark.parametrize("fetch", [iter, one_ahead])
@pytest.mark.parametrize("comes_first", [False, True])
def test_evaluation_of_a_loaded_model(account, fetch, comes_first):
    model, optimizer = loaded()
    loader, other = DataLoader(data(20), batch_size=4), DataLoader(data(12), batch_size=4)

    def evaluate():
        model.eval()
        for x, _ in fetch(other):
            with torch.no_grad():
                model(x)

    if comes_first:
        evaluate()
    for account.epochs in range(1, 4):
        for x, y in fetch(loader):
            trainer_step(account, model, optimizer, x, y)
        evaluate()
    reported, region = account.reported()
    assert counts(reported) == {"train": 15, "validation": 9 + 3 * comes_first}
    assert [(epoch["index"], epoch["batches"]) for epoch in reported["epochs"]] == [(0, 5), (1, 5), (2, 5)]
    assert spans(reported, "forward") == 15 and spans(reported, "forward", "validation") == 9 + 3 * comes_first


@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.parametrize("fetch", [iter, one_ahead])
def test_micro_batches_that_are_fetched_together(account, fetch, is_loaded):
    """transformers' Trainer fetches those of an optimizer step before it works on the first. Its iterator is dropped when the next epoch begins."""
    model, optimizer = loaded() if is_loaded else make()
    loader = DataLoader(data(40), batch_size=4)
    iterator = None
    for account.epochs in range(1, 4):
        iterator = fetch(loader)
        for count in (4, 4, 2):
            group = [next(iterator) for _ in range(count)]
            for x, y in group:
                with account.body("train", len(x)):
                    model.train()
                    loss = nn.functional.mse_loss(model(x), y)
                    loss.backward()
                    account.losses.append(loss.item())
            optimizer.step()
            optimizer.zero_grad()
    del iterator
    reported, region = account.reported()
    assert counts(reported) == {"train": 30}
    assert [epoch["batches"] for epoch in reported["epochs"]] == [10, 10, 10]
    batches = region.batches()
    assert [batch.loss for batch in batches] == pytest.approx(account.losses)
    assert [batch.kind for batch in batches] == (["accumulate"] * 3 + [None]) * 2 + ["accumulate", None] + (
        (["accumulate"] * 3 + [None]) * 2 + ["accumulate", None]) * 2
    assert min(batch.end_ns - batch.begin_ns for batch in batches) >= 10_000_000


def pipelined(loader, depth):
    """torchrec's pipeline: batches wait, and those that still do at the end of the loader are handed on without a request."""
    iterator, waiting, is_over = iter(loader), [], False
    while True:
        while len(waiting) < depth and not is_over:
            try:
                waiting.append(next(iterator))
            except StopIteration:
                is_over = True
        if not waiting:
            return
        yield waiting.pop(0)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_batches_that_wait_at_the_end_of_a_loader_are_counted(account, depth):
    model, optimizer = make()
    loader, other = DataLoader(data(28), batch_size=4), DataLoader(data(20), batch_size=4)
    for account.epochs in range(1, 4):
        for x, y in pipelined(loader, depth):
            account.learn(model, optimizer, x, y)
        model.eval()
        with torch.no_grad():
            for x, y in pipelined(other, depth):
                nn.functional.mse_loss(model(x), y)
        model.train()
    reported, region = account.reported()
    assert counts(reported) == {"train": 21, "validation": 15}
    assert [(epoch["index"], epoch["batches"]) for epoch in reported["epochs"]] == [(0, 7), (1, 7), (2, 7)]
    assert [batch.loss for batch in region.batches() if batch.mode == "train"] == pytest.approx(account.losses)


def test_a_loop_without_work_that_is_seen_keeps_its_batches(account):
    for _ in range(2):
        for x, _ in DataLoader(data(20), batch_size=4):
            time.sleep(0.002)
    reported, region = account.reported()
    assert counts(reported) == {"train": 10}
    assert all(batch.end_ns - batch.begin_ns >= 2_000_000 for batch in region.batches())


@pytest.mark.parametrize("pause_s", [0, 0.002])
def test_a_loader_that_is_only_read_keeps_its_batches(account, pause_s):
    """As a benchmark of a loader does."""
    iterator = iter(DataLoader(data(20), batch_size=4))
    for _ in range(5):
        next(iterator)
        time.sleep(pause_s)
    del iterator
    reported, region = account.reported()
    assert counts(reported) == {"train": 5}


def test_a_batch_that_is_skipped_is_a_batch(account):
    model, optimizer = make()
    for account.epochs in range(1, 3):
        for index, (x, y) in enumerate(DataLoader(data(20), batch_size=4)):
            if index == 2:
                continue
            account.learn(model, optimizer, x, y)
    reported, _ = account.reported()
    assert counts(reported) == {"train": 10} and [epoch["batches"] for epoch in reported["epochs"]] == [5, 5]


class InfiniteDataLoader(DataLoader):
    """As ultralytics has it: one iterator for all epochs."""

    class Repeat:
        def __init__(self, sampler):
            self.sampler = sampler

        def __iter__(self):
            while True:
                yield from iter(self.sampler)

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        object.__setattr__(self, "batch_sampler", self.Repeat(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


class OwnIterators(DataLoader):
    """As torchdata's StatefulDataLoader: its __iter__ does not call DataLoader's."""

    def __iter__(self):
        self._iterator = self._get_iterator()
        return self._iterator


@pytest.mark.parametrize("kind", [InfiniteDataLoader, OwnIterators])
@pytest.mark.parametrize("is_before", [False, True])
def test_loaders_with_iterators_of_their_own(account, kind, is_before):
    """is_before: the loaders were made before instrument()."""
    if is_before:
        pmtop.torch.instrument().close()
    loader, other = kind(data(20), batch_size=4), kind(data(12), batch_size=4)
    model, optimizer = make()
    with pmtop.torch.instrument():
        for account.epochs in range(1, 4):
            for x, y in loader:
                account.learn(model, optimizer, x, y)
            model.eval()
            with torch.no_grad():
                for x, _ in other:
                    model(x)
            model.train()
        pmtop.torch.instrument().close()
    reported, region = account.reported()
    assert counts(reported) == {"train": 15, "validation": 9}
    assert [epoch["batches"] for epoch in reported["epochs"]] == [5, 5, 5]
    assert spans(reported, "forward", "validation") == 9


@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_loader_of_torchdata(account, workers):
    pytest.importorskip("torchdata", reason="transformers is not installed, nor torchdata")
    from torchdata.stateful_dataloader import StatefulDataLoader
    model, optimizer = make()
    loader = StatefulDataLoader(data(20), batch_size=4, num_workers=workers, persistent_workers=bool(workers))
    for account.epochs in range(1, 4):
        for x, y in loader:
            account.learn(model, optimizer, x, y)
    reported, _ = account.reported()
    assert counts(reported) == {"train": 15} and [epoch["batches"] for epoch in reported["epochs"]] == [5, 5, 5]


def test_a_loader_that_a_thread_reads(account):
    import queue
    import threading
    model, optimizer = make()
    loader = DataLoader(data(20), batch_size=4)
    for account.epochs in range(1, 4):
        batches = queue.Queue(2)

        def read():
            for batch in loader:
                batches.put(batch)
            batches.put(None)

        thread = threading.Thread(target=read)
        thread.start()
        for x, y in iter(batches.get, None):
            with account.body():
                account.learn(model, optimizer, x, y)
        thread.join()
    reported, _ = account.reported()
    assert counts(reported)["train"] == 15


def test_a_loop_that_is_left_before_the_work_on_its_last_batch(account):
    model, optimizer = make()
    for account.epochs in range(1, 4):
        for index, (x, y) in enumerate(DataLoader(data(20), batch_size=4)):
            if index == 3:
                break
            account.learn(model, optimizer, x, y)
    reported, _ = account.reported()
    assert counts(reported)["train"] == 9 and [epoch["batches"] for epoch in reported["epochs"]] == [3, 3, 3]


def test_islice_takes_what_it_takes(account):
    import itertools
    model, optimizer = make()
    loader = DataLoader(data(20), batch_size=4)
    for account.epochs in range(1, 4):
        for x, y in itertools.islice(loader, 3):
            account.learn(model, optimizer, x, y)
    reported, _ = account.reported()
    assert counts(reported) == {"train": 9} and [epoch["batches"] for epoch in reported["epochs"]] == [3, 3, 3]


@pytest.mark.parametrize("samples, rows, length", [(10**10, 40, 0), (10**6, 40, 0), (400, 40, 100)])
def test_a_sampler_without_end_has_no_length(account, samples, rows, length):
    from torch.utils.data import RandomSampler
    model, optimizer = make()
    rows = data(rows)
    loader = DataLoader(rows, batch_size=4, sampler=RandomSampler(rows, replacement=True, num_samples=samples))
    for index, (x, y) in enumerate(loader):
        account.learn(model, optimizer, x, y)
        if index == 4:
            break
    assert pmtop.torch.instrument()._loop.plan == (0, length, 4)


def test_an_iterator_that_is_renewed_loses_no_batch_at_the_end():
    seen = watching.watch(f"""
import sys
sys.path.insert(0, {str(watching.HERE)!r})
import pmtop.torch
import watching
from torch.utils.data import DataLoader
from torch_loop import Account, data, make
pmtop.torch.instrument()
model, optimizer = make()
loader = DataLoader(data(20), batch_size=4)
iterator = iter(loader)
for step in range(12):
    try:
        x, y = next(iterator)
    except StopIteration:
        iterator = iter(loader)
        x, y = next(iterator)
    Account().learn(model, optimizer, x, y)
""")
    assert seen.last["batch"]["count"] == 12


@pytest.mark.parametrize("divide", [lambda loss: loss / 4, lambda loss: loss * 0.25])
@pytest.mark.parametrize("has_loader", [False, True])
@pytest.mark.parametrize("has_scaler", [False, True])
def test_loss_is_not_that_divided_by_the_accumulation(account, divide, has_loader, has_scaler):
    model, optimizer = make(0.001)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0, enabled=has_scaler)
    rows = data(80)
    source = DataLoader(rows, batch_size=4) if has_loader else [(rows.tensors[0][i:i + 4], rows.tensors[1][i:i + 4]) for i in range(0, 80, 4)]
    for index, (x, y) in enumerate(source):
        loss = nn.functional.mse_loss(model(x), y)
        account.losses.append(loss.item())
        scaler.scale(divide(loss)).backward()
        if index % 4 == 3:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    _, region = account.reported()
    losses = [batch.loss for batch in region.batches()]
    known = losses[8:] if has_loader else losses[2:]
    assert known == pytest.approx(account.losses[8:] if has_loader else account.losses[3::4][2:])
    assert losses[0] is None
    assert all(loss is None or loss == pytest.approx(there) for loss, there in zip(losses, account.losses if has_loader else account.losses[3::4]))


@pytest.mark.parametrize("scale", [lambda loss: loss.mul_(0.5), lambda loss: loss / 2])
@pytest.mark.parametrize("has_scaler", [False, True])
def test_loss_of_a_micro_batch_is_not_that_scaled_by_its_share(account, scale, has_scaler):
    """As composer scales it: each batch of the loader is split in two, with a backward of each, before one step."""
    model, optimizer = make(0.001)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0, enabled=has_scaler)
    for x, y in DataLoader(data(80), batch_size=8):
        optimizer.zero_grad()
        for part, its in zip(x.chunk(2), y.chunk(2)):
            loss = nn.functional.mse_loss(model(part), its)
            account.losses.append(loss.item())
            scaler.scale(scale(loss)).backward()
        scaler.step(optimizer)
        scaler.update()
    _, region = account.reported()
    losses = [batch.loss for batch in region.batches()]
    assert losses[:2] == [None, None] and losses[2:] == pytest.approx(account.losses[5::2])


def test_losses_of_two_models_stay_as_they_are(account):
    """Both halve the loss of two parts, as CycleGAN's discriminators."""
    (model, optimizer), (other, its) = make(0.001), make(0.001)
    for x, y in DataLoader(data(80), batch_size=8):
        for one, by in ((model, optimizer), (other, its)):
            by.zero_grad()
            for _ in range(2):
                loss = nn.functional.mse_loss(one(x), y) * 0.5
                loss.backward()
            by.step()
        account.losses.append(loss.item())
    _, region = account.reported()
    assert [batch.loss for batch in region.batches()][2:] == pytest.approx(account.losses[2:])


def test_a_loss_that_is_a_mean_of_four_stays_as_it_is(account):
    model, optimizer = make(0.001)
    for x, y in DataLoader(data(40), batch_size=4):
        loss = nn.functional.mse_loss(model(x), y, reduction="sum") / 4
        account.losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    _, region = account.reported()
    assert [batch.loss for batch in region.batches()][2:] == pytest.approx(account.losses[2:])
