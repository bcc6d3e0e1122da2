"""PmtopCallback in Keras' own loops: what pmtop reports, compared with the counts and losses that Keras gives to a callback beside it."""
import copy
import importlib.util
import math
import os
import pickle
import socket
import threading
import time
import weakref

import pytest

import watching
from region_events import Region
from watching import close_to, operation

os.environ.setdefault("KERAS_BACKEND", "torch")
torch = pytest.importorskip("torch")
pmtop = pytest.importorskip("pmtop")
keras = pytest.importorskip("keras")
np = pytest.importorskip("numpy")

import pmtop.keras  # noqa: E402
from pmtop import _keras_hooks as hooks  # noqa: E402
from pmtop import _keras_profile as on_profile  # noqa: E402
from pmtop.keras import PmtopCallback  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def fresh_region():
    pmtop.close()
    yield
    pmtop.close()


class Beside(keras.callbacks.Callback):
    """What Keras says: its steps with their losses, epochs, validation steps. async_safe: it does not make Keras wait for losses."""

    async_safe = True

    def __init__(self):
        super().__init__()
        self.steps, self.losses, self.epochs, self.tested, self.predicted = 0, {}, [], 0, 0

    def on_epoch_begin(self, epoch, logs=None):
        self.epochs.append([epoch, 0])
        self.first = len(self.losses)

    def on_train_batch_begin(self, batch, logs=None):
        self.steps += 1
        self.epochs[-1][1] += 1

    def on_train_batch_end(self, batch, logs=None):
        self.losses[(len(self.epochs), batch)] = logs["loss"]

    def on_test_batch_begin(self, batch, logs=None):
        self.tested += 1

    def on_predict_batch_begin(self, batch, logs=None):
        self.predicted += 1


class WaitsForLosses(Beside):
    """Has Keras call all callbacks in the training thread."""

    async_safe = False


def data(samples=50, features=3):
    x = np.random.default_rng(0).normal(size=(samples, features)).astype("float32")
    return x, (x @ np.arange(1, features + 1, dtype="float32")[:, None]).astype("float32")


def network(**options):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse", metrics=["mae"], **options)
    return model


def fit(model, callbacks=(), samples=50, batch_size=8, **options):
    x, y = data(samples)
    return model.fit(x, y, **{"batch_size": batch_size, "epochs": 3, "verbose": 0, "callbacks": list(callbacks), **options})


def reported():
    return watching.object_of(os.getpid())


def region():
    return Region(os.getpid())


@pytest.mark.parametrize("kind", [Beside, WaitsForLosses])
def test_counts_losses_and_samples_are_those_of_keras(kind):
    beside, (x, y) = kind(), data(20)
    history = fit(network(), [PmtopCallback(), beside], validation_data=(x, y))
    seen, published = reported(), region()
    assert seen["batch"]["count"] == beside.steps == 21
    assert [[epoch["index"], epoch["batches"]] for epoch in seen["epochs"]] == beside.epochs == [[0, 7], [1, 7], [2, 7]]
    assert seen["epoch"]["total"] == 3 and seen["mode"] == "train"
    assert seen["modes"]["validation"]["count"] == beside.tested == 9
    trained = [batch for batch in published.batches() if batch.mode == "train"]
    losses = published.figures()
    assert {(batch.epoch, batch.index): losses[(batch.number, "loss")] for batch in trained} == beside.losses
    assert [batch.samples for batch in trained][1:] == ([8] * 6 + [2] + [8] * 6 + [2] + [8] * 6 + [2])[1:]
    assert [batch.samples for batch in published.batches() if batch.mode == "validation"] == [8, 8, 4] * 3
    assert seen["batch"]["loss"] == pytest.approx(history.history["loss"][-1], rel=1e-9)
    assert {name: published.gauges[name] for name in history.history} == {name: values[-1] for name, values in history.history.items()}
    assert published.meta["batch_size"] == "8" and published.meta["framework"].startswith("keras 3") and published.meta["optimizer"] == "SGD"


def test_of_two_callbacks_only_the_first_publishes():
    two, beside = [PmtopCallback(), PmtopCallback()], Beside()
    for callbacks in (two, two[::-1], two[1:]):
        fit(network(), [*callbacks, beside], validation_data=data(20))
    seen = reported()
    assert {mode: row["count"] for mode, row in seen["modes"].items()} == {"train": beside.steps, "validation": beside.tested}
    assert [[epoch["index"], epoch["batches"]] for epoch in seen["epochs"]] == beside.epochs and len(beside.epochs) == 9


def test_results_are_the_same_bit_by_bit():
    def train(callbacks):
        model = network()
        history = fit(model, callbacks, validation_split=0.2).history
        return history, [weight.tolist() for weight in model.get_weights()], np.random.random(), torch.rand(1).item()
    assert train([PmtopCallback()]) == train([])


def test_keras_need_not_wait_for_losses():
    threads = set()

    class Threads(Beside):
        def on_train_batch_end(self, batch, logs=None):
            threads.add(threading.get_ident())
            super().on_train_batch_end(batch, logs)

    fit(network(), [PmtopCallback(), Threads()])
    assert threads and threading.get_ident() not in threads


def slow_network(seconds):
    class Slow(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense, self.took = keras.layers.Dense(1), []

        def call(self, x):
            return self.dense(x)

        def train_step(self, batch):
            begin = time.perf_counter()
            time.sleep(seconds)
            logs = super().train_step(batch)
            self.took.append(time.perf_counter() - begin)
            return logs

    keras.utils.set_random_seed(1)
    model = Slow()
    model.compile(optimizer="sgd", loss="mse")
    return model


@pytest.mark.parametrize("kind", [Beside, WaitsForLosses])
def test_a_train_step_of_the_users_and_slow_data(kind):
    class Slowly(keras.utils.PyDataset):
        took = []

        def __len__(self):
            return 6

        def __getitem__(self, index):
            begin = time.perf_counter()
            time.sleep(0.02)
            x, y = data(4)
            self.took.append(time.perf_counter() - begin)
            return x, y

    class Late(kind):
        """Another callback's time is neither the step's nor the data's."""

        def on_train_batch_begin(self, batch, logs=None):
            super().on_train_batch_begin(batch, logs)
            time.sleep(0.01)

    model, beside, dataset = slow_network(0.03), Late(), Slowly()
    model.fit(dataset, epochs=2, verbose=0, shuffle=False, callbacks=[beside, PmtopCallback()])
    seen = reported()
    assert seen["run"] == "Slow" and seen["batch"]["count"] == beside.steps == len(model.took) == 12
    assert close_to(seen["batch"]["mean_s"], sum(model.took) / 12, slack_s=600e-6)
    row = operation(seen, "data", 0)
    assert close_to(row["total_s"], sum(dataset.took[-12:]), within=0.1, slack_s=12 * 1e-3), (row, sum(dataset.took), len(dataset.took))
    assert operation(seen, "keras")["mean_s"] == pytest.approx(0.01, abs=0.004)


def test_data_without_a_length():
    def endless(batches):
        x, y = data(4)
        for _ in range(batches):
            yield x, y
    beside = Beside()
    model = network()
    model.fit(endless(20), steps_per_epoch=5, epochs=3, verbose=0, callbacks=[PmtopCallback(), beside])
    assert reported()["batch"]["count"] == beside.steps == 15
    pmtop.close()
    beside = Beside()
    model.fit(endless(7), epochs=1, verbose=0, callbacks=[PmtopCallback(), beside])
    seen = reported()
    assert [[epoch["index"], epoch["batches"]] for epoch in seen["epochs"]] == beside.epochs == [[0, 7]]
    assert {batch.samples for batch in region().batches()[1:]} == {4}


def test_early_stopping_and_a_second_fit_count_on():
    class Stops(Beside):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                self.model.stop_training = True
    callback, beside, model = PmtopCallback(), Stops(), network()
    fit(model, [callback, beside], epochs=10)
    seen = reported()
    assert seen["batch"]["count"] == beside.steps == 14 and len(seen["epochs"]) == 2 and seen["epoch"]["total"] == 10
    fit(model, [callback, beside], epochs=5, initial_epoch=3)
    seen = reported()
    assert [[epoch["index"], epoch["batches"]] for epoch in seen["epochs"]] == beside.epochs == [[0, 7], [1, 7], [3, 7], [4, 7]]
    assert seen["batch"]["count"] == beside.steps == 28
    assert seen["epoch"]["total"] == 4


def test_stopping_in_the_middle_of_an_epoch():
    class Stops(Beside):
        def on_train_batch_begin(self, batch, logs=None):
            super().on_train_batch_begin(batch, logs)
            if batch == 3:
                self.model.stop_training = True
    beside = Stops()
    fit(network(), [PmtopCallback(), beside])
    assert [[epoch["index"], epoch["batches"]] for epoch in reported()["epochs"]] == beside.epochs == [[0, 4]]


def test_evaluate_and_predict_are_modes():
    callback, beside, model = PmtopCallback(), Beside(), network()
    fit(model, [callback, beside], epochs=1)
    x, y = data(30)
    model.evaluate(x, y, batch_size=10, verbose=0, callbacks=[callback, beside])
    loss, _ = model.evaluate(x, y, batch_size=10, verbose=0)
    model.predict(x, batch_size=6, verbose=0, callbacks=[callback, beside])
    seen = reported()
    assert {mode: row["count"] for mode, row in seen["modes"].items()} == {"train": 7, "test": 3, "predict": 5}
    assert (beside.steps, beside.tested, beside.predicted) == (7, 3, 5)
    assert region().gauges["test_loss"] == pytest.approx(loss, rel=1e-6)


def test_a_callback_that_evaluates_in_the_middle_of_an_epoch():
    callback, beside, model = PmtopCallback(), Beside(), network()
    x, y = data(20)

    class Evaluates(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                model.evaluate(x, y, batch_size=10, verbose=0, callbacks=[callback, beside])
            if batch == 4:
                model.evaluate(x, y, batch_size=10, verbose=0)
    fit(model, [Evaluates(), callback, beside], validation_data=(x, y), epochs=2)
    seen = reported()
    assert [[epoch["index"], epoch["batches"]] for epoch in seen["epochs"]] == beside.epochs == [[0, 7], [1, 7]]
    assert seen["batch"]["count"] == beside.steps == 14
    assert seen["modes"]["validation"]["count"] == beside.tested == 2 * (2 + 3)
    losses = region().figures()
    assert {(batch.epoch, batch.index): losses[(batch.number, "loss")] for batch in region().batches() if batch.mode == "train"} == beside.losses


def test_after_an_exception_the_next_fit_counts_on():
    class Fails(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 4:
                raise ValueError("the fifth batch is bad")
    callback, model = PmtopCallback(), network()
    with pytest.raises(ValueError, match="fifth"):
        fit(model, [callback, Fails()])
    assert reported()["batch"]["count"] == 4
    x, y = data(20)
    model.evaluate(x, y, batch_size=10, verbose=0, callbacks=[callback])
    fit(model)  # without the callback: publishes nothing
    fit(model, [callback], epochs=2)
    seen = reported()
    assert seen["batch"]["count"] == 4 + 14 and seen["modes"]["test"]["count"] == 2 and "validation" not in seen["modes"]
    assert operation(seen, "data", 0)["count"] == 4 + 1 + 14 + 1 + 2


def test_the_users_torch_instrumentation_counts_once():
    import pmtop.torch

    with pmtop.torch.instrument() as instrumented:
        beside, (x, y) = Beside(), data(20)
        fit(network(), [PmtopCallback(), beside], validation_data=(x, y))
        seen, losses = reported(), region().figures()
        assert [[epoch["index"], epoch["batches"]] for epoch in seen["epochs"]] == beside.epochs
        assert {mode: row["count"] for mode, row in seen["modes"].items()} == {"train": beside.steps, "validation": beside.tested}
        trained = [batch for batch in region().batches() if batch.mode == "train"]
        assert {(batch.epoch, batch.index): losses[(batch.number, "loss")] for batch in trained} == beside.losses
        for name in ("backward", "optimizer", "zero_grad"):
            assert operation(seen, name, 0)["count"] == 21 and operation(seen, name, 1) is None, name
        assert instrumented.is_open and instrumented.parts["batches"].is_on and instrumented.parts["loss"].is_on


def test_phases_on_torch():
    import pmtop.torch

    fit(network(), [PmtopCallback()])
    seen = reported()
    for name in ("forward", "backward", "optimizer", "zero_grad"):
        assert operation(seen, name, 0)["count"] == 21, name
    assert pmtop.torch._current is None


def kinds_of_a_fit(epochs=2, **options):
    x, y = data()
    model = network()
    model.fit(x, y, batch_size=5, epochs=epochs, verbose=0, callbacks=[PmtopCallback("traced", **options)])
    return [batch.kind for batch in Region(os.getpid()).batches()]


def test_profile_batch_is_a_trace_of_these_batches_on_torch(tmp_path):
    kinds = kinds_of_a_fit(profile_batch=(12, 13), output_dir=tmp_path)
    # Batch 11 is the warm-up, before which the profiler starts.
    assert [number for number, kind in enumerate(kinds, 1) if kind == "profile"] == [10, 11, 12, 13]
    (trace,) = (tmp_path / "traced").glob("*.pt.trace.json")
    assert trace.read_text().count('"name": "ProfilerStep#') == 2


def test_a_request_for_a_trace_is_answered_on_torch(tmp_path, monkeypatch):
    from pmtop._torch import on_request

    asked = []
    listen = on_request._listen

    def listen_and_ask():
        listener, path = listen()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        connection.sendall(f"profile 1 2 {tmp_path}\n".encode())
        asked.append((connection, path))
        return listener, path

    monkeypatch.setattr(on_request, "_listen", listen_and_ask)
    assert kinds_of_a_fit().count("profile") == 0 and not asked
    assert kinds_of_a_fit(profile_on_request=True).count("profile") == 4
    (connection, path), = asked
    assert connection.recv(4096).decode().splitlines()[-1].startswith(f"trace {tmp_path}/") and not os.path.exists(path)
    connection.close()


def test_profile_batch_on_other_backends_begins_and_ends_with_its_batches(tmp_path, capfd):
    calls = []
    trace = on_profile.BatchTrace((2, 3), tmp_path, "run", lambda folder: calls.append(f"begin {folder}"), lambda: calls.append("end"))
    for number in range(1, 5):
        trace.batch_begins()
        calls.append(number)
        trace.batch_ends()
    trace.close()
    assert calls == [1, f"begin {tmp_path}/run", 2, 3, "end", 4]
    broken = on_profile.BatchTrace((1, 1), tmp_path, None, lambda folder: 1 / 0, calls.clear)
    broken.batch_begins()
    broken.batch_ends()
    assert calls and "no trace is written: ZeroDivisionError: division by zero; training continues" in capfd.readouterr().err


@pytest.mark.parametrize("value, batches", [(0, None), (7, (7, 7)), ("10,20", (10, 20)), ((1, 2), (1, 2)), ((3, 2), ValueError), (-1, ValueError),
                                            ("a", TypeError), ((1, 2, 3), TypeError), (True, TypeError), (1.5, TypeError)])
def test_profile_batch_is_a_batch_or_a_range(value, batches):
    if isinstance(batches, type):
        with pytest.raises(batches, match="^profile_batch: "):
            PmtopCallback(profile_batch=value)
    else:
        assert on_profile.parse(value) == batches


def test_names_copies_and_subclasses():
    class Mine(PmtopCallback):
        def __init__(self, extra):
            super().__init__("mine")
            self.extra = extra
    mine = Mine(5)
    fit(network(), [mine], epochs=1)
    assert reported()["run"] == "mine"
    assert isinstance(mine, keras.callbacks.Callback) and isinstance(mine, PmtopCallback) and mine.extra == 5
    for twin in (copy.deepcopy(mine), pickle.loads(pickle.dumps(PmtopCallback("named")))):
        assert isinstance(twin, keras.callbacks.Callback) and twin.name in ("mine", "named") and twin.params is None
    pmtop.close()
    model = keras.Sequential([keras.layers.Dense(1)], name="resnet")
    model.compile("sgd", "mse")
    fit(model, [PmtopCallback()], epochs=1)
    assert reported()["run"] == "resnet"


def test_a_hook_that_fails_is_said_once_and_training_goes_on(monkeypatch, capfd):
    def broken(index):
        raise OSError("no more")
    monkeypatch.setattr(pmtop, "batch_begin", broken)
    beside = Beside()
    fit(network(), [PmtopCallback(), beside])
    assert beside.steps == 21
    assert [line for line in capfd.readouterr().err.splitlines() if "pmtop" in line] == [
        "pmtop: on_train_batch_begin failed (OSError: no more); training continues without pmtop; please report this"]


def test_without_publishing_it_does_nothing(monkeypatch, capfd):
    monkeypatch.setenv("PMTOP", "0")
    beside = Beside()
    fit(network(), [PmtopCallback(), beside])
    assert beside.steps == 21 and watching.region_files(os.getpid()) == [] and "pmtop" not in capfd.readouterr().err


FOR_ALL = """
import os, sys, threading
sys.path.insert(0, os.environ["HERE"])
import keras, numpy as np, pmtop, pmtop.keras, watching
from test_keras import Beside, data, fit, network, region

def train(more=()):
    beside, (x, y) = Beside(), data(20)
    model = network()

    class Evaluates(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                model.evaluate(x, y, batch_size=10, verbose=0)
    history = fit(model, [beside, *more, Evaluates()], validation_data=(x, y)).history
    return history, [weight.tolist() for weight in model.get_weights()], np.random.random(), beside.epochs

without = train()
assert not watching.region_files(os.getpid())
pmtop.keras.instrument()
pmtop.keras.instrument()
given = [keras.callbacks.Callback()]
for more in (given, [pmtop.keras.PmtopCallback()]):
    pmtop.close()
    assert train(more) == without and len(given) == 1
    seen = watching.object_of(os.getpid())
    counts = {mode: row["count"] for mode, row in seen["modes"].items()}
    # With a callback of its own, a fit() is published as it is without instrument().
    assert counts == {"train": 21, "validation": 3 * (2 + 3) if more is given else 3 * 3}, counts
    assert [[epoch["index"], epoch["batches"]] for epoch in seen["epochs"]] == without[3], seen["epochs"]
    assert len({(batch.begin_ns, batch.mode) for batch in region().batches()}) == sum(counts.values())
model = network()
pmtop.close()
model.predict(data(20)[0], batch_size=10, verbose=0)
assert watching.object_of(os.getpid())["modes"]["predict"]["count"] == 2
print("{}")
"""


def test_every_fit_is_instrumented_once_and_as_it_was():
    with watching.start(FOR_ALL, env={"HERE": str(watching.HERE)}) as script:
        assert script.finish(100) == 0, script.err()
        assert "pmtop" not in script.err()


LAZY = """
import sys
import pmtop, pmtop.keras
assert not any(name.partition(".")[0] in ("keras", "tf_keras", "tensorflow", "torch", "jax") for name in sys.modules), sorted(sys.modules)
sys.modules["keras"] = sys.modules["tf_keras"] = None
import importlib.util
importlib.util.find_spec = lambda name: None
try:
    pmtop.keras.PmtopCallback()
except ImportError as error:
    print(error)
"""


class Keras3_6:
    """Its epochs yield steps with their data; they have no iterator of their own."""

    def enumerate_epoch(self):
        yield 0, ["data"]


class Keras3_7(Keras3_6):
    """Its iterator yields the data, too."""

    num_batches, data_adapter = 1, None

    def _enumerate_iterator(self):
        yield 0, ["data"]


@pytest.mark.parametrize("epochs", [Keras3_6, Keras3_7])
def test_epoch_iterators_of_older_versions_are_left_as_they_are(epochs, monkeypatch):
    callback = PmtopCallback()
    hooks.install(keras.callbacks.CallbackList, epochs, lambda other: other is callback)
    monkeypatch.setattr(hooks._here, "calls", [weakref.ref(callback)])
    assert list(getattr(epochs(), "_enumerate_iterator", epochs().enumerate_epoch)()) == [(0, ["data"])]


def test_importing_it_imports_no_keras():
    assert "neither 'keras' nor 'tf_keras' is installed; try: pip install keras" in watching.run(LAZY).out()


BACKEND = """
import glob, json, math, os, sys, tempfile
package, backend, each, watching_from = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
os.environ.update(KERAS_BACKEND=backend, TF_CPP_MIN_LOG_LEVEL="3", JAX_PLATFORMS="cpu")
sys.path.insert(0, watching_from)
import importlib
import numpy as np
import pmtop
from pmtop.keras import PmtopCallback
from region_events import Region
keras = importlib.import_module(package)
x = np.random.default_rng(0).normal(size=(50, 3)).astype("float32")
y = x.sum(axis=1, keepdims=True)

class Beside(keras.callbacks.Callback):
    async_safe = True
    def __init__(self):
        super().__init__()
        self.losses, self.epochs, self.tested = [], [], 0
    def on_epoch_begin(self, epoch, logs=None):
        self.epochs.append(0)
    def on_train_batch_begin(self, batch, logs=None):
        self.epochs[-1] += 1
    def on_train_batch_end(self, batch, logs=None):
        self.losses.append((len(self.epochs), batch, logs["loss"]))
    def on_test_batch_begin(self, batch, logs=None):
        self.tested += 1

def train(callbacks):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", steps_per_execution=each)
    history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, validation_data=(x[:20], y[:20]), callbacks=callbacks)
    return history.history, [weight.tolist() for weight in model.get_weights()]

beside = Beside()
folder = tempfile.mkdtemp()
with_pmtop = train([PmtopCallback("backend", profile_batch=(2, 3) if each == 1 else 0, output_dir=folder), beside])
region = Region(os.getpid())
trained = [batch for batch in region.batches() if batch.mode == "train"]
losses = region.figures()
traces = glob.glob(folder + "/*/plugins/profile/*/*.xplane.pb")
print(json.dumps({"traces": len(traces), "is_same": with_pmtop == train([]), "epochs": beside.epochs, "tested": beside.tested, "meta": region.meta,
                  "losses": [loss for _, _, loss in sorted(beside.losses)], "published": [losses.get((batch.number, "loss")) for batch in trained],
                  "samples": [batch.samples for batch in trained][1:], "tested_samples": [batch.samples for batch in region.batches() if batch.mode == "validation"],
                  "index": [batch.index for batch in trained]}))
"""
BACKENDS = [("keras", "jax", 1), ("keras", "jax", 3), ("keras", "tensorflow", 1), ("keras", "tensorflow", 3), ("tf_keras", "tensorflow", 3)]


@pytest.mark.parametrize("package, backend, each", BACKENDS)
def test_every_other_backend(package, backend, each):
    for needed in (backend, package):
        if not importlib.util.find_spec(needed):
            pytest.skip(f"{needed} is not installed")
    seen = watching.watch(BACKEND, package, backend, each, watching.HERE, seconds=180)
    truth, steps = seen.truth, math.ceil(7 / each)
    assert truth["is_same"] and truth["epochs"] == [steps] * 3 and truth["tested"] == 3 * math.ceil(3 / each)
    assert seen.last["batch"]["count"] == sum(truth["epochs"])
    assert [epoch["batches"] for epoch in seen.last["epochs"]] == truth["epochs"] and seen.last["epoch"]["total"] == 3
    assert seen.last["modes"]["validation"]["count"] == truth["tested"]
    assert truth["published"] == truth["losses"] and truth["traces"] == (each == 1)
    assert truth["index"] == list(range(0, 7, each)) * 3
    assert truth["meta"]["framework"].startswith(package) and truth["meta"]["framework"].endswith(f"on {backend}")
    assert truth["meta"]["steps_per_execution"] == str(each)
    if package == "keras":
        samples = [sum([8, 8, 8, 8, 8, 8, 2][first:first + each]) for first in range(0, 7, each)]
        assert truth["samples"] == (samples * 3)[1:]
        assert truth["tested_samples"] == [sum([8, 8, 4][first:first + each]) for first in range(0, 3, each)] * 3
    assert (operation(seen.last, "compile") is not None) == (backend == "jax")
    assert "jax_recompiles" not in {row["rule"] for row in seen.last["warnings"]}
    # In TensorFlow the graph reads the data, within the step.
    assert (operation(seen.last, "data") is None) == (backend == "tensorflow")
