"""Loops of the program's own over Keras models: train_on_batch() and an optimizer's apply(), counted exactly, with the results that they have without pmtop."""
import importlib.util

import pytest

import watching

if not importlib.util.find_spec("keras"):
    pytest.skip("keras is not installed", allow_module_level=True)

BEGIN = """
import json, os, sys
which, backend = sys.argv[1:3]
os.environ["KERAS_BACKEND"] = backend
sys.path.insert(0, sys.argv[3])
import keras, numpy as np
import pmtop, pmtop.keras
from region_events import Region
import watching

LOSS = keras.losses.MeanSquaredError()

def network():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse")
    return model

def data(samples):
    x = np.random.default_rng(samples).normal(size=(samples, 3)).astype("float32")
    return x, x.sum(1, keepdims=True)

def on_batches(model):
    losses = []
    for i in range(25):
        losses.append(float(model.train_on_batch(*data(64 if i % 5 == 4 else 32))))
        if i % 5 == 4:
            model.test_on_batch(*data(16))
            model.predict_on_batch(data(8)[0])
    model.fit(*data(40), batch_size=8, epochs=2, verbose=0)
    try:
        model.fit(*data(40), batch_size=8, verbose=0, callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: 1 / 0)])
    except ZeroDivisionError:
        pass
    for _ in range(5):
        losses.append(float(model.train_on_batch(*data(32), return_dict=True)["loss"]))
    return losses

def applied(model, optimizer, x, y):
    if backend == "tensorflow":
        import tensorflow as tf
        with tf.GradientTape() as tape:
            loss = LOSS(y, model(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_weights), model.trainable_weights))
    elif backend == "torch":
        import torch
        loss = LOSS(y, model(x, training=True))
        model.zero_grad()
        loss.backward()
        gradients = [variable.value.grad for variable in model.trainable_weights]
        with torch.no_grad():
            optimizer.apply(gradients, model.trainable_weights)
    else:
        loss = LOSS(y, model(x, training=True))
        optimizer.apply([variable.value * 0.01 for variable in model.trainable_weights], model.trainable_weights)
    return float(loss.detach() if backend == "torch" else loss)

def applies(model):
    losses, optimizer = [], keras.optimizers.SGD(0.05)
    model(data(32)[0])
    for i in range(25):
        losses.append(applied(model, optimizer, *data(32)))
        if i % 5 == 4:
            model(data(16)[0], training=False)
            model.test_on_batch(*data(16))
    model(data(16)[0])  # opens a batch that no step ends
    return losses

def compiled(model):
    import tensorflow as tf
    optimizer = keras.optimizers.SGD(0.05)
    model(data(32)[0])
    optimizer.build(model.trainable_weights)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = LOSS(y, model(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_weights), model.trainable_weights))
        return loss
    return [float(step(*data(32))) for _ in range(25)]

def compiled_loop(model):
    import tensorflow as tf
    optimizer = keras.optimizers.SGD(0.05)
    model(data(32)[0])
    optimizer.build(model.trainable_weights)

    @tf.function
    def epoch(dataset):
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = LOSS(y, model(x, training=True))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_weights), model.trainable_weights))
    for _ in range(3):
        epoch(tf.data.Dataset.from_tensor_slices(data(64)).batch(8))
    return []

def over_loader(model):
    import torch
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*map(torch.from_numpy, data(100))), batch_size=4)
    return [float(model.train_on_batch(x, y)) for x, y in loader]

def train():
    keras.utils.set_random_seed(2)
    model = network()
    losses = globals()[which](model)
    return losses, [weight.tolist() for weight in model.get_weights()]

without = train()
if len(sys.argv) > 4:
    import pmtop.torch
    pmtop.torch.instrument()
pmtop.keras.instrument()
seen = train()
pmtop.keras._for_all.own_loop.leave()
what = watching.object_of(os.getpid())
region = Region(os.getpid()) if what.get("modes") else None
figures = region.figures() if region else {}
batches = region.batches() if region else []
print(json.dumps({"is_same": seen == without, "losses": seen[0], "counts": {mode: row["count"] for mode, row in what.get("modes", {}).items()},
                  "trained": [[batch.samples, batch.loss] for batch in batches if batch.mode == "train"],
                  "tested": [batch.samples for batch in batches if batch.mode == "validation"], "meta": region.meta if region else {}}))
"""


def run(which, backend, *more):
    if not importlib.util.find_spec(backend):
        pytest.skip(f"{backend} is not installed")
    with watching.start(BEGIN, which, backend, watching.HERE, *more) as script:
        assert script.finish(180) == 0, script.err()
        assert "pmtop" not in script.err()
        truth = script.truth()
    assert truth["is_same"]
    return truth


@pytest.mark.parametrize("backend, more", [("torch", []), ("torch", ["torch"]), ("jax", []), ("tensorflow", [])])
def test_each_train_on_batch_is_a_batch(backend, more):
    seen = run("on_batches", backend, *more)
    assert seen["counts"] == {"train": 25 + 10 + 1 + 5, "validation": 5, "predict": 5}
    assert [samples for samples, _ in seen["trained"][1:25]] == (([32] * 4 + [64]) * 5)[1:] and seen["tested"] == [16] * 5
    assert [loss for _, loss in seen["trained"][:25] + seen["trained"][-5:]] == seen["losses"]
    assert seen["meta"]["framework"].endswith(f"on {backend}")


@pytest.mark.parametrize("backend, more", [("torch", []), ("torch", ["torch"]), ("jax", []), ("tensorflow", [])])
def test_each_apply_of_an_own_loop_ends_a_batch(backend, more):
    seen = run("applies", backend, *more)
    assert {mode: seen["counts"][mode] for mode in ("train", "validation")} == {"train": 25, "validation": 5}


def test_each_call_of_a_step_that_tensorflow_compiled_is_a_batch():
    seen = run("compiled", "tensorflow")
    assert seen["counts"] == {"train": 25} and [samples for samples, _ in seen["trained"][1:]] == [32] * 24


def test_a_function_that_loops_over_batches_is_none():
    assert run("compiled_loop", "tensorflow")["counts"] == {}


def test_a_loop_over_a_loader_counts_once():
    assert run("over_loader", "torch", "torch")["counts"]["train"] == 25
