"""Loops with several loaders, of which some are read beside the main one, or kept: each optimizer step is counted once."""
import collections
import itertools

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
from torch import nn
from torch.utils.data import DataLoader
import watching
from torch_loop import Account, data, make


def labelled(batches=25):
    return DataLoader(data(4 * batches), batch_size=4)


def unlabelled(batches=100):
    return DataLoader(data(4 * batches), batch_size=4)


class Trainer:
    def __init__(self):
        self.model, self.optimizer = make()
        self.steps = 0

    def step(self, *batches):
        """One step on the sum of their losses."""
        self.optimizer.zero_grad()
        sum(nn.functional.mse_loss(self.model(x), y) for x, y in batches).backward()
        self.optimizer.step()
        self.steps += 1

    def step_apart(self, batches):
        """One step with a backward of each, which is fetched when it is its turn."""
        self.optimizer.zero_grad()
        for x, y in batches:
            nn.functional.mse_loss(self.model(x), y).backward()
        self.optimizer.step()
        self.steps += 1


def for_and_two(run):
    more = iter(unlabelled())
    for batch in labelled():
        run.step(batch, next(more), next(more))


def for_and_two_apart(run):
    more = iter(unlabelled())
    for batch in labelled():
        run.step_apart(itertools.chain([batch], itertools.islice(more, 2)))


def by_hand_and_two(run):
    main, more = iter(labelled()), iter(unlabelled())
    for _ in range(25):
        run.step(next(main), next(more), next(more))


def two_and_by_hand(run):
    main, more = iter(labelled()), iter(unlabelled())
    for _ in range(25):
        two = next(more), next(more)
        run.step(next(main), *two)


def two_of_which_one_is_looped_over(run):
    main, more = iter(labelled()), iter(unlabelled())
    for first in more:
        second = next(more)
        try:
            run.step(next(main), first, second)
        except StopIteration:
            break
    run.kept = more


def batches_and_two(run):
    more = iter(unlabelled())
    for batch in pmtop.batches(labelled()):
        run.step(batch, next(more), next(more))


def further_iterators(run):
    main, more = iter(labelled(10)), iter(unlabelled(30))
    for _ in range(25):
        try:
            batch = next(main)
        except StopIteration:
            main = iter(labelled(10))
            batch = next(main)
        try:
            two = next(more), next(more)
        except StopIteration:
            more = iter(unlabelled(30))
            two = next(more), next(more)
        run.step(batch, *two)


class Endless(torch.utils.data.Sampler):
    def __iter__(self):
        while True:
            yield from torch.randperm(40).tolist()


def endless_by_hand(run):
    batches = iter(DataLoader(labelled(10).dataset, sampler=Endless(), batch_size=8))
    for _ in range(25):
        run.step(next(batches))


def cycled_by_hand(run):
    main, more = itertools.cycle(labelled(10)), iter(unlabelled())
    for _ in range(25):
        run.step(next(main), next(more))


def kept_and_read_sometimes(run):
    main, kept = labelled(), iter(unlabelled())
    for _ in range(2):
        for index, batch in enumerate(main):
            run.step(batch, next(kept)) if index % 7 == 3 else run.step(batch)


def kept_after_a_look(run):
    kept = iter(unlabelled())
    next(kept)
    for index, batch in enumerate(labelled()):
        run.step(batch)
        if index % 7 == 3:
            next(kept)


def kept_and_fetched_for_the_next_step(run):
    kept = iter(unlabelled())
    other = next(kept)
    for _ in range(2):
        for batch in labelled():
            run.step(batch, other)
            other = next(kept)


def in_turn_with_loops(run):
    kept = iter(unlabelled())
    for _ in range(5):
        run.step(next(kept))
        run.step(next(kept))
        for batch in labelled(4):
            run.step(batch)


def evaluated_after_some_steps(run):
    kept = iter(unlabelled())
    for index in range(25):
        run.step(next(kept))
        if index % 5 == 4:
            with torch.no_grad():
                for x, _ in labelled(3):
                    run.model(x)


def endless(loader):
    while True:
        for batch in loader:
            yield batch


def generators_in_turn(run):
    """The first batch of the second loader shows what it is, and counts with the one before."""
    pair = [endless(labelled(7)), endless(unlabelled(7))]
    for step in range(26):
        run.step(next(pair[step % 2]))
    run.steps -= 1


def generators_at_once(run):
    one, other = endless(labelled(25)), endless(labelled(25))
    for _ in range(25):
        run.step(next(one), next(other))


LOOPS = [for_and_two, for_and_two_apart, by_hand_and_two, two_of_which_one_is_looped_over, batches_and_two, further_iterators, endless_by_hand,
         cycled_by_hand, kept_and_read_sometimes, kept_after_a_look, kept_and_fetched_for_the_next_step, in_turn_with_loops, evaluated_after_some_steps,
         generators_in_turn, generators_at_once]
EPOCHS = {generators_in_turn: [], further_iterators: [], endless_by_hand: [], cycled_by_hand: [10, 15], kept_and_read_sometimes: [25, 25],
          kept_and_fetched_for_the_next_step: [25, 25], in_turn_with_loops: [2, 4] * 5}


@pytest.mark.parametrize("loop", LOOPS)
def test_each_step_is_counted_once(loop, capfd):
    torch.set_num_threads(1)
    without = Trainer()
    loop(without)
    pmtop.close()
    with pmtop.torch.instrument():
        run = Trainer()
        loop(run)
    reported, region = Account.reported()
    counts = collections.Counter(batch.mode for batch in region.batches())
    assert reported["batch"]["count"] == run.steps
    assert counts["train"] == run.steps and counts["peek"] <= 1
    assert counts["validation"] == (15 if loop is evaluated_after_some_steps else 0)
    assert [row["batches"] for row in reported["epochs"] if row.get("mode") != "peek"] == EPOCHS.get(loop, [25])
    assert all(torch.equal(one, other) for one, other in zip(run.model.parameters(), without.model.parameters()))
    pmtop.close()
    assert "pmtop" not in capfd.readouterr().err


# A pass for each of four clients in every epoch, which it prints.
SEVERAL = """
import sys, time, torch
from torch.utils.data import DataLoader, TensorDataset
import pmtop.torch

model = torch.nn.Linear(4, 1)
clients = [DataLoader(TensorDataset(torch.zeros(80, 4)), batch_size=4) for _ in range(4)]


def update(loader):
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for x, in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        time.sleep(0.012)


with pmtop.torch.instrument():
    for epoch in range(200):
        print(epoch, flush=True)
        for client in clients:
            update(client)
"""


def test_passes_of_several_loaders_in_an_epoch_are_no_epochs():
    """pmtop reads the epoch from outside, and drops what was published as epochs."""
    with watching.start(SEVERAL) as script, watching.Monitor("-p", script.pid, refresh_s=0.5) as monitor:
        def printed():
            return int((script.out().split() or ["-1"])[-1])

        def newest():
            return [reported.get("epoch") or {} for reported in monitor.objects()]
        watching.wait_for(lambda: newest() and newest()[-1].get("is_inferred"), 60, "an epoch from outside")
        for _ in range(4):
            first, count = printed(), len(newest())
            watching.wait_for(lambda: len(newest()) > count + 1)
            epoch = newest()[-1]
            assert not epoch or (first - 1 <= epoch["index"] <= printed() and epoch["total"] == 200), (epoch, first)


RESUMED = """
import sys, time, torch
from torch.utils.data import DataLoader, TensorDataset
import pmtop.torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
loader = DataLoader(TensorDataset(torch.zeros(160, 4)), batch_size=4)
with pmtop.torch.instrument():
    for epoch in range(7, 90):
        print(epoch, flush=True)
        for x, in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
            time.sleep(0.02)
"""


def test_a_pass_has_the_number_and_the_total_of_the_loop_around_it():
    """The first epochs were those of an earlier run."""
    with watching.start(RESUMED) as script, watching.Monitor("-p", script.pid, refresh_s=0.5) as monitor:
        watching.wait_for(lambda: monitor.objects() and monitor.objects()[-1].get("epoch", {}).get("total"), 60, "a total")
        for _ in range(4):
            first, count = int(script.out().split()[-1]), len(monitor.objects())
            watching.wait_for(lambda: len(monitor.objects()) > count + 1)
            seen = monitor.objects()[-1]
            assert first <= seen["epoch"]["index"] <= int(script.out().split()[-1]), (first, seen["epoch"])
            assert seen["epoch"]["total"] == 90 and "is_inferred" not in seen["epoch"], seen["epoch"]
            assert [row["index"] for row in seen["epochs"]] == list(range(7, seen["epoch"]["index"] + 1)) and seen["run_eta_s"] > 60, seen["epochs"]
