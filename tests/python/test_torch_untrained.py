"""Passes over a loader in training mode and with gradients: those that train count as training, and those that only validate or read do not."""
import collections

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
from torch import nn
from torch.utils.data import DataLoader
from torch_loop import Account, data, make


class Run:
    """One training. `validated`: batches with a forward alone."""

    def __init__(self):
        self.model, self.optimizer = make()
        self.batches = self.validated = 0

    def train(self, loader, parts=1):
        """parts: a step follows so many batches."""
        for index, (x, y) in enumerate(loader):
            nn.functional.mse_loss(self.model(x), y).backward()
            self.batches += 1
            if index % parts == parts - 1:
                self.optimizer.step()
                self.optimizer.zero_grad()

    def validate(self, loader):
        for x, y in loader:
            nn.functional.mse_loss(self.model(x), y).item()
            self.validated += 1


def one_ahead(loader):
    iterator = iter(loader)
    current = next(iterator)
    for following in iterator:
        yield current
        current = following
    yield current


def loaders_that_are_kept(run, size=4, read=iter):
    """`size`: of a batch of validation; `read`: what the loops run over, of a loader."""
    loader, other = DataLoader(data(40), batch_size=4), DataLoader(data(12), batch_size=size)
    for _ in range(3):
        run.train(read(loader))
        run.validate(read(other))


def loaders_of_each_epoch(run):
    train, test = data(40), data(12)
    for _ in range(3):
        run.train(DataLoader(train, batch_size=4, shuffle=True))
        run.validate(DataLoader(test, batch_size=4))


def data_of_each_epoch(run):
    for _ in range(3):
        run.train(DataLoader(data(40), batch_size=4))
        run.validate(DataLoader(data(12), batch_size=4))


def more_data_of_the_same_size(run):
    for _ in range(3):
        run.train(DataLoader(data(40), batch_size=4))


def one_batch_of_validation(run):
    loaders_that_are_kept(run, size=12)


def validation_that_fetches_ahead(run):
    loaders_that_are_kept(run, read=one_ahead)


def several_validations(run):
    loader, others = DataLoader(data(40), batch_size=4), [DataLoader(data(count), batch_size=4) for count in (8, 12)]
    for _ in range(3):
        run.train(loader)
        for other in others:
            run.validate(other)


def accumulation_over_new_data(run):
    for _ in range(3):
        run.train(DataLoader(data(40), batch_size=4), parts=2)


def first_batch_without_work(run):
    for _ in range(3):
        loader = iter(DataLoader(data(44), batch_size=4))
        next(loader)
        run.train(loader)
        run.batches += 1


def losses_of_two_batches(run):
    """One backward through both."""
    for _ in range(3):
        losses = []
        for x, y in DataLoader(data(40), batch_size=4):
            run.batches += 1
            losses.append(nn.functional.mse_loss(run.model(x), y))
            if len(losses) == 2:
                sum(losses).backward()
                run.optimizer.step()
                run.optimizer.zero_grad()
                losses = []


def trained_after_it_was_validated(run):
    loader, other = DataLoader(data(40), batch_size=4), DataLoader(data(40), batch_size=4)
    run.train(loader)
    run.validate(other)
    for _ in range(2):
        run.train(other)


def loaders_that_are_read_for_their_length(run):
    loader, other, single = DataLoader(data(40), batch_size=4), DataLoader(data(12), batch_size=4), DataLoader(data(4), batch_size=4)
    assert len(list(loader)) == 10
    for _ in range(3):
        run.train(loader)
        assert [len(list(one)) for one in (loader, other, single)] == [10, 3, 1]
        assert sum(len(x) for x, _ in loader) == 40


RUNS = [loaders_that_are_kept, loaders_of_each_epoch, data_of_each_epoch, more_data_of_the_same_size, one_batch_of_validation,
        validation_that_fetches_ahead, several_validations, accumulation_over_new_data, first_batch_without_work, losses_of_two_batches,
        trained_after_it_was_validated, loaders_that_are_read_for_their_length]


@pytest.mark.parametrize("program", RUNS)
def test_only_passes_that_train_count(program, capfd):
    torch.set_num_threads(1)
    without = Run()
    program(without)
    pmtop.close()
    with pmtop.torch.instrument():
        run = Run()
        program(run)
    reported, region = Account.reported()
    counts = collections.Counter(batch.mode for batch in region.batches() if batch.mode != "peek")
    assert counts == collections.Counter({mode: count for mode, count in (("train", run.batches), ("validation", run.validated)) if count})
    assert reported["batch"]["count"] == run.batches
    assert region.meta["accumulation"] == ("2" if program in (accumulation_over_new_data, losses_of_two_batches) else "1")
    assert [(epoch["index"], epoch["batches"]) for epoch in reported["epochs"] if epoch.get("mode") != "peek"] == [(i, run.batches // 3) for i in range(3)]
    assert all(torch.equal(one, other) for one, other in zip(run.model.parameters(), without.model.parameters()))
    pmtop.close()
    assert "pmtop" not in capfd.readouterr().err
