"""PmtopCallback in real trainers: what pmtop reports, compared with the trainer's own counts and the module's own account of its time."""
import contextlib
import copy
import importlib
import json
import os
import sys
import pathlib
import pickle
import time
import warnings

import pytest

import watching
from region_events import Region
from watching import close_to, operation

torch = pytest.importorskip("torch")
pmtop = pytest.importorskip("pmtop")

INSTALLED = [name for name in ("lightning", "pytorch_lightning") if importlib.util.find_spec(name)]
pytestmark = [pytest.mark.skipif(not INSTALLED, reason="neither lightning nor pytorch_lightning is installed"),
              pytest.mark.filterwarnings("ignore")]


@pytest.fixture(params=INSTALLED)
def pl(request):
    """One of the packages."""
    warnings.simplefilter("ignore")
    return importlib.import_module("lightning.pytorch" if request.param == "lightning" else request.param)


@pytest.fixture(autouse=True)
def fresh_region():
    pmtop.close()
    yield
    pmtop.close()


class Account(dict):
    """What really happened: seconds and times by name."""

    @contextlib.contextmanager
    def of(self, name, sleep_s=0.0):
        begin = time.perf_counter()
        try:
            if sleep_s:
                time.sleep(sleep_s)
            yield
        finally:
            self.setdefault(name, []).append(time.perf_counter() - begin)

    def total(self, name):
        return sum(self[name])


class Slowly(torch.autograd.Function):
    """Identity; its backward takes a while."""

    @staticmethod
    def forward(context, x, seconds):
        context.seconds = seconds
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        time.sleep(context.seconds)
        return gradient, None


class Numbers(torch.utils.data.Dataset):
    """y = 3 x."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        x = torch.tensor([index / self.count])
        return x, 3 * x


class SlowLoader(torch.utils.data.DataLoader):
    """Each batch takes a while."""

    account, seconds = None, 0.0

    def __iter__(self):
        batches = super().__iter__()
        for _ in range(len(self)):
            with self.account.of("data", self.seconds):
                batch = next(batches)
            yield batch


class Line(torch.nn.Linear):
    """Slow."""

    def __init__(self, account, seconds):
        super().__init__(1, 1)
        self.taking = lambda: account.of("forward", seconds)

    def forward(self, x):
        with self.taking():
            return super().forward(x)


def loader(batches, batch_size=4, account=None, seconds=0.0, **options):
    kind = torch.utils.data.DataLoader if account is None else SlowLoader
    made = kind(Numbers(batches * batch_size), batch_size=batch_size, **options)
    if account is not None:
        made.account, made.seconds = account, seconds
    return made


def learner(pl, account=None, forward_s=0.0, backward_s=0.0, optimizer_s=0.0, transfer_s=0.0, validation_s=0.0):
    """A module that learns a line and keeps an account."""
    account = Account() if account is None else account

    class SlowSGD(torch.optim.SGD):
        def step(self, closure=None):
            with torch.enable_grad():
                loss = closure() if closure else None
            with account.of("optimizer", optimizer_s), torch.no_grad():
                for parameter in self.param_groups[0]["params"]:
                    parameter -= self.param_groups[0]["lr"] * parameter.grad
            return loss

    class Learner(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.line = Line(Account(), forward_s)
            self.losses = []

        def training_step(self, batch, number):
            with account.of("forward"):
                x, y = batch
                loss = torch.nn.functional.mse_loss(Slowly.apply(self.line(x), backward_s), y)
                self.losses.append(loss.item())
                return loss

        def backward(self, loss):
            with account.of("backward"):
                super().backward(loss)

        def validation_step(self, batch, number, dataloader_idx=0):
            with account.of("validation", validation_s):
                self.line(batch[0])

        def test_step(self, batch, number):
            self.line(batch[0])

        def predict_step(self, batch, number):
            return self.line(batch[0])

        def transfer_batch_to_device(self, batch, device, dataloader_idx):
            with account.of("transfer", transfer_s):
                return super().transfer_batch_to_device(batch, device, dataloader_idx)

        def configure_optimizers(self):
            return SlowSGD(self.parameters(), lr=0.1)

    torch.manual_seed(7)
    module = Learner()
    module.account = account
    return module


def neighbour(pl, account, end_s=0.0):
    """A callback that stands beside pmtop's and sees the same times; its own end of a batch takes a while."""

    class Neighbour(pl.Callback):
        def on_train_batch_start(self, *arguments):
            self.begin = time.perf_counter()

        def on_train_batch_end(self, *arguments):
            account.setdefault("batch", []).append(time.perf_counter() - self.begin)
            with account.of("neighbour", end_s):
                pass

        def on_validation_batch_end(self, *arguments):
            account.setdefault("validated", []).append(None)
    return Neighbour()


QUIET = {"accelerator": "cpu", "devices": 1, "logger": False, "enable_progress_bar": False, "enable_model_summary": False,
         "enable_checkpointing": False}


def trainer_of(pl, callbacks=(), **options):
    from pmtop.lightning import PmtopCallback
    return pl.Trainer(callbacks=[PmtopCallback(), *callbacks], **{**QUIET, **options})


def reported():
    return watching.object_of(os.getpid())


def optimizer_steps():
    """As published."""
    return Region(os.getpid()).counters.get("optimizer.steps", 0)


def spy(monkeypatch, name):
    """The arguments of each call of a function of pmtop, which is called all the same."""
    calls, original = [], getattr(pmtop, name)

    def spied(*arguments):
        calls.append(arguments)
        return original(*arguments)
    monkeypatch.setattr(pmtop, name, spied)
    return calls


def test_counts_are_the_trainers(pl):
    module = learner(pl)
    trainer = trainer_of(pl, max_epochs=3)
    trainer.fit(module, loader(8), loader(3))
    seen = reported()
    assert sum(module.losses[-8:]) < sum(module.losses[:8]) / 2
    assert seen["run"] == "Learner" and seen["mode"] == "train"
    assert seen["batch"]["count"] == len(module.losses) == 24
    assert [(epoch["index"], epoch["batches"]) for epoch in seen["epochs"]] == [(0, 8), (1, 8), (2, 8)]
    assert seen["epoch"]["total"] == 3
    assert seen["modes"]["validation"]["count"] == 9 and seen["modes"]["sanity"]["count"] == 2
    assert len(module.account["validation"]) == 11
    assert seen["batch"]["loss"] == pytest.approx(module.losses[-1], rel=1e-6)
    assert optimizer_steps() == trainer.global_step == 24
    for name in ("forward", "backward", "optimizer", "data", "transfer"):
        assert operation(seen, name, 0)["count"] == 24, name
    # The trainer has the module drop its gradients also at its start and before each validation.
    assert operation(seen, "zero_grad", 0)["count"] == 24 + 3 + 1


def test_times_are_those_of_the_module(pl):
    account = Account()
    module = learner(pl, account, forward_s=0.03, backward_s=0.02, optimizer_s=0.01, transfer_s=0.008)
    trainer = trainer_of(pl, [neighbour(pl, account, end_s=0.012)], max_epochs=2, num_sanity_val_steps=0)
    trainer.fit(module, loader(6, account=account, seconds=0.016))
    seen = reported()
    for name in ("forward", "backward", "optimizer", "transfer", "data"):
        row = operation(seen, name, 0)
        assert row["count"] == 12, name
        assert close_to(row["total_s"], account.total(name), slack_s=12 * 300e-6), (name, row["total_s"], account.total(name))
    assert close_to(seen["batch"]["mean_s"], account.total("batch") / 12)
    assert close_to(seen["batch"]["max_s"], max(account["batch"]))
    assert operation(seen, "unattributed")["share_ratio"] < 0.05
    # What other callbacks take is theirs, hook by hook, and not the loader's.
    hook = operation(seen, "Neighbour.on_train_batch_end", 1)
    assert hook["count"] == 12 and close_to(hook["total_s"], account.total("neighbour"), slack_s=12 * 300e-6)
    assert operation(seen, "hooks", 0)["total_s"] >= hook["total_s"]
    # What came before the first batch is taken for a share of what lies between batches.
    assert operation(seen, "lightning")["total_s"] < 0.03
    assert operation(seen, "Neighbour.on_train_start") is None, "it has no code for this hook"
    assert not any("PmtopCallback" in row["name"] for row in seen["operations"])


def test_accumulated_batches_are_of_a_kind(pl, monkeypatch):
    kinds = spy(monkeypatch, "batch_kind")
    module = learner(pl)
    trainer = trainer_of(pl, max_epochs=2, accumulate_grad_batches=3)
    trainer.fit(module, loader(10))
    seen = reported()
    assert seen["batch"]["count"] == 20 and trainer.global_step == 8
    assert kinds == [("accumulate",)] * 12
    assert optimizer_steps() == 8
    assert operation(seen, "optimizer")["count"] == 8
    assert operation(seen, "backward")["count"] == 20
    assert seen["batch"]["loss"] == pytest.approx(module.losses[-1], rel=1e-6)


def test_manual_optimization_with_two_optimizers(pl):
    account = Account()

    class Adversaries(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.one, self.other = Line(account, 0.02), Line(account, 0.02)

        def training_step(self, batch, number):
            for network, optimizer in zip((self.one, self.other), self.optimizers()):
                loss = Slowly.apply(network(batch[0]), 0.01).square().mean()
                optimizer.zero_grad()
                self.manual_backward(loss)
                optimizer.step()
                account["loss"] = loss.item()

        def backward(self, loss):
            with account.of("backward"):
                super().backward(loss)

        def configure_optimizers(self):
            return torch.optim.SGD(self.one.parameters(), lr=0.1), torch.optim.SGD(self.other.parameters(), lr=0.1)

    trainer = trainer_of(pl, max_epochs=2)
    trainer.fit(Adversaries(), loader(5))
    seen = reported()
    assert seen["batch"]["count"] == 10
    assert optimizer_steps() == trainer.global_step == 20
    for name in ("forward", "backward", "optimizer"):
        assert operation(seen, name, 0)["count"] == 20, name
    for name in ("forward", "backward"):
        assert close_to(operation(seen, name, 0)["total_s"], account.total(name), slack_s=20 * 400e-6), name
    assert seen["batch"]["loss"] == pytest.approx(account["loss"])


def test_validation_in_the_middle_of_an_epoch(pl):
    account = Account()
    module = learner(pl, account, validation_s=0.05)
    trainer = trainer_of(pl, [neighbour(pl, account)], max_epochs=2, val_check_interval=0.5, num_sanity_val_steps=0)
    trainer.fit(module, loader(10), loader(2))
    seen = reported()
    assert seen["batch"]["count"] == 20 and [epoch["batches"] for epoch in seen["epochs"]] == [10, 10]
    assert seen["modes"]["validation"]["count"] == len(account["validated"]) == 8
    assert seen["modes"]["validation"]["min_s"] >= 0.05
    assert seen["batch"]["max_s"] < 0.05 and operation(seen, "data")["max_s"] < 0.05


def test_limits_and_max_steps_are_the_plan(pl):
    trainer = trainer_of(pl, max_steps=7, limit_train_batches=5, limit_val_batches=1)
    trainer.fit(learner(pl), loader(20), loader(6))
    seen = reported()
    assert trainer.global_step == 7
    assert seen["batch"]["count"] == 7
    assert [epoch["batches"] for epoch in seen["epochs"]] == [5, 2]
    assert seen["epoch"]["total"] == 2
    assert seen["modes"]["validation"]["count"] == 1


def test_an_exception_is_marked_and_the_next_fit_counts_on(pl, monkeypatch):
    marks = spy(monkeypatch, "mark")
    module = learner(pl)
    good = module.training_step

    def training_step(batch, batch_idx):
        if batch_idx == 4:
            raise ValueError("the fifth batch is bad\nand so on")
        return good(batch, batch_idx)
    module.training_step = training_step
    with pytest.raises(ValueError, match="fifth"):
        trainer_of(pl, max_epochs=1).fit(module, loader(8))
    assert marks == [("ValueError: the fifth batch is bad",)]
    assert reported()["batch"]["count"] == 4
    module.training_step = good
    trainer_of(pl, max_epochs=1).fit(module, loader(8))
    seen = reported()
    assert seen["batch"]["count"] == 12
    assert operation(seen, "backward", 0)["count"] == 12


def test_an_exception_in_backward_leaves_no_span_open(pl):
    module = learner(pl)
    good = module.backward
    module.backward = lambda loss: 1 / 0
    with pytest.raises(ZeroDivisionError):
        trainer_of(pl, max_epochs=1).fit(module, loader(2))
    module.backward = good
    trainer_of(pl, max_epochs=1).fit(module, loader(3))
    seen = reported()
    assert {row["name"]: row["depth"] for row in seen["operations"]} == dict.fromkeys((row["name"] for row in seen["operations"]), 0)
    assert operation(seen, "optimizer")["count"] == 3


def test_test_and_predict_are_modes(pl):
    module = learner(pl)
    trainer = trainer_of(pl, max_epochs=1)
    trainer.fit(module, loader(2))
    trainer.validate(module, loader(3), verbose=False)
    trainer.test(module, loader(4), verbose=False)
    trainer.predict(module, loader(5))
    seen = reported()
    assert {mode: row["count"] for mode, row in seen["modes"].items()} == {"train": 2, "validation": 3, "test": 4, "predict": 5}
    assert seen["mode"] == "predict" and seen["batch"]["count"] == 2


def test_workers_that_persist(pl):
    module = learner(pl)
    trainer_of(pl, max_epochs=3).fit(module, loader(4, num_workers=1, persistent_workers=True))
    seen = reported()
    assert seen["batch"]["count"] == 12 and [epoch["batches"] for epoch in seen["epochs"]] == [4, 4, 4]
    assert len(watching.region_files(os.getpid())) == 1


def test_a_barebones_trainer_takes_it(pl):
    from pmtop.lightning import PmtopCallback

    pl.Trainer(barebones=True, accelerator="cpu", max_epochs=1, callbacks=[PmtopCallback()]).fit(learner(pl), loader(5))
    assert reported()["batch"]["count"] == 5


def test_lbfgs_calls_its_closure_more_than_once(pl):
    module = learner(pl)
    module.configure_optimizers = lambda: torch.optim.LBFGS(module.parameters(), max_iter=3)
    trainer = trainer_of(pl, max_epochs=1)
    trainer.fit(module, loader(4))
    seen = reported()
    assert seen["batch"]["count"] == trainer.global_step == 4
    assert operation(seen, "forward", 0)["count"] == operation(seen, "backward", 0)["count"] == len(module.losses) > 4
    assert all(row["depth"] == 0 for row in seen["operations"])


def test_spans_of_the_user_nest(pl):
    module = learner(pl)
    step, optimize = module.training_step, module.optimizer_step

    def training_step(batch, batch_idx):
        with pmtop.span("augment"):
            return step(batch, batch_idx)

    def optimizer_step(*arguments, **more):
        with pmtop.span("mine"):
            optimize(*arguments, **more)
    module.training_step, module.optimizer_step = training_step, optimizer_step
    trainer_of(pl, max_epochs=1).fit(module, loader(3))
    seen = reported()
    assert {row["name"]: row["depth"] for row in seen["operations"] if row["name"] not in ("unattributed", "lightning", "gc")} == {
        "data": 0, "transfer": 0, "mine": 0, "forward": 1, "augment": 2, "zero_grad": 1, "backward": 1, "clip": 1, "optimizer": 1}
    assert {row["count"] for row in seen["operations"] if row["name"] not in ("zero_grad", "gc")} == {3}


def test_of_two_callbacks_only_the_first_publishes(pl):
    from pmtop.lightning import PmtopCallback

    second = PmtopCallback()
    for fits in (1, 2):
        trainer = trainer_of(pl, [second], max_epochs=1)
        trainer.fit(learner(pl), loader(5), loader(3))
        seen = reported()
        assert {mode: row["count"] for mode, row in seen["modes"].items()} == {"train": 5 * fits, "sanity": 2 * fits, "validation": 3 * fits}
        assert len(seen["epochs"]) == fits and operation(seen, "forward", 0)["count"] == 5 * fits
    # The second one alone publishes again.
    pl.Trainer(callbacks=[second], max_epochs=1, **QUIET).fit(learner(pl), loader(5))
    assert reported()["batch"]["count"] == 15


def test_a_user_who_also_instruments_is_counted_once(pl):
    import pmtop.torch

    with pmtop.torch.instrument() as instrumented:
        trainer_of(pl, max_epochs=2).fit(learner(pl), loader(5), loader(3))
        seen = reported()
        assert seen["batch"]["count"] == 10 and [epoch["batches"] for epoch in seen["epochs"]] == [5, 5]
        assert {mode: row["count"] for mode, row in seen["modes"].items()} == {"train": 10, "sanity": 2, "validation": 6}
        for name in ("forward", "backward", "optimizer", "data"):
            assert operation(seen, name, 0)["count"] == 10 and operation(seen, name, 1) is None, name
        assert instrumented.is_open and instrumented.parts["batches"].is_on
        # Later loops of the script's own are counted, too: without a loader, and with one.
        line = torch.nn.Linear(1, 1)
        optimizer, x = torch.optim.SGD(line.parameters(), lr=0.1), torch.ones(4, 1)
        before = pmtop.statistics()["num_batches"]
        for source, count in ((range(3), 3), (loader(4), 7)):
            for _ in source:
                line(x).sum().backward()
                optimizer.step()
            assert pmtop.statistics()["num_batches"] - before == count


def test_results_are_the_same_bit_by_bit(pl):
    def train(callbacks):
        pl.seed_everything(3, verbose=False)
        module = learner(pl)
        pl.Trainer(callbacks=callbacks, max_epochs=2, **QUIET).fit(module, loader(6, shuffle=True), loader(2))
        return module.losses, [parameter.tolist() for parameter in module.parameters()], torch.rand(1).item()
    from pmtop.lightning import PmtopCallback
    assert train([PmtopCallback()]) == train([])


def test_nothing_lands_in_checkpoints(pl, tmp_path):
    module = learner(pl)
    saving = pl.callbacks.ModelCheckpoint(tmp_path, save_last=True)
    trainer_of(pl, [saving], max_epochs=2, enable_checkpointing=True).fit(module, loader(3), loader(1))
    saved = tmp_path / "last.ckpt"
    assert b"pmtop" not in saved.read_bytes().lower()
    assert "PmtopCallback" not in torch.load(saved, weights_only=False)["callbacks"]
    seen = reported()
    assert operation(seen, "checkpoint")["count"] >= 2
    assert operation(seen, "ModelCheckpoint.on_train_epoch_end")["count"] == 2
    pmtop.close()
    trainer_of(pl, max_epochs=3).fit(learner(pl), loader(3), loader(1), ckpt_path=saved)
    seen = reported()
    assert [(epoch["index"], epoch["batches"]) for epoch in seen["epochs"]] == [(2, 3)] and seen["epoch"]["total"] == 1


def test_loggers_are_spans_while_the_callback_listens(pl, tmp_path):
    logger = pl.loggers.CSVLogger(tmp_path)
    trainer_of(pl, max_epochs=1, logger=[logger], log_every_n_steps=1).fit(learner(pl), loader(3))
    assert operation(reported(), "CSVLogger", 1)["count"] >= 1
    assert "log_metrics" not in vars(logger) and "save" not in vars(logger)


def test_copies_and_pickles(pl):
    from pmtop.lightning import PmtopCallback

    callback = PmtopCallback("named")
    trainer = trainer_of(pl, [callback], max_epochs=1)
    trainer.fit(learner(pl), loader(2))
    for twin in (copy.deepcopy(callback), pickle.loads(pickle.dumps(callback))):
        assert type(twin) is type(callback) and isinstance(twin, pl.Callback) and isinstance(twin, PmtopCallback)
        assert twin.name == "named" and twin._listener is None
        assert twin.state_dict() == {} and twin.state_key == "PmtopCallback"



def test_a_subclass_of_the_users(pl):
    from pmtop.lightning import PmtopCallback

    class Mine(PmtopCallback):
        def __init__(self, extra):
            super().__init__("mine")
            self.extra = extra
    mine = Mine(5)
    assert isinstance(mine, pl.Callback) and mine.extra == 5 and mine.name == "mine"
    assert copy.deepcopy(mine).extra == 5


def test_the_class_itself_is_a_callback(pl):
    """LightningCLI takes no other."""
    import pmtop.lightning

    assert issubclass(pmtop.lightning.PmtopCallback, pl.Callback)
    assert pmtop.lightning.PmtopCallback is pmtop.lightning.PmtopCallback
    twin = pickle.loads(pickle.dumps(pmtop.lightning.PmtopCallback))
    assert twin is pmtop.lightning.PmtopCallback and twin.__name__ == "PmtopCallback"


def test_importing_it_imports_no_trainer():
    script = "import sys, pmtop.lightning; print(sorted({name.partition('.')[0] for name in sys.modules} & {'lightning', 'pytorch_lightning'}))"
    assert watching.run(script).out().splitlines()[-1] == "[]"


def test_every_trainer_gets_the_callback_unless_it_has_one(pl, monkeypatch):
    import pmtop.lightning as adapter

    for name in filter(sys.modules.get, adapter.PACKAGES.values()):
        trainer = sys.modules[name].Trainer
        monkeypatch.setattr(trainer, "__init__", trainer.__init__)  # restored afterwards
    monkeypatch.setattr(adapter, "_instrumented", set())
    given = [adapter.PmtopCallback(), pl.callbacks.TQDMProgressBar()]
    adapter.instrument()
    adapter.instrument()
    for callbacks in (given[1:], given):
        trainer = pl.Trainer(**{**QUIET, "max_epochs": 1, "enable_progress_bar": True}, callbacks=callbacks)
        found = [callback for callback in trainer.callbacks if isinstance(callback, adapter._Callback)]
        assert len(found) == 1 and (found[0] is given[0]) == (callbacks is given)
    assert len(given) == 2
    pl.Trainer(**{**QUIET, "max_epochs": 2}).fit(learner(pl), loader(5), loader(3))
    seen = reported()
    assert [epoch["batches"] for epoch in seen["epochs"]] == [5, 5] and seen["epoch"]["total"] == 2


@pytest.mark.parametrize("is_loaded", [False, True])
def test_instrument_without_the_callback(pl, is_loaded):
    """The sanity check's iterator is kept by the trainer, which must not hide the training. is_loaded: the model comes in evaluation mode."""
    import pmtop.torch

    module = learner(pl)
    if is_loaded:
        module.eval()
    with pmtop.torch.instrument():
        pl.Trainer(**{**QUIET, "max_epochs": 3, "num_sanity_val_steps": 2}).fit(module, loader(5), loader(3))
    seen = reported()
    modes = {mode: row["count"] for mode, row in seen["modes"].items() if row["count"]}
    assert modes == {"train": 15, "validation": 2 + 9}
    assert [epoch["batches"] for epoch in seen["epochs"]] == [5, 5, 5]


def test_the_users_profiler_sees_all_and_is_left_alone(pl):
    profiler = pl.profilers.SimpleProfiler()
    trainer = trainer_of(pl, max_epochs=1, profiler=profiler)
    trainer.fit(learner(pl), loader(3))
    assert len(profiler.recorded_durations["run_training_batch"]) == 3
    actions = next(callback.actions for callback in trainer.callbacks if hasattr(callback, "actions"))
    rows = {row.name: row for row in actions.rows()}
    for name in ("run_training_epoch", "run_training_batch", next(name for name in rows if name.endswith(".optimizer_step"))):
        assert rows[name].calls == len(profiler.recorded_durations[name])
        assert rows[name].total_s == pytest.approx(sum(profiler.recorded_durations[name]), rel=0.2, abs=0.01)
        assert 0 < rows[name].ratio <= 1 and f"{name} " in actions.table()
    assert "start" not in vars(profiler) and "stop" not in vars(profiler)
    assert reported()["batch"]["count"] == 3


def test_a_hook_that_fails_is_said_once_and_training_goes_on(pl, monkeypatch, capfd):
    def broken(index):
        raise OSError("no more")
    monkeypatch.setattr(pmtop, "batch_begin", broken)
    module = learner(pl)
    trainer_of(pl, max_epochs=2, num_sanity_val_steps=0).fit(module, loader(3))
    assert len(module.losses) == 6
    assert [line for line in capfd.readouterr().err.splitlines() if "pmtop" in line] == [
        "pmtop: on_train_batch_start failed (OSError: no more); training continues without pmtop; please report this"]


def test_a_loader_without_length_and_a_step_that_fetches(pl):
    class Endless(torch.utils.data.IterableDataset):
        def __iter__(self):
            return (Numbers(12)[index] for index in range(12))

    class Fetching(type(learner(pl))):
        def training_step(self, dataloader_iter):
            batch, number, _ = next(dataloader_iter)
            return super().training_step(batch, number)
    endless = torch.utils.data.DataLoader(Endless(), batch_size=4)
    trainer_of(pl, max_epochs=2).fit(learner(pl), endless)
    seen = reported()
    assert seen["batch"]["count"] == 6 and [epoch["batches"] for epoch in seen["epochs"]] == [3, 3]
    pmtop.close()
    trainer_of(pl, max_epochs=2).fit(Fetching(), endless)
    seen = reported()
    assert [epoch["batches"] for epoch in seen["epochs"]] == [3, 3]
    assert operation(seen, "data", 1)["count"] >= 6


ALONE = """
import importlib, sys
name, other = sys.argv[1:]
sys.modules[name], sys.modules[other] = None, None
from pmtop.lightning import PmtopCallback
try:
    PmtopCallback()
except ImportError as error:
    print(error)
del sys.modules[name]
callback = PmtopCallback()
print(isinstance(callback, importlib.import_module(name).Callback), isinstance(callback, PmtopCallback), type(callback).__mro__[2:-1])
"""


@pytest.mark.parametrize("package", INSTALLED)
def test_one_package_alone_or_none(package):
    other = "pytorch_lightning" if package == "lightning" else "lightning"
    none, one = watching.run(ALONE, package, other).out().splitlines()[-2:]
    assert "lightning" in none and "pytorch_lightning" in none and "pip install lightning" in none
    assert one.startswith("True True (<class '" + package) and one.count("class") == 1


RANKS = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[2])
import importlib, torch, pmtop, pmtop._run, watching
from pmtop.lightning import PmtopCallback
pl = importlib.import_module(sys.argv[1])

class Learner(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(1, 1)
    def training_step(self, batch, number):
        return self.line(batch[0]).square().mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

torch.set_num_threads(1)
data = torch.utils.data.TensorDataset(torch.arange(40.0).unsqueeze(1))
trainer = pl.Trainer(max_epochs=2, accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_progress_bar=False,
                     enable_model_summary=False, enable_checkpointing=False, callbacks=[PmtopCallback()])
trainer.fit(Learner(), torch.utils.data.DataLoader(data, batch_size=4))
seen = watching.object_of(os.getpid())
with open(os.path.join(sys.argv[3], str(trainer.global_rank)), "w") as file:
    json.dump({"steps": trainer.global_step, "seen": seen, "run_id": pmtop._run.run_id()}, file)
torch.distributed.barrier()
"""


@pytest.mark.parametrize("package", INSTALLED[:1])
def test_two_ranks_each_have_a_region(package, tmp_path):
    watching.run(RANKS, "lightning.pytorch" if package == "lightning" else package, watching.HERE, tmp_path, seconds=120)
    ranks = [json.loads(pathlib.Path(tmp_path, str(rank)).read_text()) for rank in (0, 1)]
    assert ranks[0]["run_id"] == ranks[1]["run_id"] is not None
    for rank, reported in enumerate(ranks):
        seen = reported["seen"]
        assert seen["rank"] == rank
        assert seen["batch"]["count"] == reported["steps"] == 10
        assert [epoch["batches"] for epoch in seen["epochs"]] == [5, 5]
        assert operation(seen, "backward")["count"] == 10


def test_without_publishing_it_does_nothing(pl, monkeypatch, capfd):
    monkeypatch.setenv("PMTOP", "0")
    module = learner(pl)
    trainer = trainer_of(pl, max_epochs=1)
    trainer.fit(module, loader(3))
    assert len(module.losses) == 3 and watching.region_files(os.getpid()) == []
    assert "pmtop" not in capfd.readouterr().err
