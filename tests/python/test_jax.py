"""pmtop.jax beside real JAX on the CPU: what is published, compared with what JAX reports to a listener of the test's own."""
import os
import time

import pytest

import watching
from region_events import SPAN, Region
from watching import close_to, operation

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax")
np = pytest.importorskip("numpy")
pmtop = pytest.importorskip("pmtop")
from jax import numpy as jnp  # noqa: E402

import pmtop.jax  # noqa: E402

COMPILED = "/jax/core/compile/backend_compile_duration"


@pytest.fixture(autouse=True)
def fresh():
    pmtop.close()
    jax.clear_caches()
    pmtop.init()
    yield
    if pmtop.jax._current is not None:
        pmtop.jax._current.close()
    pmtop.close()


@pytest.fixture
def heard():
    """What JAX itself reports: (event, seconds, name)."""
    events = []

    def listener(event, seconds, **facts):
        events.append((event, seconds, facts.get("fun_name")))
    jax.monitoring.register_event_duration_secs_listener(listener)
    yield events
    jax.monitoring.unregister_event_duration_listener(listener)


def reported():
    return watching.object_of(os.getpid())


def region():
    return Region(os.getpid())


def line():
    """A training step that learns a line, and its first weights."""
    @jax.jit
    def train(weights, x):
        loss, gradient = jax.value_and_grad(lambda weights: jnp.mean((x @ weights - 5) ** 2))(weights)
        return weights - 0.1 * gradient, loss
    return train, jnp.ones((3, 1))


def test_compilations_are_those_that_jax_reports(heard):
    with pmtop.jax.instrument():
        train, weights = line()
        for size in (4, 4, 5, 6):
            weights, _ = train(weights, jnp.ones((size, 3)))
    published = region()
    compiled = [seconds for event, seconds, _ in heard if event == COMPILED]
    assert published.counters["jax.compiles"] == len(compiled) > 3
    assert len([name for _, _, name in heard if name == "jit(train)"]) == 2 * 3  # lowered and compiled for three shapes
    assert published.meta["framework"].startswith("jax ")
    spans = [(event.time_ns - event.payload[0], event.time_ns) for event in published.of(SPAN, "compile")]
    assert spans and all(first[1] <= second[0] for first, second in zip(spans, spans[1:])), "the times overlap"
    inside = sum(seconds for event, seconds, _ in heard if not event.endswith("jaxpr_trace_duration") and event in pmtop.jax.COMPILE_EVENTS)
    every = sum(seconds for event, seconds, _ in heard if event in pmtop.jax.COMPILE_EVENTS)
    took = published.counters["jax.compile_ns"] / 1e9
    assert inside - 0.01 <= took <= every + 0.01
    assert close_to(sum(end - begin for begin, end in spans) / 1e9, took)


def test_after_close_nothing_is_published():
    pmtop.jax.instrument().close()
    jax.jit(lambda x: x + 1)(jnp.ones(7))
    assert "jax.compiles" not in region().counters
    assert pmtop.jax.instrument() is pmtop.jax.instrument()
    jax.jit(lambda x: x + 2)(jnp.ones(7))
    assert region().counters["jax.compiles"] >= 1


def test_each_call_of_a_step_is_a_batch():
    train, weights = line()
    step, losses = pmtop.jax.step(train, loss=lambda result: result[1]), []
    for _ in pmtop.epochs(3):
        for _ in range(7):
            weights, loss = step(weights, jnp.ones((4, 3)))
            losses.append(float(loss))
    weights, loss = step(weights, jnp.ones((4, 3)))
    losses.append(float(loss))
    step._read()
    seen, published = reported(), region()
    assert seen["batch"]["count"] == len(losses) == 22
    assert [epoch["batches"] for epoch in seen["epochs"]] == [7, 7, 7]
    assert [published.figures()[(batch.number, "loss")] for batch in published.batches()] == losses
    assert operation(seen, "dispatch", 0)["count"] == 22 and operation(seen, "sync") is None


def test_waiting_publishes_the_last_loss():
    train, weights = line()
    step = pmtop.jax.step(train, loss=lambda result: result[1])
    for _ in range(5):
        weights, loss = step(weights, jnp.ones((4, 3)))
    pmtop.jax.wait((weights, loss))
    assert region().figures()[(4, "loss")] == float(loss)


def test_samples_are_published():
    step = pmtop.jax.step(lambda: time.sleep(0.001), samples=4)
    for _ in range(5):
        step()
    assert [batch.samples for batch in region().batches()[1:]] == [4] * 4


def test_a_step_waits_only_if_it_is_asked_to(monkeypatch):
    waits, original = [], jax.block_until_ready

    def waiting(result):
        waits.append(result)
        return original(result)
    monkeypatch.setattr(jax, "block_until_ready", waiting)
    train, weights = line()
    step = pmtop.jax.step(train, loss=lambda result: result[1])
    for _ in range(5):
        weights, _ = step(weights, jnp.ones((4, 3)))
    assert waits == []
    assert pmtop.jax.wait(weights) is weights and len(waits) == 1

    @pmtop.jax.step(block=True)
    @jax.jit
    def slow(x):
        def wait(x):
            time.sleep(0.02)
            return x
        return jax.pure_callback(wait, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    for _ in range(6):
        slow(jnp.ones(2))
    assert len(waits) == 7
    seen = reported()
    assert seen["batch"]["count"] == 11
    assert operation(seen, "sync", 0)["count"] == 7
    last = region().batches()[-5:]
    assert all(batch.end_ns - batch.begin_ns >= 0.02e9 for batch in last)


def test_a_loss_that_is_not_computed_is_never_waited_for():
    class Late:
        """An array whose value comes later."""

        is_computed = False

        def is_ready(self):
            return self.is_computed

        def is_deleted(self):
            return False

        def __float__(self):
            assert self.is_computed, "waited for"
            return 0.5

    losses = []

    @pmtop.jax.step(loss=lambda result: result)
    def step():
        losses.append(Late())
        return losses[-1]
    for _ in range(pmtop.jax.LATE_MAX + 10):
        step()
    assert region().figures() == {}
    for loss in losses[:-1]:
        loss.is_computed = True
    step()
    # The last ten that fit, less the one that is not computed, and the new one behind it.
    assert sorted(number for number, _ in region().figures()) == list(range(11, pmtop.jax.LATE_MAX + 9))


def test_a_loop_that_publishes_its_batches_has_them_once():
    train, weights = line()
    step = pmtop.jax.step(train, loss=lambda result: result[1])
    for x in pmtop.batches([jnp.ones((4, 3))] * 9, samples=4):
        weights, loss = step(weights, x)
    step._read()
    seen, published = reported(), region()
    assert seen["batch"]["count"] == 9
    assert operation(seen, "dispatch", 0)["count"] == 9 and operation(seen, "data", 0) is not None
    assert published.figures()[(8, "loss")] == float(loss)


def test_results_are_the_same_bit_by_bit():
    def learn(wrap):
        train, weights = line()
        step = wrap(train)
        for size in (4, 4, 6, 4):
            weights, loss = step(weights, jnp.arange(size * 3.0).reshape(size, 3) / 10)
        return weights.tolist(), float(loss)
    with pmtop.jax.instrument():
        published = learn(lambda train: pmtop.jax.step(train, loss=lambda result: result[1], block=True))
    assert published == learn(lambda train: train)


def test_a_step_within_a_jitted_function_is_traced_as_without_it():
    step = pmtop.jax.step(lambda x: x * 2)
    assert str(jax.make_jaxpr(step)(1.0)) == str(jax.make_jaxpr(lambda x: x * 2)(1.0))
    assert float(jax.grad(jax.jit(lambda x: step(x) ** 2))(3.0)) == 24
    assert pmtop.statistics()["num_batches"] == 0
    step = pmtop.jax.step(jax.jit(lambda x: x * 2))
    assert "stablehlo" in step.lower(1.0).as_text()


def test_an_exception_in_a_step_is_the_users_and_its_batch_does_not_count():
    @pmtop.jax.step
    def step(x):
        if x == 2:
            raise ValueError("two")
        return x
    for x in range(5):
        try:
            step(x)
        except ValueError as error:
            assert str(error) == "two"
    assert reported()["batch"]["count"] == 4


def test_an_error_of_pmtop_is_said_once_and_training_goes_on(monkeypatch, capfd):
    def broken(*arguments):
        raise OSError("no more")
    train, weights = line()
    step = pmtop.jax.step(train, loss=broken)
    monkeypatch.setattr(pmtop, "span_past", broken)
    with pmtop.jax.instrument():
        for _ in range(4):
            weights, loss = step(weights, jnp.ones((4, 3)))
    assert float(loss) > 0
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("pmtop:")]
    assert said == [f"pmtop: jax: {what} are not measured: OSError: no more; training continues; please report this" for what in ("compilations", "steps")]


def test_wrong_arguments_raise():
    with pytest.raises(TypeError, match="function must be callable"):
        pmtop.jax.step(5)
    with pytest.raises(TypeError, match="loss must be a function"):
        pmtop.jax.step(len, loss=1)
    with pytest.raises(ValueError, match="negative"):
        pmtop.jax.step(len, samples=-1)


LOOP = """
import json, sys
import jax, pmtop.jax
import numpy as np
from jax import numpy as jnp
times = [0]
jax.monitoring.register_event_duration_secs_listener(lambda event, seconds, fun_name="", **more: times.__setitem__(
    0, times[0] + (event.endswith("backend_compile_duration") and fun_name == "jit(train)")))
pmtop.jax.instrument()

@jax.jit
def train(weights, x):
    loss, gradient = jax.value_and_grad(lambda weights: jnp.mean((x @ weights - 5) ** 2))(weights)
    return weights - 0.1 * gradient, loss

step, weights, changes = pmtop.jax.step(train), jnp.ones((3, 1)), sys.argv[1] == "changes"
for i in range(26):
    weights, loss = step(weights, np.ones((4 + (i if changes else i == 25), 3), "float32"))
    loss.block_until_ready()
print(json.dumps({"compiled": times[0]}))
"""


def test_a_function_that_compiles_in_each_step_is_a_warning():
    seen = watching.watch(LOOP, "changes", env={"JAX_PLATFORMS": "cpu"})
    assert seen.truth["compiled"] == seen.last["batch"]["count"] == 26
    warning = next(row for row in seen.last["warnings"] if row["rule"] == "jax_recompiles")
    assert warning["message"].startswith("JAX recompiles jit(train) in most steps: ")
    assert warning["evidence"]["share_ratio"] > 0.3 and not [row for row in seen.last["warnings"] if row["rule"] == "bottleneck"]


def test_a_function_that_compiles_for_its_last_batch_is_none():
    seen = watching.watch(LOOP, "same", env={"JAX_PLATFORMS": "cpu"})
    assert seen.truth["compiled"] == 2 and seen.last["batch"]["count"] == 26
    assert "jax_recompiles" not in {row["rule"] for row in seen.last["warnings"]}


def test_marks_are_few_and_name_the_function():
    with pmtop.jax.instrument():
        train, weights = line()
        step = pmtop.jax.step(train)
        for size in range(4, 14):
            weights, _ = step(weights, np.ones((size, 3), "float32"))
    published = region()
    marks = [mark for mark in published.marks() if "jit(train)" in mark]
    assert [mark.rpartition(",")[0] for mark in marks] == [f"JAX compiled jit(train) again ({times} times)" for times in (4, 8)]
    assert published.meta["jax.recompiled"].startswith("jit(") and published.counters["jax.recompiles"] == 10 - 3


LAZY = """
import sys
import pmtop.jax
print("jax" in sys.modules)
"""


def test_importing_it_imports_no_jax():
    assert watching.run(LAZY).out().split() == ["False"]


def test_without_publishing_it_does_nothing(monkeypatch, capfd):
    pmtop.close()
    monkeypatch.setenv("PMTOP", "0")
    train, weights = line()
    step = pmtop.jax.step(train, loss=lambda result: result[1])
    with pmtop.jax.instrument():
        for _ in range(3):
            weights, loss = step(weights, jnp.ones((4, 3)))
    assert float(loss) > 0 and watching.region_files(os.getpid()) == [] and "pmtop" not in capfd.readouterr().err


def test_without_spans_a_long_compilation_is_a_mark(monkeypatch):
    """So that pmtop goes on to infer the steps of a program that publishes none."""
    monkeypatch.setattr(pmtop.jax, "MARKED_S", 0)
    with pmtop.jax.instrument(spans=False) as instrumented:
        jax.jit(lambda x: x * 41 + 1)(jnp.ones(3))
        published = region()
        assert published.counters["jax.compiles"] >= 1 and published.counters["jax.compile_ns"] > 0
        assert not published.of(SPAN) and any("JAX compiled" in mark for mark in published.marks())
        assert pmtop.jax.instrument() is instrumented
        jax.jit(lambda x: x * 43 + 1)(jnp.ones(3))
        assert region().of(SPAN, "compile")
