"""What pmtop.torch does where something is missing or goes wrong: a line on standard error, and training continues."""
import gc
import os
import threading
import warnings

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
import watching
from region_events import Region
from torch import nn
from torch.utils.data import DataLoader
from torch_loop import Account, Net, data, make, spans


@pytest.fixture(autouse=True)
def fresh_region():
    torch.set_num_threads(1)
    pmtop.close()
    yield
    if pmtop.torch._current is not None:
        pmtop.torch._current.close()
    pmtop.close()


def train(batches=8, rest=0):
    """rest: samples in one more batch, which are fewer."""
    model, optimizer = make()
    for x, y in DataLoader(data(4 * batches + rest), batch_size=4):
        optimizer.zero_grad()
        model(x).sub(y).square().mean().backward()
        optimizer.step()
    return [parameter.tolist() for parameter in model.parameters()]


def lines(capfd):
    return [line for line in capfd.readouterr().err.splitlines() if line.startswith("pmtop")]


@pytest.mark.parametrize("missing, name", [
    ("forward", "_wrapped_call_impl"), ("optimizer", "register_optimizer_step_pre_hook"),
])
def test_older_torch_loses_a_part_with_one_line(monkeypatch, capfd, missing, name):
    from torch.optim import optimizer

    original = nn.Module._wrapped_call_impl
    if missing == "forward":
        monkeypatch.setattr(nn.Module, "__call__", original)
        monkeypatch.delattr(nn.Module, name)
    else:
        monkeypatch.delattr(optimizer, name)
    with pmtop.torch.instrument() as on:
        assert not on.parts[missing].is_on
        train()
        reported, region = Account.reported()
    assert reported["batch"]["count"] == 8 and spans(reported, "backward") == 8
    said = lines(capfd)
    assert len(said) == 1 and f"{missing} times are not measured" in said[0] and "newer torch" in said[0]


@pytest.mark.parametrize("call", ["batch_samples", "epoch_begin", "epoch_end", "plan", "meta"])
def test_our_own_errors_are_reported_once_and_training_is_the_same(monkeypatch, capfd, call):
    plain = train(rest=2)
    publisher = pmtop.torch._publisher()

    def fail(*arguments):
        raise RuntimeError("a fault of ours")

    with pmtop.torch.instrument() as on:
        monkeypatch.setattr(on._loop.out, call, fail)
        assert train(rest=2) == plain
        assert train(rest=2) == plain
    monkeypatch.undo()
    said = lines(capfd)
    assert len(said) == 1 and "a fault of ours" in said[0]
    del publisher


def train_beside():
    """With a second loader, with unusual turns."""
    model, optimizer = make()
    for (x, y), _ in zip(DataLoader(data(34), batch_size=4), DataLoader(data(34), batch_size=4)):
        optimizer.zero_grad()
        model(x).sub(y).square().mean().backward()
        optimizer.step()
    return [parameter.tolist() for parameter in model.parameters()]


@pytest.mark.parametrize("method", ["batch_requested", "batch_returned", "pass_ends", "pass_begins", "has_forward", "has_backward", "_adopt",
                                    "_begin_next", "_note_interval", "_check_forward"])
def test_errors_anywhere_in_the_loop_are_caught(monkeypatch, capfd, method):
    plain = train_beside()
    on = pmtop.torch.instrument()

    def fail(*arguments):
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(type(on._loop), method, fail)
    on.close()
    capfd.readouterr()
    with pmtop.torch.instrument():
        assert train_beside() == plain
    said = lines(capfd)
    assert len(said) == 1 and "a fault of ours" in said[0]


@pytest.mark.parametrize("method", ["begins", "batch_ended"])
def test_errors_in_the_calls_of_modules_are_caught(monkeypatch, capfd, method):
    from pmtop._torch.modules import ForwardTimes

    def fail(*arguments):
        raise ZeroDivisionError("a fault of ours")

    plain = train()
    monkeypatch.setattr(ForwardTimes, method, fail)
    with pmtop.torch.instrument():
        assert train() == plain
    said = lines(capfd)
    assert len(said) == 1 and "a fault of ours" in said[0]


def test_an_interrupt_in_our_own_code_goes_through(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    with pmtop.torch.instrument() as on:
        for method in ("has_backward", "has_forward", "_note_interval"):
            with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
                patched.setattr(type(on._loop), method, interrupt)
                train()
        assert all(part.is_on for name, part in on.parts.items() if not name.startswith("profile"))
        here = pmtop.torch._here
        assert (here.inside, here.backward, here.steps) == (0, 0, ())


def test_without_the_compiled_part_training_goes_on():
    script = watching.run(f"""
import json, sys
sys.path.insert(0, {str(watching.HERE)!r})
sys.modules["pmtop._pmtop"] = None
import pmtop.torch
from torch.utils.data import DataLoader
from torch_loop import data, make
with pmtop.torch.instrument():
    model, optimizer = make()
    for x, y in DataLoader(data(16), batch_size=4):
        optimizer.zero_grad()
        model(x).sub(y).square().mean().backward()
        optimizer.step()
print(json.dumps({{"is_enabled": pmtop.is_enabled()}}))
""")
    assert script.truth() == {"is_enabled": False}
    assert len(script.err().splitlines()) == 1


def test_an_interrupt_goes_through():
    class Interrupted(Net):
        def forward(self, x):
            raise KeyboardInterrupt

    with pmtop.torch.instrument() as on:
        with pytest.raises(KeyboardInterrupt):
            for x, _ in DataLoader(data(8), batch_size=4):
                Interrupted()(x)
        assert all(part.is_on for name, part in on.parts.items() if not name.startswith("profile"))
        assert train()
        reported, region = Account.reported()
    assert reported["batch"]["count"] == 9
    assert all(row["depth"] == 0 for row in reported["operations"])


def test_errors_of_training_come_out_as_they_are():
    class Failing(Net):
        def forward(self, x):
            raise LookupError("the user's own")

    with pmtop.torch.instrument():
        with pytest.raises(LookupError, match="the user's own") as caught:
            Failing()(torch.ones(1, 4))
        assert len([entry for entry in caught.traceback if "pmtop" in str(entry.path) and "tests" not in str(entry.path)]) <= 1

        class Broken:
            def __len__(self):
                return 8

            def __getitem__(self, index):
                raise LookupError("no data")

        with pytest.raises(LookupError, match="no data"):
            for _ in DataLoader(Broken()):
                pass
        with pytest.raises(RuntimeError, match="does not require grad"):
            torch.ones(1).backward()


def test_switched_off_nothing_is_replaced(monkeypatch):
    monkeypatch.setenv("PMTOP", "0")
    before = DataLoader.__iter__, torch.autograd.backward, torch.save, vars(nn.Module)["_compiled_call_impl"]
    with pmtop.torch.instrument():
        assert (DataLoader.__iter__, torch.autograd.backward, torch.save, vars(nn.Module)["_compiled_call_impl"]) == before
        train()
    assert watching.region_files(os.getpid()) == []


def test_parts_can_be_left_out():
    with pmtop.torch.instrument(forward=False, optimizer=False, loss=False):
        train()
        reported, region = Account.reported()
    assert not spans(reported, "forward") and not spans(reported, "optimizer") and spans(reported, "backward") == 8
    assert all(batch.loss is None for batch in region.batches())


def test_a_patch_made_on_top_of_ours_stays():
    original = torch.save
    with pmtop.torch.instrument():
        ours = torch.save

        def theirs(*arguments, **more):
            return ours(*arguments, **more)

        torch.save = theirs
    try:
        assert torch.save is theirs
        torch.save({}, os.devnull)
    finally:
        torch.save = torch.serialization.save = original


def test_validation_in_another_thread_does_not_confuse():
    model, optimizer = make()
    started, stop = threading.Event(), threading.Event()

    def evaluate():
        with torch.no_grad():
            while not stop.is_set():
                for x, _ in DataLoader(data(16), batch_size=4):
                    model(x)
                    started.set()

    with pmtop.torch.instrument():
        for x, y in DataLoader(data(8), batch_size=4):
            model(x).sum().backward()
            optimizer.step()
        thread = threading.Thread(target=evaluate)
        thread.start()
        started.wait(10)
        try:
            train(20)
        finally:
            stop.set()
            thread.join()
        reported, region = Account.reported()
    assert [batch.mode for batch in region.batches()] == ["train"] * 22
    assert [epoch["batches"] for epoch in reported["epochs"]] == [2, 20]


def test_training_in_another_thread_is_what_counts():
    def run():
        for _ in range(2):
            train(4)

    with pmtop.torch.instrument():
        with torch.no_grad():
            for _ in DataLoader(data(8), batch_size=4):
                pass
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        reported, region = Account.reported()
    modes = [batch.mode for batch in region.batches()]
    assert modes[:2] == ["validation"] * 2 and set(modes[2:]) == {"train"} and len(modes) >= 2 + 4


def test_iterators_that_are_kept_or_collected_late():
    model, optimizer = make()
    with pmtop.torch.instrument():
        for _ in range(2):
            iterator = iter(DataLoader(data(16), batch_size=4))
            cycle = [iterator]
            cycle.append(cycle)
            for _ in range(2):
                x, y = next(iterator)
                model(x).sub(y).square().mean().backward()
                optimizer.step()
            del iterator, cycle
            gc.collect()
        reported, region = Account.reported()
    assert [epoch["batches"] for epoch in reported["epochs"]] == [2, 2]


def test_loaders_and_models_are_not_kept_alive():
    import weakref

    with pmtop.torch.instrument():
        model, optimizer = make()
        loader = DataLoader(data(16), batch_size=4)
        for x, y in loader:
            model(x).sub(y).square().mean().backward()
            optimizer.step()
        watched = [weakref.ref(thing) for thing in (model, loader, optimizer)]
        gc.collect()
        gc.disable()
        try:
            del model, optimizer, loader, x, y
            assert watched[0]() is None and watched[1]() is None
        finally:
            gc.enable()


def test_warnings_stay_away():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pmtop.torch.instrument():
            train()
