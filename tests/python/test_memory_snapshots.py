"""Memory snapshots: pmtop.torch.memory_history(), requests of `pmtop snapshot PID`, and pmtop's figures beside those of torch.cuda._memory_viz."""
import collections
import json
import os
import pickle
import socket
import subprocess
import time

import pytest
import torch_loop
import watching
from made_snapshots import Allocator, write

torch = pytest.importorskip("torch")
pmtop = pytest.importorskip("pmtop")

import pmtop.torch  # noqa: E402
from pmtop._torch import memory, on_request  # noqa: E402


def shown(*arguments):
    return json.loads(subprocess.run([watching.PMTOP, *map(str, arguments), "--json"], capture_output=True, text=True, check=True, timeout=60).stdout)


def made(events=400, **options):
    allocator = Allocator(**options)
    allocator.churn(events)
    return allocator


# -- beside torch


def test_stacks_are_those_of_torchs_own_tool(tmp_path):
    from torch.cuda import _memory_viz

    allocator = made()
    write(tmp_path / "snapshot.pickle", allocator)
    found = shown("trace", tmp_path / "snapshot.pickle")
    with open(tmp_path / "snapshot.pickle", "rb") as file:
        snapshot = pickle.load(file)
    theirs = collections.Counter()
    for line in _memory_viz.memory(snapshot, format_flamegraph=str).splitlines():
        stack, _, size = line.rpartition(" ")
        _, state, *frames = stack.split(";")
        if state == "active_allocated" and frames != ["<gaps>"]:
            theirs[tuple(frames)] += int(size)
    ours = collections.Counter()
    for row in found["stacks"]:
        frames = [":".join(frame.rpartition("/")[2].split(" ", 1)) for frame in reversed(row["frames"])]
        ours[tuple(frames) or ("<non-python>",)] += row["bytes"]
    assert ours == theirs
    device = found["devices"][0]
    sums = dict(line.split(": ", 1) for line in _memory_viz.segsum(snapshot).splitlines() if line.startswith(("segments", "total_")))
    assert sums["total_reserved"] == str(_memory_viz.Bytes(device["reserved_bytes"]))
    assert sums["total_allocated"] == str(_memory_viz.Bytes(device["requested_bytes"]))
    external = device["inactive_split_bytes"] + device["inactive_segment_bytes"]
    assert sums["total_free"] == _memory_viz._report_free(external, device["allocated_bytes"] - device["requested_bytes"])
    assert device["segments"][0]["count"] == int(sums["segments"])


def test_a_history_that_begins_late_has_the_peak_of_what_it_holds(tmp_path):
    for name, options in {"late": {"records_from": 150}, "full": {"max_entries": 200}}.items():
        allocator = made(**options)
        path = tmp_path / f"{name}.pickle"
        write(path, allocator)
        history, truth = shown("trace", path)["devices"][0]["history"], allocator.truth()
        assert history["is_partial"] and history["before_bytes"] > 0 and history["events"] == truth["events"]
        assert (history["peak"]["live_bytes"], history["peak"]["event"]) == (truth["peak_bytes"], truth["peak_event"]), name


# -- on request


@pytest.fixture
def cuda(monkeypatch):
    """A CUDA allocator of our own."""
    allocator = made(60)
    calls = []
    monkeypatch.setattr(memory, "why_no_snapshot", lambda **_: "")
    monkeypatch.setattr(on_request, "why_no_snapshot", lambda: "")
    monkeypatch.setattr(memory, "_oom_history", None)
    monkeypatch.setattr(torch.cuda.memory, "_snapshot", allocator.snapshot)
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda *words, **named: calls.append((words, named)))
    monkeypatch.setattr(torch._C, "_cuda_attach_out_of_memory_observer", calls.append, raising=False)
    return allocator, calls


def asks_while_training(*arguments):
    """`pmtop snapshot` asks this process, which trains until it has its answer."""
    pmtop.close()
    pmtop.init("job")
    model, optimizer = torch_loop.make()
    with pmtop.torch.instrument(profile_on_request=True):
        asking = subprocess.Popen([watching.PMTOP, "snapshot", str(os.getpid()), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 30
        while asking.poll() is None and time.monotonic() < end:
            for x, y in torch.utils.data.DataLoader(torch_loop.data(8), batch_size=4):
                torch.nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
                time.sleep(0.01)
    pmtop.close()
    out, errors = asking.communicate(timeout=10)
    return asking.returncode, out, errors


def test_a_program_that_is_asked_writes_a_snapshot(cuda, tmp_path):
    code, out, errors = asks_while_training("--json", f"--output={tmp_path / 'snapshots'}")
    assert code == 0, errors
    found = json.loads(out)
    assert found["devices"][0]["requested_bytes"] == cuda[0].live_bytes
    assert os.listdir(tmp_path / "snapshots") == [os.path.basename(found["file"])] and found["file"].endswith(".snapshot.pickle")


@pytest.mark.skipif(torch.cuda.is_available(), reason="for a machine without CUDA")
def test_a_program_without_cuda_says_so(tmp_path, capsys):
    assert asks_while_training(f"--output={tmp_path}")[::2] == (
        1, f"pmtop: process {os.getpid()}: waiting for the end of a step\npmtop: this program has no CUDA device\n")
    with pmtop.torch.memory_history() as history:
        assert history.dump(tmp_path / "x") is None
    assert os.listdir(tmp_path) == []
    assert capsys.readouterr().err == ("pmtop: memory: no history is recorded: this program has no CUDA device; the program continues\n"
                                       "pmtop: memory: no snapshot was written: this program has no CUDA device; the program continues\n")


def asks_by_itself(loop_requests, folder):
    """The answer to a request that no user has made, as the monitor sends it."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(loop_requests.path)
        client.sendall(f"snapshot 2 {folder}\n".encode())
        client.settimeout(10)
        loop_requests._next = 0.0
        loop_requests.batch_ends(True, False)
        loop_requests._next = 0.0
        loop_requests.batch_ends(True, False)
        return client.makefile().readline()


def test_only_a_program_with_a_history_gives_a_snapshot_that_no_user_asked_for(cuda, tmp_path):
    pmtop.close()
    pmtop.init("job")
    with pmtop.torch.instrument() as instrumentation:
        assert instrumentation._loop.requests is None
        with pmtop.torch.memory_history(output_dir=tmp_path):
            requests = instrumentation._loop.requests
            answer = asks_by_itself(requests, tmp_path)
        assert answer.startswith(f"snapshot {tmp_path}") and len(os.listdir(tmp_path)) == 1
        assert asks_by_itself(requests, tmp_path) == "unrecorded\n"
    with pmtop.torch.memory_history(), pmtop.torch.instrument() as instrumentation:
        assert instrumentation._loop.requests is not None
    with pmtop.torch.instrument(profile_on_request=False) as instrumentation, pmtop.torch.memory_history():
        assert instrumentation._loop.requests is None
    pmtop.close()


def test_a_process_that_takes_no_requests_is_refused():
    done = subprocess.run([watching.PMTOP, "snapshot", str(os.getpid())], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr == (f"pmtop: pid {os.getpid()} takes no requests: start it by pmtop -- COMMAND, or call "
                                                    "pmtop.torch.instrument(profile_on_request=True)\n")


# -- the history


def test_a_history_is_recorded_and_dumped(cuda, tmp_path):
    allocator, calls = cuda
    with pmtop.torch.memory_history(max_entries=500, output_dir=tmp_path / "made") as history:
        assert history.dump(tmp_path / "x.pickle") == str(tmp_path / "x.pickle")
        path = history.dump()
    assert os.path.dirname(path) == str(tmp_path / "made") and os.listdir(tmp_path / "made") == [os.path.basename(path)]
    assert calls == [(("all",), {"context": "alloc", "stacks": "python", "max_entries": 500}), ((None,), {})]
    assert shown("trace", tmp_path / "x.pickle")["devices"][0]["requested_bytes"] == allocator.live_bytes


def test_running_out_of_memory_writes_at_most_three_snapshots(cuda, tmp_path, capsys):
    history = pmtop.torch.memory_history(on_oom=True, output_dir=tmp_path)
    observe = cuda[1][-1]
    for _ in range(5):
        observe(0, 1 << 30, 0, 0)
    assert len(os.listdir(tmp_path)) == memory.OOM_DUMPS_MAX
    assert capsys.readouterr().err.count("pmtop: memory: out of memory: pmtop trace ") == memory.OOM_DUMPS_MAX
    history.stop()
    observe(0, 1 << 30, 0, 0)
    assert len(os.listdir(tmp_path)) == memory.OOM_DUMPS_MAX


def test_a_snapshot_that_cannot_be_written_leaves_no_part(cuda, tmp_path, capsys):
    with pmtop.torch.memory_history() as history:
        assert history.dump("/dev/null/x") is None
        torch.cuda.memory._snapshot = lambda: (_ for _ in ())
        assert history.dump(tmp_path / "x") is None
    assert os.listdir(tmp_path) == []
    assert "no snapshot was written: FileExistsError" in capsys.readouterr().err


@pytest.mark.parametrize("wrong, error", [({"max_entries": 0}, ValueError), ({"max_entries": True}, TypeError), ({"max_entries": "9"}, TypeError),
                                          ({"stacks": "cpp"}, ValueError)])
def test_a_wrong_argument_raises(wrong, error):
    with pytest.raises(error):
        pmtop.torch.memory_history(**wrong)
