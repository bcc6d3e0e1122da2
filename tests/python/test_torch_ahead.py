"""pmtop.torch.instrument() with libraries that load models in evaluation mode and fetch batches ahead, as transformers and accelerate do."""
import time

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
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
