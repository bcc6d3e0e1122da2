"""pmtop.torch.instrument(profile=...): the traces of torch.profiler, and that training stays as it is."""
import glob
import json
import os
import statistics
import time

import pytest
import torch_loop
import watching
from region_events import Region

torch = pytest.importorskip("torch")
pmtop = pytest.importorskip("pmtop")

import pmtop.torch  # noqa: E402
from pmtop.torch import Profile  # noqa: E402


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pmtop.close()
    pmtop.init("job")
    yield
    if pmtop.torch._current is not None:
        pmtop.torch._current.close()
    pmtop.close()


def train(steps=12, epochs=1, account=None):
    """Losses, parameters and times of the steps."""
    model, optimizer = torch_loop.make()
    losses, times = [], []
    torch.manual_seed(5)
    for _ in range(epochs):
        for x, y in torch.utils.data.DataLoader(torch_loop.data(steps * 4), batch_size=4, shuffle=True):
            begin = time.perf_counter()
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            times.append(time.perf_counter() - begin)
    return losses, [parameter.tolist() for parameter in model.parameters()], times


def traces(folder="outputs/profiler_logs"):
    """The events of each trace, oldest first."""
    found = []
    for path in sorted(glob.glob(f"{folder}/*/*.pt.trace.json"), key=os.path.getmtime):
        with open(path) as file:
            found.append(json.load(file)["traceEvents"])
    return found


def step_names(events):
    return sorted({event["name"] for event in events if event["name"].startswith("ProfilerStep#")})


def test_the_guides_schedule_is_one_trace_of_three_steps(capsys):
    with pmtop.torch.instrument(profile=Profile(wait=1, warmup=1, active=3, repeat=1)):
        train()
    (events,) = traces()
    assert len(step_names(events)) == 3
    names = [event["name"] for event in events]
    assert names.count("Optimizer.step#SGD.step") == 3 and "aten::mm" in names or "aten::addmm" in names
    (path,) = glob.glob("outputs/profiler_logs/*/*.pt.trace.json")
    assert capsys.readouterr().err.splitlines()[-1] == f"pmtop: profile: trace of 3 steps: {path}"


def test_profiled_steps_are_a_kind():
    with pmtop.torch.instrument(profile=Profile(wait=2, warmup=1, active=3)):
        train(steps=12)
        region = Region(os.getpid())
    # The profiler starts at the end of step 2 and writes the trace at the end of step 6.
    assert [batch.kind for batch in region.batches()] == [None] + ["profile"] * 5 + [None] * 6
    assert any(mark.startswith("trace ") for mark in region.marks())


def test_cycles_begin_every_n_steps():
    with pmtop.torch.instrument(profile={"schedule_every_n_steps": 8, "wait_steps": 1, "warmup_steps": 0, "active_steps": 2, "repeat_cycles": 2}):
        train(steps=20)
        kinds = [batch.kind for batch in Region(os.getpid()).batches()]
    assert [len(step_names(events)) for events in traces()] == [2, 2]
    assert [index for index, kind in enumerate(kinds) if kind] == [0, 1, 2, 8, 9, 10]


def test_epochs_are_counted_instead_of_steps():
    with pmtop.torch.instrument(profile=Profile(wait=1, warmup=0, active=1, epochs=True)):
        train(steps=3, epochs=4)
        kinds = [batch.kind for batch in Region(os.getpid()).batches()]
    (events,) = traces()
    assert sum(event["name"] == "Optimizer.step#SGD.step" and event.get("cat") == "user_annotation" for event in events) == 3
    # The second epoch, and the first batch after it: the time before that contains the writing.
    assert kinds[:7] == [None] * 3 + ["profile"] * 4 and not any(kinds[7:])


def test_options_reach_torch():
    with pmtop.torch.instrument(profile=Profile(active=1, record_shapes=True, profile_memory=True, with_stack=True, with_flops=True)):
        train(steps=5)
    (events,) = traces()
    assert any("Input Dims" in event.get("args", {}) for event in events)
    assert any(event["name"] == "[memory]" for event in events)
    assert any(event.get("cat") == "python_function" for event in events)


def test_results_are_the_same_bit_by_bit():
    plain = train()[:2]
    with pmtop.torch.instrument(profile=Profile(record_shapes=True, with_stack=True)):
        assert train()[:2] == plain
    assert len(traces()) == 1


def test_steps_after_the_trace_are_as_fast_as_before():
    """By the CPU time of the thread, which other programs on the machine change little."""
    model = torch.nn.Linear(512, 512)
    optimizer, times = torch.optim.SGD(model.parameters(), 0.01), []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with pmtop.torch.instrument(profile=Profile(wait=40, active=3)):
            for x in torch.utils.data.DataLoader(torch.randn(150 * 64, 512), batch_size=64):
                begin = time.thread_time()
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
                times.append(time.thread_time() - begin)
    finally:
        torch.set_num_threads(threads)
    before, after = times[10:39], times[45:]
    assert len(traces()) == 1 and not torch.autograd._profiler_enabled()
    assert max(after) <= 3 * statistics.median(after) and statistics.median(after) <= 1.5 * statistics.median(before)


def test_nothing_is_called_after_the_last_trace():
    with pmtop.torch.instrument(profile=Profile()) as instrumentation:
        train(steps=4)
        assert instrumentation._loop.watches_end
        train(steps=4)
        assert not instrumentation._loop.watches_end and instrumentation._loop.profile._profiler is None


def test_a_loop_without_a_loader_is_profiled():
    model, optimizer = torch_loop.make()
    x, y = torch_loop.data().tensors
    with pmtop.torch.instrument(profile=Profile()):
        for _ in range(10):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    assert [len(step_names(events)) for events in traces()] == [3]


def test_a_short_run_writes_what_it_has():
    with pmtop.torch.instrument(profile=Profile(active=100)):
        train(steps=6)
    assert 1 <= len(step_names(traces()[0])) <= 5


def test_a_run_that_ends_before_says_so(capsys):
    with pmtop.torch.instrument(profile=Profile(wait=50)):
        train(steps=6)
    assert traces() == []
    assert "pmtop: profile: no trace was written: training had 6 steps, and the first trace is complete after 54\n" in capsys.readouterr().err


def test_the_programs_own_profiler_has_precedence(capsys):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own, pmtop.torch.instrument(profile=True):
        train()
    assert capsys.readouterr().err.count("pmtop: profile: no trace is written: the program's own torch.profiler is running\n") == 1
    assert own.key_averages() and traces() == []


def test_a_profiler_that_the_program_starts_later_takes_over(capsys):
    with pmtop.torch.instrument(profile=Profile(active=50)):
        train(steps=6)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own:
            plain = train(steps=6)
    assert capsys.readouterr().err.count("pmtop: profile: the trace was given up: the program starts its own torch.profiler\n") == 1
    assert own.key_averages() and traces() == [] and len(plain[0]) == 6


def test_a_profiler_in_its_warm_up_has_precedence(capsys):
    schedule = torch.profiler.schedule(wait=0, warmup=4, active=1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule), pmtop.torch.instrument(profile=True):
        train()
    assert "the program's own torch.profiler is running" in capsys.readouterr().err and traces() == []


def test_a_profiler_that_waits_has_precedence(capsys):
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=2)
    found = []
    with pmtop.torch.instrument(profile=True), torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule, on_trace_ready=found.append) as own:
        model, optimizer = torch_loop.make()
        for x, y in torch.utils.data.DataLoader(torch_loop.data(60), batch_size=4):
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            own.step()
    assert "the program's own torch.profiler is running" in capsys.readouterr().err and traces() == [] and len(found) == 2


def test_an_error_ends_profiling_and_not_training(capsys):
    open("file", "w").close()
    with pmtop.torch.instrument(profile=Profile(output_dir="file/traces")):
        assert len(train()[0]) == 12
    said = capsys.readouterr().err
    assert "pmtop: profile: no further trace is written: NotADirectoryError" in said and said.count("pmtop: ") == 1
    assert not torch.autograd._profiler_enabled()


@pytest.mark.parametrize("wrong, kind, text", [
    ({"activ": 3}, ValueError, "profile: unknown key 'activ'; valid keys: active, active_steps, enabled, epochs, every_n_steps, output_dir, "
     "profile_memory, record_shapes, repeat, repeat_cycles, run, schedule_every_n_steps, wait, wait_steps, warmup, warmup_steps, with_flops, with_stack"),
    ({"wait": "1"}, TypeError, "profile.wait: '1' is not a whole number; write a number of steps, such as 1"),
    ({"active_steps": 0}, ValueError, "profile.active: 0 is below 1"),
    ({"wait": 1, "wait_steps": 1}, ValueError, "profile: 'wait_steps' and 'wait' mean the same; give one of them"),
    ({"with_stack": "no"}, TypeError, "profile.with_stack: 'no' is neither True nor False"),
    (3, TypeError, r"profile: 3 is not a mapping; pass pmtop.torch.Profile(...) or a mapping of its arguments"),
])
def test_wrong_settings_have_one_clear_error(wrong, kind, text):
    with pytest.raises(kind) as raised:
        pmtop.torch.instrument(profile=wrong)
    assert str(raised.value) == text


RANKS = """
import os, torch, torch.distributed as distributed, pmtop.torch
distributed.init_process_group("gloo")
pmtop.torch.instrument(profile={"active": 2})
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x in torch.utils.data.DataLoader(torch.randn(24, 4), batch_size=4):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
distributed.destroy_process_group()
"""


def test_each_rank_has_its_trace(tmp_path):
    (tmp_path / "ddp.py").write_text(RANKS)
    watching.run(["-m", "torch.distributed.run", "--nproc-per-node=2", str(tmp_path / "ddp.py")], cwd=tmp_path, env={"OMP_NUM_THREADS": 1}, seconds=120)
    names = [path.name for path in tmp_path.glob("outputs/profiler_logs/ddp/*.pt.trace.json")]
    assert len(names) == 2 and {name.partition("_rank")[2][0] for name in names} == {"0", "1"}
    assert (tmp_path / "outputs/profiler_logs/ddp/chrome_trace.json").exists()


def test_pmtop_flags_no_profiled_step(tmp_path):
    script = """
import time, torch, pmtop.torch
pmtop.torch.instrument(profile={"wait": 40, "active": 30, "with_stack": True})
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x in torch.utils.data.DataLoader(torch.randn(480, 4), batch_size=4):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
    time.sleep(0.01)
"""
    seen = watching.watch(script, cwd=tmp_path, env={"OMP_NUM_THREADS": 1})
    kinds = {row["kind"]: row["count"] for row in seen.last["kinds"]}
    assert kinds["profile"] == 32
    assert all(row.get("kind") != "profile" for row in seen.last.get("flagged", []))


def test_a_configuration_may_be_off():
    assert Profile.of({"profiling": {"enabled": False, "active_steps": 3}}) is None and Profile.of(False) is None
    assert Profile.of({"profiling": {"enabled": True, "active_steps": 3}}).active == 3
