"""pmtop.torch.instrument() on loops without a DataLoader: a batch is what lies between optimizer steps."""
import asyncio
import math
import os
import re
import sys

import pytest

torch = pytest.importorskip("torch")

import pmtop
import pmtop.torch
import watching
from region_events import SPAN, Region
from torch import nn
from torch.utils.data import DataLoader
from torch_loop import Account, Net, data, make, spans


class Replayed:
    """As torch.cuda.CUDAGraph, of a GPU that does nothing."""

    def capture_begin(self):
        pass

    def capture_end(self):
        pass

    def replay(self):
        pass


@pytest.fixture(autouse=True)
def account(capfd, monkeypatch):
    """Instruments for one test, with a region of its own; nothing may be said on standard error."""
    torch.set_num_threads(1)
    pmtop.close()
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Replayed)
    with pmtop.torch.instrument():
        yield Account()
    pmtop.close()
    assert "pmtop" not in capfd.readouterr().err


ROWS = data(64).tensors


def get_batch(step, size=4):
    """As nanoGPT has it: no loader."""
    begin = step * size % len(ROWS[0])
    return ROWS[0][begin:begin + size], ROWS[1][begin:begin + size]


def counts(reported):
    """mode: batches."""
    modes = reported["modes"] if "modes" in reported else {"train": reported["batch"]}
    return {mode: row["count"] for mode, row in modes.items() if row["count"]}


def check(account, steps, optimizer_steps=None):
    reported, region = account.reported()
    assert counts(reported) == {"train": steps}
    assert "epochs" not in reported or not reported["epochs"]
    assert [batch.index for batch in region.batches()] == list(range(steps))
    assert region.counters["optimizer.steps"] == (steps if optimizer_steps is None else optimizer_steps)
    return reported, region


def test_a_loop_with_its_own_get_batch_has_a_batch_for_each_step(account):
    model, optimizer = make()
    for step in range(20):
        with account.body():
            x, y = get_batch(step)
            account.learn(model, optimizer, x, y)
    reported, region = check(account, 20)
    assert spans(reported, "forward") == spans(reported, "backward") == spans(reported, "optimizer") == 20
    assert [batch.loss for batch in region.batches()] == pytest.approx(account.losses)
    mean_s = sum(seconds for _, _, seconds in account.turns) / 20
    assert reported["batch"]["step_mean_s" if "step_mean_s" in reported["batch"] else "mean_s"] <= mean_s * 1.05


def test_an_evaluation_between_steps_is_inference(account):
    model, optimizer = make()
    for step in range(6):
        if step % 3 == 0:
            with torch.no_grad():
                model(get_batch(step)[0])
                nn.CrossEntropyLoss()(model(get_batch(step)[0]), get_batch(step)[1])
        account.learn(model, optimizer, *get_batch(step))
    reported, _ = check(account, 6)
    assert spans(reported, "forward") == 6 and spans(reported, "inference") == 6


@pytest.mark.parametrize("source", ["a loader", "no loader"])
def test_a_teacher_and_a_moving_average_within_a_step_are_inference(account, source):
    model, optimizer = make()
    teacher, average = Net().eval(), torch.optim.swa_utils.AveragedModel(model)
    for x, y in DataLoader(data(40), batch_size=4) if source == "a loader" else map(get_batch, range(10)):
        predicted = model(x)
        with torch.no_grad():
            y = y + 0.1 * teacher(x)
        nn.functional.mse_loss(predicted, y).backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update_parameters(model)
        with torch.no_grad():
            average(x)
    reported, _ = Account.reported()
    assert counts(reported) == {"train": 10}
    assert spans(reported, "forward") == 10 and spans(reported, "inference") == 20


def test_forwards_that_lose_their_gradients_late_are_found(account):
    """Each 61st forward is asked."""
    model, optimizer = make()
    teacher = Net()
    for step, (x, y) in enumerate(DataLoader(data(4 * 300), batch_size=4)):
        account.learn(model, optimizer, x, y)
        if step >= 100:
            with torch.no_grad():
                teacher(x)
    reported, _ = Account.reported()
    assert spans(reported, "forward") + spans(reported, "inference") == 500 and 139 <= spans(reported, "inference") <= 200


def test_the_number_of_batches_is_right_after_each_step(account):
    model, optimizer = make()
    for step in range(5):
        account.learn(model, optimizer, *get_batch(step))
        assert pmtop.statistics()["num_batches"] == step + 1


def test_what_comes_before_the_forward_is_data(account):
    import time
    model, optimizer = make()
    for step in range(12):
        x, y = get_batch(step)
        time.sleep(0.02)
        account.learn(model, optimizer, x, y)
    reported, region = check(account, 12)
    phases = {row["name"]: row for row in reported["phases"]} if "phases" in reported else {}
    batches = region.batches()
    gaps = [after.begin_ns - before.end_ns for before, after in zip(batches, batches[1:])]
    assert min(gaps) >= 20_000_000 and region.meta["between"] == "data", phases


def test_micro_batches_are_one_batch(account):
    model, optimizer = make()
    for step in range(6):
        optimizer.zero_grad()
        for micro in range(4):
            x, y = get_batch(4 * step + micro)
            (nn.functional.mse_loss(model(x), y) / 4).backward()
        optimizer.step()
    reported, region = check(account, 6)
    assert region.meta["micro_batches"] == "4" and region.meta.get("accumulation", "1") == "1"
    assert spans(reported, "backward") == 24
    assert all(batch.kind is None for batch in region.batches())


def test_micro_batches_that_change_are_published_again(account):
    """One batch with a further backward is no change."""
    model, optimizer = make()
    for step in range(12):
        for _ in range(4 if step < 5 else 2 if step == 8 else 1):
            nn.functional.mse_loss(model(get_batch(step)[0]), get_batch(step)[1]).backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 4:
            assert Region(os.getpid()).meta["micro_batches"] == "4"
    _, region = check(account, 12)
    assert region.meta["micro_batches"] == "1"


@pytest.mark.parametrize("how", ["SAM", "LBFGS", "LBFGS, many calls", "another optimizer"])
def test_a_backward_whose_gradients_do_not_accumulate_makes_no_micro_batch(account, how):
    """The perturbation of sharpness-aware minimization; a closure that an optimizer calls again; the first step of an optimizer that follows another."""
    model, optimizer = make()
    steps = 30 if how == "another optimizer" else 10
    optimizers = [optimizer] * steps
    if how.startswith("LBFGS"):
        optimizers = [torch.optim.LBFGS(model.parameters(), max_iter=20 if "many" in how else 3, tolerance_grad=0, tolerance_change=0)] * steps
    elif how == "another optimizer":
        models = [make() for _ in range(3)]
        optimizers = [optimizer for _, optimizer in models for _ in range(10)]

    def closure():
        optimizer.zero_grad()
        loss = sum(nn.functional.mse_loss(one(get_batch(step)[0]), get_batch(step)[1]) for one in used)
        loss.backward()
        return loss

    for step, optimizer in enumerate(optimizers):
        used = [model] if how != "another optimizer" else [models[step // 10][0]]
        if how.startswith("LBFGS"):
            optimizer.step(closure)
            continue
        for _ in range(2 if how == "SAM" else 1):
            closure()
        optimizer.step()
    _, region = check(account, steps)
    assert "micro_batches" not in region.meta


def test_a_model_in_evaluation_mode_trains(account):
    model, optimizer = make()
    model.eval()
    for step in range(8):
        account.learn(model, optimizer, *get_batch(step))
    check(account, 8)


def test_evaluation_without_gradients_is_no_batch(account):
    model, optimizer = make()
    for step in range(9):
        if step % 3 == 0:
            model.eval()
            with torch.no_grad():
                for other in range(5):
                    model(get_batch(other)[0])
            model.train()
        account.learn(model, optimizer, *get_batch(step))
    model.eval()
    model(get_batch(0)[0])
    check(account, 9)


def gan_of_two(account, steps, at_once=False):
    torch.manual_seed(3)
    maker, critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4)), Net()
    makes, criticises = torch.optim.Adam(maker.parameters(), 0.01), torch.optim.Adam(critic.parameters(), 0.01)
    loss_of = nn.BCEWithLogitsLoss()
    for step in range(steps):
        real, fake = torch.ones(4, 1), torch.zeros(4, 1)
        made = maker(torch.randn(4, 2))
        criticises.zero_grad()
        (loss_of(critic(get_batch(step)[0]), real) + loss_of(critic(made.detach()), fake)).backward()
        criticises.step()
        makes.zero_grad()
        loss = loss_of(critic(made), real)
        loss.backward()
        makes.step()
        account.losses.append(loss.item())
        assert pmtop.statistics()["num_batches"] == step + 1


def test_two_optimizers_in_turn_are_one_batch(account):
    gan_of_two(account, 10)
    reported, region = check(account, 10, 20)
    assert [batch.loss for batch in region.batches()] == pytest.approx(account.losses)


def test_two_optimizers_beside_one_that_never_steps(account):
    idle = torch.optim.SGD(Net().parameters(), 0.1)
    first, by_first = make()
    second, by_second = make()
    for step in range(10):
        account.learn(first, by_first, *get_batch(step))
        account.learn(second, by_second, *get_batch(step))
    check(account, 10, 20)
    del idle


def test_an_optimizer_that_steps_less_often_makes_no_batches_of_its_own(account):
    first, by_first = make()
    second, by_second = make()
    for step in range(10):
        account.learn(first, by_first, *get_batch(step))
        if step % 3 == 0:
            account.learn(second, by_second, *get_batch(step))
    check(account, 10, 14)


def test_two_optimizers_that_step_twice_in_every_second_step(account):
    """As soft actor-critic does, whose actor and temperature are updated twice in each second step."""
    (critic, by_critic), (actor, by_actor), (temperature, by_temperature) = make(), make(), make()
    for step in range(40):
        account.learn(critic, by_critic, *get_batch(step))
        for _ in range(2 * (step % 2 == 0)):
            account.learn(actor, by_actor, *get_batch(step))
            account.learn(temperature, by_temperature, *get_batch(step))
    reported, _ = Account.reported()
    # One more, until it is known that the second update of the first step belongs to it; what follows the critic's last step is none.
    assert counts(reported) == {"train": 41}


def test_an_optimizer_for_each_parameter(account):
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(6)], nn.Linear(4, 1))
    optimizers = [torch.optim.SGD([parameter], 0.01) for parameter in model.parameters()]
    for step in range(6):
        x, y = get_batch(step)
        nn.functional.mse_loss(model(x), y).backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    check(account, 6, 6 * len(optimizers))


def test_a_second_phase_with_another_optimizer(account):
    model, optimizer = make()
    for step in range(5):
        account.learn(model, optimizer, *get_batch(step))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for step in range(5):
        account.learn(model, optimizer, *get_batch(step))
    check(account, 10)


def test_lbfgs_steps_count_once_however_often_the_closure_runs(account):
    torch.manual_seed(1)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
    calls = 0
    for step in range(5):
        x, y = get_batch(step, 8)

        def closure():
            nonlocal calls
            calls += 1
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            return loss

        optimizer.step(closure)
    reported, region = check(account, 5)
    assert calls > 8 and spans(reported, "forward") == calls


def test_a_step_that_the_grad_scaler_skips_is_a_batch(account):
    model, optimizer = make()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    skipped = 0
    for step in range(10):
        x, y = get_batch(step)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        if step in (3, 7):
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        skipped += scaler.get_scale() < before
    assert skipped == 2
    check(account, 10, 8)


def test_a_skipped_step_in_a_loop_over_a_loader_is_no_accumulation(account):
    model, optimizer = make()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for index, (x, y) in enumerate(DataLoader(data(24), batch_size=4)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        scaler.scale(loss * float("inf") if index == 2 else loss).backward()
        scaler.step(optimizer)
        scaler.update()
    _, region = account.reported()
    assert [batch.kind for batch in region.batches()] == [None] * 6


def test_reinforce_has_a_batch_for_each_update(account):
    torch.manual_seed(5)
    policy = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(-1))
    optimizer = torch.optim.Adam(policy.parameters(), 0.01)
    for episode in range(7):
        logs = []
        for _ in range(5 + episode):
            logs.append(torch.distributions.Categorical(policy(torch.randn(4))).log_prob(torch.tensor(1)))
        optimizer.zero_grad()
        (-torch.stack(logs).sum()).backward()
        optimizer.step()
    reported, _ = check(account, 7)
    assert spans(reported, "forward") == sum(range(5, 12))


def test_raw_tensors_without_a_module(account):
    weight = torch.zeros(4, 1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    for step in range(6):
        x, y = get_batch(step)
        ((x @ weight - y) ** 2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    check(account, 6)


def test_gradients_by_hand(account):
    weight = torch.zeros(4, 1)
    optimizer = torch.optim.SGD([weight], 0.1)
    for step in range(6):
        weight.grad = torch.ones(4, 1)
        optimizer.step()
    check(account, 6)


def test_a_loader_takes_over_and_a_look_at_the_model_before_is_no_batch(account):
    model, optimizer = make()
    model(get_batch(0)[0])
    for account.epochs in range(1, 4):
        for x, y in DataLoader(data(16), batch_size=4):
            account.learn(model, optimizer, x, y)
    reported, region = account.reported()
    assert counts(reported)["train"] == 12
    assert [epoch["batches"] for epoch in reported["epochs"]] == [4, 4, 4]


def test_the_last_step_of_an_accumulation_after_the_loop_is_no_batch(account):
    model, optimizer = make()
    for account.epochs in range(1, 4):
        for index, (x, y) in enumerate(DataLoader(data(20), batch_size=4)):
            nn.functional.mse_loss(model(x), y).backward()
            if index % 2:
                optimizer.step()
                optimizer.zero_grad()
        optimizer.step()
        optimizer.zero_grad()
    reported, _ = account.reported()
    assert counts(reported) == {"train": 15} and [epoch["batches"] for epoch in reported["epochs"]] == [5, 5, 5]


def test_validation_over_a_loader_beside_training_without_one(account):
    model, optimizer = make()
    for step in range(9):
        account.learn(model, optimizer, *get_batch(step))
        if step % 3 == 2:
            model.eval()
            with torch.no_grad():
                for x, _ in DataLoader(data(20), batch_size=4):
                    model(x)
            model.train()
    reported, region = account.reported()
    assert counts(reported) == {"train": 9, "validation": 15}
    assert not reported.get("epochs")


def test_a_batch_from_a_new_iterator_for_each_step(account):
    model, optimizer = make()
    loader = DataLoader(data(16), batch_size=4)
    for _ in range(12):
        x, y = next(iter(loader))
        account.learn(model, optimizer, x, y)
    reported, _ = account.reported()
    assert counts(reported)["train"] == 12


def test_a_process_without_an_optimizer_has_no_batches(account):
    model = Net()
    for step in range(20):
        model(get_batch(step)[0])
    reported, region = account.reported()
    assert not region.batches() and not counts(reported).get("train")


def test_parameters_that_are_updated_by_hand(account):
    """pytorch/examples word_language_model: no optimizer; a batch ends with the next forward, or with the evaluation."""
    model, loss_of = Net(), nn.CrossEntropyLoss()
    for epoch in range(3):
        for step in range(6):
            x, y = get_batch(step)
            model.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            account.losses.append(loss.item())
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(parameter.grad, alpha=-0.1)
        with torch.no_grad():
            model(get_batch(0)[0])
    reported, region = account.reported()
    assert counts(reported) == {"train": 18}
    assert [batch.index for batch in region.batches()] == list(range(18))
    assert spans(reported, "backward") == 18 and spans(reported, "forward") == 18 and spans(reported, "inference") == 3
    assert [batch.loss for batch in region.batches()] == pytest.approx(account.losses)


def test_parameters_that_are_updated_by_hand_without_a_forward_of_a_module(account):
    """The first eight backward calls could be of one batch, and the last batch has not ended."""
    weight = torch.ones(4, requires_grad=True)
    for step in range(30):
        weight.grad = None
        (weight * step).square().sum().backward()
        weight.data.add_(weight.grad, alpha=-0.1)
    reported, region = account.reported()
    assert counts(reported) == {"train": 22} and spans(reported, "backward") == 30


@pytest.fixture
def graph(account):
    """An optimizer's step after a warm-up of three steps, captured."""
    model, optimizer = make()
    for step in range(3):
        account.learn(model, optimizer, *get_batch(step))
    captured, forward_only = Replayed(), Replayed()
    captured.capture_begin()
    account.learn(model, optimizer, *get_batch(3))
    captured.capture_end()
    forward_only.capture_begin()
    model(get_batch(0)[0])
    forward_only.capture_end()
    forward_only.replay()
    return captured


def test_a_replay_of_a_captured_step_is_a_batch_and_its_capture_is_none(account, graph):
    for step in range(20):
        graph.replay()
    reported, region = account.reported()
    assert counts(reported) == {"train": 23}
    assert [batch.index for batch in region.batches()] == list(range(23))


def test_replays_in_a_loop_over_a_loader_train(account, graph):
    for epoch in range(2):
        for x, y in DataLoader(data(40), batch_size=4):
            graph.replay()
    reported, region = account.reported()
    assert counts(reported) == {"train": 23}
    assert [epoch["batches"] for epoch in reported["epochs"]] == [10, 10]


def test_paused_steps_are_no_batches(account):
    model, optimizer = make()
    for step in range(4):
        account.learn(model, optimizer, *get_batch(step))
        with pmtop.torch.paused():
            account.learn(model, optimizer, *get_batch(step))
    check(account, 4)


def test_without_batches_or_optimizer_no_steps_are_counted(account):
    for switched_off in ({"batches": False}, {"optimizer": False}):
        pmtop.torch.instrument().close()
        with pmtop.torch.instrument(**switched_off):
            model, optimizer = make()
            for step in range(4):
                account.learn(model, optimizer, *get_batch(step))
    assert not account.reported()[1].batches()


def test_results_are_the_same_to_the_bit(account):
    def train():
        model, optimizer = make()
        losses = []
        for step in range(12):
            x, y = get_batch(step)
            loss = nn.functional.mse_loss(nn.functional.dropout(model(x), 0.1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [parameter.tolist() for parameter in model.parameters()], torch.rand(3).tolist()

    with_it = train()
    pmtop.torch.instrument().close()
    assert train() == with_it


def test_without_steps_that_are_seen_nothing_accumulates(account):
    """Keras has optimizers of its own."""
    pmtop.torch.instrument().close()
    model, optimizer = make()
    with pmtop.torch.instrument(optimizer=False):
        for x, y in DataLoader(data(20), batch_size=4):
            account.learn(model, optimizer, x, y)
    assert [batch.kind for batch in account.reported()[1].batches()] == [None] * 5


def calls_of_a_settled_step(account, source):
    """The names of the package's Python functions that one step calls, once it is known how the loop works."""
    model, optimizer = make()
    folder, names = os.path.dirname(pmtop.__file__), []

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            names.append(frame.f_code.co_name)

    for step, (x, y) in enumerate(source):
        if step == 50:
            sys.setprofile(note)
        account.learn(model, optimizer, x, y)
        if step == 52:
            sys.setprofile(None)
            break
    assert pmtop.torch.instrument()._loop.forwards.lessons == 1, "the modules were learnt once"
    return sorted(names)


def test_a_settled_step_calls_only_the_replaced_functions(account):
    hooks = ["after", "backward", "before", "zero_grad"]
    assert calls_of_a_settled_step(account, ((get_batch(step)) for step in range(60))) == sorted(3 * hooks)


@pytest.mark.parametrize("options", [{"batch_size": 4}, {"batch_size": None}])
def test_a_settled_step_over_a_loader_calls_only_the_replaced_functions(account, options):
    rows = [get_batch(step) for step in range(60)] if options["batch_size"] is None else data(4 * 60)
    hooks = ["after", "backward", "before", "zero_grad"]
    assert calls_of_a_settled_step(account, DataLoader(rows, **options)) == sorted(3 * hooks + 2 * ["__next__"])


def test_a_function_with_other_parameters_than_torchs_gets_what_it_was_given():
    """That of another torch, or one that other code has put in its place."""
    from pmtop._torch.phases import _replacement

    given = []

    def other(self, **options):
        given.append((self, options))

    _replacement(lambda self, set_to_none=True: given.append("not this"), other, other)(1, later=2)
    assert given == [(1, {"later": 2})]


def test_in_a_notebook_a_step_costs_no_spans_of_tasks(account, monkeypatch):
    """A notebook's cells run within an event loop, but nothing that hooks time awaits anything."""
    from pmtop import _tasks

    begun = []
    monkeypatch.setattr(_tasks, "_begin", lambda *given: begun.append(given))
    model, optimizer = make()

    async def cell():
        for step in range(3):
            account.learn(model, optimizer, *get_batch(step))

    asyncio.run(cell())
    reported, region = check(account, 3)
    assert not begun
    depths = {(event.name, event.payload[2] >> 32) for event in region.of(SPAN)}
    assert depths == {("zero_grad", 0), ("forward", 0), ("backward", 0), ("optimizer", 0)}


def test_a_backward_that_begins_with_gradients_has_no_loss(account):
    model, optimizer = make()
    x, y = get_batch(0)
    for step in range(4):
        optimizer.zero_grad()
        rows = model(x) - y
        with pytest.raises(RuntimeError, match="scalar outputs"):
            rows.backward()
        rows.backward(torch.ones_like(rows))
        optimizer.step()
    for step in range(2):
        account.learn(model, optimizer, x, y)
    batches = check(account, 6)[1].batches()
    assert [batch.loss for batch in batches] == [None] * 4 + [pytest.approx(loss) for loss in account.losses]


def test_an_optimizer_keeps_its_attributes_where_cpython_has_them(account):
    """Whoever reads an object's __dict__ makes its attributes slower from then on."""
    class Compact(torch.optim.SGD):
        __dict__ = property(lambda self: pytest.fail("its dict was asked for"))

    class Wrapper(torch.optim.Optimizer):
        param_groups = property(lambda self: pytest.fail("those of the optimizer within"))

        def __init__(self):
            pass

    model, _ = make()
    optimizer, wrapper = Compact(model.parameters(), 0.1), Wrapper()
    for step in range(3):
        account.learn(model, optimizer, *get_batch(step))
    known = pmtop.torch.instrument()._optimised.parameters
    assert id(optimizer) in known and id(wrapper) not in known
    check(account, 3)


def negated():
    """A scalar of whose value memory has the negative: 1 - 2j, conjugated twice."""
    return torch.view_as_complex(torch.tensor([1.0, -2.0], requires_grad=True) * 1).conj().imag


@pytest.mark.parametrize("loss", [lambda x: (x * 1.1).sum(), lambda x: (x * 1.1).sum().double(), lambda x: (x * 1.1).sum().bfloat16(), lambda x: x[1:2] * 1.1,
                                  lambda x: (x * 1.1)[1], lambda x: (x + math.inf).sum(), lambda x: negated()])
def test_a_loss_of_any_kind_is_what_item_says(account, loss):
    model, optimizer = make()
    found = []
    for step in range(4):
        account.learn(model, optimizer, *get_batch(step))
    for step in range(3):
        value = loss(torch.arange(3.0, requires_grad=True))
        found.append(value.item())
        value.backward()
        optimizer.step()
    assert [batch.loss for batch in account.reported()[1].batches()][4:] == found


@pytest.mark.skipif(not hasattr(torch.compiler, "_is_compiling_flag"), reason="this torch has no flag")
def test_while_torch_exports_hooks_do_nothing(account, monkeypatch):
    model, optimizer = make()
    with monkeypatch.context() as while_compiling:
        while_compiling.setattr(torch.compiler, "_is_compiling_flag", True)
        account.learn(model, optimizer, *get_batch(0))
    assert pmtop.statistics()["num_batches"] == 0 and not Region(os.getpid()).of(SPAN)
    account.learn(model, optimizer, *get_batch(1))
    check(account, 1)


def test_a_compiled_function_that_iterates_a_loader_keeps_its_counts(account):
    """The compiler breaks its graph at the loader, and runs the loop's parts: each batch and epoch counts once, and results stay the same."""
    torch._dynamo.reset()

    def train(model, optimizer, loader):
        losses = []
        for x, y in loader:
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses
    loader, found = DataLoader(data(24), batch_size=4), []
    for way in (train, torch.compile(train, backend="eager")):
        torch.manual_seed(1)
        model, optimizer = make()
        found.append([train_loss for _ in range(2) for train_loss in way(model, optimizer, loader)])
    assert found[0] == found[1] and len(found[0]) == 12
    reported, _ = account.reported()
    assert counts(reported) == {"train": 24} and [epoch["batches"] for epoch in reported["epochs"]] == [6] * 4


def test_what_it_costs_is_measured_in_pairs():
    """tests/gpu/overhead.py, here on the CPU: each block with the hooks has one without beside it, in one loop."""
    pmtop.torch.instrument().close()
    script = watching.run([str(watching.ROOT / "tests/gpu/overhead.py"), "--cpu", "--model=0.2", "--pairs=6", "--steps=10"])
    lines = script.out().splitlines()
    assert len(lines) == 6 and lines[0].endswith("6 pairs of 10 steps")
    for line in (lines[2], lines[5]):
        found = re.fullmatch(r"  all parts +clock +(\S+) us \[(\S+), (\S+)\].* CPU +(\S+) us \[(\S+), (\S+)\].*", line)
        for middle, low, high in (found.groups()[:3], found.groups()[3:]):
            assert float(low) <= float(middle) <= float(high)
