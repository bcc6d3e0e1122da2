"""pmtop.torch.instrument() on real training loops: what pmtop says is what the loop did."""
import collections
import contextlib
import itertools
import os

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
import watching
from region_events import SPAN, UNKNOWN, Region
from torch import nn
from torch.utils.data import DataLoader, IterableDataset
from torch_loop import Account, Net, data, make, spans


@pytest.fixture(autouse=True)
def account(capfd):
    """Instruments for one test, with a region of its own; nothing may be said on standard error."""
    torch.set_num_threads(1)
    pmtop.close()
    with pmtop.torch.instrument():
        yield Account()
    pmtop.close()
    assert "pmtop" not in capfd.readouterr().err


def test_plain_loop_is_reported_as_it_was(account):
    model, optimizer = make()
    loader = DataLoader(data(30), batch_size=4, shuffle=True)
    for account.epochs in range(1, 4):
        for x, y in loader:
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
    reported, region = account.check()
    assert spans(reported, "forward") == spans(reported, "backward") == spans(reported, "optimizer") == spans(reported, "zero_grad") == 24
    assert [batch.loss for batch in region.batches()] == pytest.approx(account.losses)
    assert [epoch["batches"] for epoch in reported["epochs"]] == [8, 8, 8]
    assert [batch.samples for batch in region.batches()][8:16] == [4] * 7 + [2]
    assert {key: region.meta[key] for key in ("between", "batch_size", "loader.num_workers", "accumulation", "framework", "device")} == {
        "between": "data", "batch_size": "4", "loader.num_workers": "0", "accumulation": "1", "device": "cpu",
        "framework": "torch " + torch.__version__.partition("+")[0]}


def test_a_loss_module_is_no_forward(account):
    model, optimizer = make()
    loss_of = nn.MSELoss()
    for x, y in DataLoader(data(24), batch_size=4):
        loss_of(model(x), y).backward()
        optimizer.step()
    reported, _ = account.reported()
    assert spans(reported, "forward") == spans(reported, "criterion") == spans(reported, "backward") == 6


def evaluate_without_grad(model, loader, account):
    model.eval()
    with torch.no_grad():
        for x, _ in loader:
            with account.body("validation", len(x)):
                model(x)
    model.train()


@torch.no_grad()
def evaluate_decorated(model, loader, account):
    for x, _ in loader:
        with account.body("validation", len(x)):
            model(x)


def evaluate_in_eval_mode(model, loader, account, context=torch.no_grad):
    model.eval()
    for x, _ in loader:
        with account.body("validation", len(x)):
            with context():
                model(x)
    model.train()


def evaluate_inside(model, loader, account):
    with torch.inference_mode():
        for x, _ in loader:
            with account.body("validation", len(x)):
                model(x)


EVALUATIONS = [evaluate_without_grad, evaluate_decorated, evaluate_in_eval_mode, evaluate_inside]


@pytest.mark.parametrize("evaluate", EVALUATIONS)
def test_validation_between_epochs_has_its_own_mode(account, evaluate):
    model, optimizer = make()
    loader, other = DataLoader(data(16), batch_size=4), DataLoader(data(20), batch_size=8)
    for account.epochs in range(1, 4):
        for x, y in loader:
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
        evaluate(model, other, account)
    reported, region = account.check()
    assert spans(reported, "forward") == 12 and spans(reported, "forward", "validation") == 9
    assert reported["epoch"]["index"] == 2
    assert not spans(reported, "backward", "validation")


def evaluate_with_grad(model, loader, account):
    evaluate_in_eval_mode(model, loader, account, torch.enable_grad)


@pytest.mark.parametrize("evaluate", [*EVALUATIONS, evaluate_with_grad])
@pytest.mark.parametrize("comes_first", [False, True])
def test_the_loader_of_training_may_be_evaluated(account, evaluate, comes_first):
    """As in PyG's examples, after each epoch, without no_grad(); comes_first: before the first one too."""
    model, optimizer = make()
    loader = DataLoader(data(16), batch_size=4)
    if comes_first:
        evaluate(model, loader, account)
    for account.epochs in range(1, 5):
        for x, y in loader:
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
        evaluate(model, loader, account)
    reported, region = account.reported()
    assert [batch.mode for batch in region.batches()] == [mode for mode, _, _ in account.turns]
    assert [epoch["batches"] for epoch in reported["epochs"]] == [4, 4, 4, 4]


@pytest.mark.parametrize("evaluate", EVALUATIONS)
def test_validation_before_training_is_no_epoch(account, evaluate):
    model, optimizer = make()
    loader, other = DataLoader(data(16), batch_size=4), DataLoader(data(20), batch_size=8)
    evaluate(model, other, account)
    for account.epochs in range(1, 3):
        for x, y in loader:
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
    reported, region = account.check()
    assert [epoch["batches"] for epoch in reported["epochs"]] == [4, 4]


@pytest.mark.parametrize("evaluate", EVALUATIONS)
@pytest.mark.parametrize("comes_first", [False, True])
def test_validation_within_an_epoch_leaves_the_epoch_whole(account, evaluate, comes_first):
    """comes_first: it is the first thing in the body of a batch that then trains; else it follows that."""
    model, optimizer = make()
    loader, other = DataLoader(data(24), batch_size=4), DataLoader(data(20), batch_size=8)
    for account.epochs in range(1, 3):
        for index, (x, y) in enumerate(loader):
            if comes_first and index % 3 == 1:
                evaluate(model, other, account)
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
            if not comes_first and index % 3 == 1:
                evaluate(model, other, account)
    # What comes before a validation in a batch that has not begun its work counts for the first batch of the validation.
    reported, region = account.check(within=0.1 if comes_first else 0.02)
    assert [epoch["batches"] for epoch in reported["epochs"]] == [6, 6]
    assert [batch.index for batch in region.batches() if batch.mode == "train"] == list(range(6)) * 2
    assert spans(reported, "optimizer") == 12 and spans(reported, "forward", "validation") == 12


def test_accumulation_is_reported_with_its_kinds(account):
    model, optimizer = make(0.1)
    loader = DataLoader(data(40), batch_size=4)
    kinds = []
    for account.epochs in range(1, 4):
        for index, (x, y) in enumerate(loader):
            with account.body("train", len(x)):
                loss = nn.functional.mse_loss(model(x), y)
                (loss / 4).backward()
                is_step = index % 4 == 3 or index == len(loader) - 1
                kinds.append(None if is_step else "accumulate")
                if is_step:
                    optimizer.step()
                    optimizer.zero_grad()
                    account.steps += 1
                account.losses.append(loss.item())
    reported, region = account.check()
    assert [batch.kind for batch in region.batches()] == kinds
    assert region.meta["accumulation"] == "4"


def test_break_ends_the_epoch_and_its_batch(account):
    model, optimizer = make()
    loader = DataLoader(data(40), batch_size=4, shuffle=True)
    for account.epochs in range(1, 5):
        for index, (x, y) in enumerate(loader):
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
            if index == 4:
                break
    reported, region = account.check()
    assert [epoch["batches"] for epoch in reported["epochs"]] == [5, 5, 5, 5]


def test_model_of_an_earlier_run_does_not_hide_that_this_one_is_evaluated(account):
    earlier, its = make()
    model, optimizer = make()
    for x, y in DataLoader(data(8), batch_size=4):
        with account.body("train", len(x)):
            account.learn(earlier, its, x, y)
    for account.epochs in range(2, 5):
        for x, y in DataLoader(data(16), batch_size=4):
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
        evaluate_in_eval_mode(model, DataLoader(data(20), batch_size=8), account)
    account.check(learns=False)


def test_model_that_trained_elsewhere_does_not_hide_evaluation_before_training(account):
    """Such as that of a Lightning Trainer, which is garbage that was not collected yet."""
    elsewhere, its = make()
    model, optimizer = make()
    evaluate_in_eval_mode(model, DataLoader(data(20), batch_size=8), account)
    for account.epochs in range(1, 3):
        for x, y in DataLoader(data(16), batch_size=4):
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
    assert elsewhere.training and its.param_groups
    account.check()


def test_exception_in_the_loop_that_is_caught(account):
    model, optimizer = make()
    loader = DataLoader(data(40), batch_size=4, shuffle=True)

    def fail_in_step(optimizer, args, kwargs):
        raise ArithmeticError("a step that fails")

    for account.epochs in range(1, 4):
        try:
            for index, (x, y) in enumerate(loader):
                with account.body("train", len(x)):
                    account.learn(model, optimizer, x, y)
                    if index == 2:
                        optimizer.register_step_pre_hook(fail_in_step)
                        account.learn(model, optimizer, x, y)
        except ArithmeticError:
            optimizer._optimizer_step_pre_hooks.clear()
    reported, region = account.check()
    assert [epoch["batches"] for epoch in reported["epochs"]] == [3, 3, 3]
    assert all(row["depth"] == 0 for row in reported["operations"])


@pytest.mark.parametrize("is_frozen", [False, True])
def test_looking_at_one_batch_is_no_training(account, is_frozen):
    model, optimizer = make()
    model.first.train(not is_frozen)
    loader = DataLoader(data(16), batch_size=4)
    next(iter(loader))
    for account.epochs in range(1, 3):
        for x, y in loader:
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
    reported, region = Account.reported()
    assert reported["batch"]["count"] == 8 and reported["modes"]["peek"]["count"] == 1
    assert [batch.epoch for batch in region.batches() if batch.mode == "train"] == [2] * 4 + [3] * 4
    assert reported["epoch"]["ordinal"] == 2
    assert [(epoch.get("mode"), epoch["batches"]) for epoch in reported["epochs"]] == [("peek", 1), (None, 4), (None, 4)]


def modes_and_epochs(region, reported):
    return collections.Counter(batch.mode for batch in region.batches()), [(epoch.get("mode"), epoch["batches"]) for epoch in reported["epochs"]]


@pytest.mark.parametrize("looks", [1, 3])
def test_an_iterator_that_is_kept_after_a_look_hides_no_training(account, looks):
    model, optimizer = make()
    loader = DataLoader(data(16), batch_size=4)
    kept = iter(loader)
    for _ in range(looks):
        next(kept)
    for _ in range(2):
        for x, y in loader:
            account.learn(model, optimizer, x, y)
    reported, region = Account.reported()
    assert modes_and_epochs(region, reported) == ({"peek": 1, "train": 8}, [("peek", 1), (None, 4), (None, 4)])


def test_a_pass_that_is_left_before_the_first_step_of_all_is_no_epoch(account):
    """A library tries how large a batch may be."""
    model, optimizer = make()
    loader = DataLoader(data(16), batch_size=4)
    for index, (x, y) in enumerate(loader):
        torch.nn.functional.cross_entropy(model(x), y).backward()
        if index == 1:
            break
    for _ in range(2):
        for x, y in loader:
            account.learn(model, optimizer, x, y)
    reported, region = Account.reported()
    assert modes_and_epochs(region, reported)[0] == {"peek": 1, "train": 9}
    assert [(epoch["index"], epoch["batches"]) for epoch in reported["epochs"]] == [(0, 1), (0, 4), (1, 4)]


def test_a_loop_after_steps_whose_iterator_is_kept_has_all_its_batches(account):
    """A search for the learning rate, say, before the training."""
    model, optimizer = make()
    loader = DataLoader(data(16), batch_size=4)
    kept = iter(loader)
    for _ in range(3):
        account.learn(model, optimizer, *next(kept))
    for _ in range(2):
        for x, y in loader:
            account.learn(model, optimizer, x, y)
    reported, region = Account.reported()
    assert modes_and_epochs(region, reported) == ({"train": 11}, [(None, 3), (None, 4), (None, 4)])


def test_two_iterators_that_are_asked_in_turn_are_one_loop(account):
    model, optimizer = make()
    labelled, unlabelled = iter(DataLoader(data(24), batch_size=4)), iter(DataLoader(data(48), batch_size=4))
    for _ in range(6):
        x, y = next(labelled)
        next(unlabelled)
        account.learn(model, optimizer, x, y)
    del labelled
    reported, region = Account.reported()
    assert modes_and_epochs(region, reported) == ({"train": 6}, [(None, 6)])


@pytest.mark.parametrize("after", ["forward", "backward"])
def test_a_batch_that_an_exception_ends_before_its_step_is_not_counted(account, after):
    model, optimizer = make()
    for epoch in range(3):
        with contextlib.suppress(ArithmeticError):
            for index, (x, y) in enumerate(DataLoader(data(16), batch_size=4)):
                loss = nn.functional.mse_loss(model(x), y)
                if after == "backward":
                    loss.backward()
                if epoch == 1 and index == 2:
                    raise ArithmeticError
                if after == "forward":
                    loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    reported, region = Account.reported()
    assert modes_and_epochs(region, reported) == ({"train": 10, "peek": 1}, [(None, 4), (None, 2), (None, 4)])


def test_update_bn_is_no_validation(account):
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    optimizer, average = torch.optim.SGD(model.parameters(), lr=0.05), torch.optim.swa_utils.AveragedModel(model)
    loader = DataLoader(data(16), batch_size=4)
    for _ in range(2):
        for x, y in loader:
            account.learn(model, optimizer, x, y)
        average.update_parameters(model)
        torch.optim.swa_utils.update_bn(loader, average)
        average.eval()
        with torch.no_grad():
            for x, _ in DataLoader(data(8), batch_size=4):
                average(x)
    reported, region = Account.reported()
    assert modes_and_epochs(region, reported) == ({"train": 8, "update_bn": 8, "validation": 4}, [(None, 4), (None, 4)])


def test_a_validation_that_is_left_at_a_limit_counts_what_it_worked_on(account):
    """if index == 3: break, at the top of the loop: the fourth batch is fetched, and nothing more."""
    model, optimizer = make()
    loader, other = DataLoader(data(24), batch_size=4), DataLoader(data(40), batch_size=4)

    def evaluate():
        model.eval()
        with torch.no_grad():
            for index, (x, _) in enumerate(other):
                if index == 3:
                    break
                model(x)
        model.train()

    for account.epochs in range(1, 3):
        for index, (x, y) in enumerate(loader):
            account.learn(model, optimizer, x, y)
            if index == 3:
                evaluate()
        evaluate()
    reported, region = Account.reported()
    assert {mode: row["count"] for mode, row in reported["modes"].items()} == {"train": 12, "validation": 12, "peek": 4}
    assert [epoch["batches"] for epoch in reported["epochs"]] == [6, 6]


def test_the_inside_of_a_compiled_function_is_no_validation(account):
    """A compiler's runtime calls the graph that it made of forward and backward without gradients; no backward is seen."""
    model, _ = make()
    graph = torch.fx.symbolic_trace(model)
    for account.epochs in range(1, 3):
        for x, _ in DataLoader(data(24), batch_size=4):
            with torch.no_grad():
                graph(x)
    reported, _ = Account.reported()
    assert {mode: row["count"] for mode, row in reported.get("modes", {"train": reported["batch"]}).items()} == {"train": 12}


def test_validation_that_chooses_its_mode_after_its_first_fetch_is_whole(account):
    """As ignite's evaluators do, while the iterator of the training is still alive."""
    model, optimizer = make()
    loader, other = DataLoader(data(24), batch_size=4), DataLoader(data(20), batch_size=4)
    for account.epochs in range(1, 3):
        for index, (x, y) in enumerate(loader):
            model.train()
            account.learn(model, optimizer, x, y)
            if index == 3:
                for x, _ in other:
                    model.eval()
                    with torch.no_grad():
                        model(x)
    reported, region = Account.reported()
    assert {mode: row["count"] for mode, row in reported["modes"].items()} == {"train": 12, "validation": 10}
    assert [epoch["batches"] for epoch in reported["epochs"]] == [6, 6]


def test_second_loader_beside_the_first_owns_no_batches(account):
    model, optimizer = make()
    first, second = DataLoader(data(24), batch_size=4), DataLoader(data(24), batch_size=2)
    for account.epochs in range(1, 4):
        for (x, y), (other, _) in zip(first, second):
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
    reported, region = Account.reported()
    assert reported["batch"]["count"] == len(account.turns) == 18
    assert len(reported["epochs"]) == 3 and region.counters["optimizer.steps"] == 18
    assert spans(reported, "data") >= 18
    assert region.meta["batch_size"] == "4"


def test_a_cycled_loader_beside_a_longer_one_ends_no_epoch(account):
    """zip(itertools.cycle(labelled), unlabelled): the loader that is asked first ends, its batches come again, and the other one goes on."""
    model, optimizer = make()
    labelled, unlabelled = DataLoader(data(8), batch_size=4), DataLoader(data(28), batch_size=4)
    for account.epochs in range(1, 3):
        for (x, y), _ in zip(itertools.cycle(labelled), unlabelled):
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
    reported, region = Account.reported()
    assert [(epoch.get("mode"), epoch["batches"]) for epoch in reported["epochs"]] == [(None, 7)] * 2
    assert [batch.index for batch in region.batches()] == [*range(7)] * 2


def test_teacher_without_grad_beside_a_second_loader_is_no_validation(account):
    model, optimizer = make()
    teacher = Net().eval()
    first, second = DataLoader(data(24), batch_size=4), DataLoader(data(24), batch_size=4)
    for account.epochs in range(1, 4):
        for (x, y), (other, _) in zip(first, second):
            with account.body("train", len(x)):
                with torch.no_grad():
                    teacher(other)
                account.learn(model, optimizer, x, y)
    reported, region = Account.reported()
    assert {mode: row["count"] for mode, row in reported.get("modes", {"train": reported["batch"]}).items()} == {"train": 18}


class Stream(IterableDataset):
    def __init__(self, count):
        self.rows = [data(count)[i] for i in range(count)]

    def __iter__(self):
        return iter(self.rows)


def test_iterable_without_length(account):
    model, optimizer = make()
    loader = DataLoader(Stream(22), batch_size=4)
    for account.epochs in range(1, 4):
        for x, y in loader:
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
    reported, region = account.check()
    assert "total" not in reported["epoch"] or reported["epoch"]["index"] == 2
    assert [epoch["batches"] for epoch in reported["epochs"]] == [6, 6, 6]


def test_length_of_an_iterable_is_asked_without_torch_remembering(account):
    class Sized(Stream):
        def __len__(self):
            return 10

    loader = DataLoader(Sized(22), batch_size=4)
    for _ in loader:
        pass
    assert loader._IterableDataset_len_called is None


def test_workers_and_persistent_workers(account):
    model, optimizer = make()
    loader = DataLoader(data(24), batch_size=4, num_workers=1, persistent_workers=True)
    other = DataLoader(data(24), batch_size=4, num_workers=1)
    for account.epochs in range(1, 3):
        for x, y in loader:
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
        evaluate_without_grad(model, other, account)
    reported, region = account.check()
    assert region.meta["loader.persistent_workers"] == "False" or region.meta["loader.num_workers"] == "1"


def test_abandoned_persistent_loader_does_not_hide_the_next(account):
    model, optimizer = make()
    loader = DataLoader(data(24), batch_size=4, num_workers=1, persistent_workers=True)
    for x, y in loader:
        with account.body("train", len(x)):
            account.learn(model, optimizer, x, y)
        break
    for x, y in DataLoader(data(24), batch_size=4):
        with account.body("train", len(x)):
            account.learn(model, optimizer, x, y)
    reported, region = Account.reported()
    assert reported["batch"]["count"] == 7 and [epoch["batches"] for epoch in reported["epochs"]] == [1, 6]


def test_gan_of_two_models_and_two_optimizers(account):
    torch.manual_seed(3)
    maker, critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4)), Net()
    makes, criticises = torch.optim.Adam(maker.parameters(), 0.01), torch.optim.Adam(critic.parameters(), 0.01)
    loss_of = nn.BCEWithLogitsLoss()
    for account.epochs in range(1, 3):
        for x, _ in DataLoader(data(24), batch_size=4):
            with account.body("train", len(x)):
                real, fake = torch.ones(len(x), 1), torch.zeros(len(x), 1)
                with torch.no_grad():
                    made = maker(torch.randn(len(x), 2))
                criticises.zero_grad()
                (loss_of(critic(x), real) + loss_of(critic(made), fake)).backward()
                criticises.step()
                makes.zero_grad()
                loss = loss_of(critic(maker(torch.randn(len(x), 2))), real)
                loss.backward()
                makes.step()
                account.steps += 2
                account.losses.append(loss.item())
    reported, region = account.check(learns=False)
    assert [batch.loss for batch in region.batches()] == pytest.approx(account.losses)
    assert spans(reported, "backward") == spans(reported, "optimizer") == 24
    assert all(batch.kind is None for batch in region.batches())


def test_lbfgs_calls_its_closure_outside_the_span(account):
    torch.manual_seed(1)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
    calls = 0
    for account.epochs in range(1, 3):
        for x, y in DataLoader(data(16), batch_size=8):
            with account.body("train", len(x)):
                def closure():
                    nonlocal calls
                    calls += 1
                    optimizer.zero_grad()
                    loss = nn.functional.mse_loss(model(x), y)
                    loss.backward()
                    return loss
                account.losses.append(optimizer.step(closure).item())
                account.steps += 1
    reported, region = account.check()
    assert spans(reported, "forward") == spans(reported, "backward") == spans(reported, "zero_grad") == spans(reported, "optimizer") == calls > 8
    assert all(row["depth"] == 0 for row in reported["operations"] if row["name"] in ("forward", "backward", "optimizer"))


def test_autocast_in_bfloat16(account):
    model, optimizer = make()
    for account.epochs in range(1, 4):
        for x, y in DataLoader(data(24), batch_size=4):
            with account.body("train", len(x)):
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = nn.functional.mse_loss(model(x).float(), y)
                loss.backward()
                optimizer.step()
                account.steps += 1
                account.losses.append(loss.item())
    reported, region = account.check()
    assert [batch.loss for batch in region.batches()] == pytest.approx(account.losses)


@pytest.mark.parametrize("is_enabled", [False, True])
def test_grad_scaler_leaves_the_loss_as_it_was(account, is_enabled):
    model, optimizer = make()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=is_enabled)
    for account.epochs in range(1, 4):
        for x, y in DataLoader(data(24), batch_size=4):
            with account.body("train", len(x)):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(x), y)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                account.steps += 1
                account.losses.append(loss.item())
    reported, region = account.check()
    assert [batch.loss for batch in region.batches()] == pytest.approx(account.losses)


def test_checkpoints_are_spans_and_marks(account, tmp_path):
    model, optimizer = make()
    for account.epochs in range(1, 3):
        for x, y in DataLoader(data(16), batch_size=4):
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
        torch.save({"model": model.state_dict(), "optimizer": optimizer}, tmp_path / f"epoch{account.epochs}.pt")
    reported, region = account.check()
    assert spans(reported, "checkpoint") == 2
    assert region.marks() == ["checkpoint epoch1.pt", "checkpoint epoch2.pt"]


def test_paused_publishes_nothing(account):
    model, optimizer = make()
    for account.epochs in range(1, 3):
        for x, y in DataLoader(data(16), batch_size=4):
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
                with pmtop.torch.paused():
                    for other, _ in DataLoader(data(8), batch_size=4):
                        model(other).sum().backward()
                        optimizer.zero_grad()
    reported, region = account.check()
    assert spans(reported, "forward") == spans(reported, "zero_grad") == spans(reported, "backward") == 8


def test_script_with_batches_of_its_own_is_left_alone():
    seen = watching.watch(f"""
import sys
sys.path.insert(0, {str(watching.HERE)!r})
import pmtop.torch
from torch.utils.data import DataLoader
from torch_loop import Account, data, make
account = Account()
pmtop.torch.instrument()
model, optimizer = make()
for account.epochs in pmtop.epochs(range(1, 4)):
    for x, y in pmtop.batches(DataLoader(data(16), batch_size=4), samples=4):
        with account.body("train", len(x)):
            account.learn(model, optimizer, x, y)
account.check()
""")
    assert seen.last["batch"]["count"] == spans(seen.last, "forward") == 12
    assert [epoch["index"] for epoch in seen.last["epochs"]] == [1, 2, 3]


def test_results_are_the_same_to_the_bit(account):
    def train():
        model, optimizer = make()
        losses = []
        for _ in range(2):
            for x, y in DataLoader(data(32), batch_size=4, shuffle=True):
                loss = nn.functional.mse_loss(nn.functional.dropout(model(x), 0.1), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        return losses, [parameter.tolist() for parameter in model.parameters()], torch.rand(3).tolist()

    with_it = train()
    pmtop.torch.instrument().close()
    assert train() == with_it
    pmtop.close()
    with pmtop.torch.instrument(modules=2, cpu_memory=True):
        assert train() == with_it
        measured = {event.name for event in Region(os.getpid()).of(SPAN) if event.payload[4] != UNKNOWN}
    assert measured >= {"forward", "first", "backward", "optimizer"}


def test_forked_child_is_silent(account):
    model, optimizer = make()
    for account.epochs in range(1, 3):
        for x, y in DataLoader(data(8), batch_size=4):
            with account.body("train", len(x)):
                account.learn(model, optimizer, x, y)
    child = os.fork()
    if not child:
        code = 1
        try:
            for x, y in DataLoader(data(8), batch_size=4):
                account.learn(model, optimizer, x, y)
            code = 0 if not watching.region_files(os.getpid()) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    account.check(learns=False)
    assert len(Region(os.getpid()).batches()) == 4
