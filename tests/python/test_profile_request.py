"""pmtop profile PID: traces on request, from an instrumented program and through Kineto's daemon interface; and what is refused."""
import fcntl
import glob
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pytest
import torch_loop
import watching
from region_events import Region

torch = pytest.importorskip("torch")
pmtop = pytest.importorskip("pmtop")

import pmtop.torch  # noqa: E402

SITE = str(pathlib.Path(pmtop.__file__).resolve().parent.parent)
LOOP = """
import os, sys, time, torch
{first}
torch.set_num_threads(1)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
data = torch.utils.data.TensorDataset(torch.zeros(4000, 8), torch.zeros(4000, 1))
end = time.monotonic() + 60
while time.monotonic() < end:
    for x, y in torch.utils.data.DataLoader(data, batch_size=4):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        time.sleep(0.01)
        open(sys.argv[1], "w").close()
        if time.monotonic() > end:
            break
"""


# What an instrumented rank answers, without PyTorch. Its trace is of one operator; rank 2 refuses.
RANK = """
import json, os, socket, sys, time
folder, rank = sys.argv[1], int(os.environ["RANK"])
path = f"{folder}/profile.{os.getpid()}"
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen(1)
client, _ = server.accept()
os.unlink(path)
words = client.recv(4096).decode().split()
name = f"{words[-1]}/rank{rank}.pt.trace.json"
event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0}
json.dump({"distributedInfo": {"rank": rank, "world_size": 3}, "traceEvents": [event], "asked": words[:5]}, open(name, "w"))
client.sendall(b"error no profiler here\\n" if rank == 2 else f"step 3 3\\ntrace {name}\\n".encode())
time.sleep(30)
"""


def start(tmp_path, first="", env=None):
    """A training program that has done a step."""
    script, mark = tmp_path / "train.py", tmp_path / "trains"
    script.write_text(LOOP.format(first=first))
    with open(tmp_path / "errors", "w") as errors:
        job = subprocess.Popen([sys.executable, str(script), str(mark)], env=watching.environment(env, path=[SITE]), stderr=errors)
    watching.wait_for(lambda: mark.exists() or job.poll() is not None, 60, "a step")
    return job


def profile(*arguments, **options):
    return subprocess.run([watching.PMTOP, "profile", *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def ends(job):
    job.kill()
    job.wait()


def counts(trace, name):
    return next(row["count"] for row in trace["operators"] if row["name"].startswith(name))


def profiles_from_the_screen(job, folder):
    """The key P takes a trace, and it opens, unless another key came meanwhile: then T opens it. q returns to the run."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 40, 150, 0, 0))
    screen = subprocess.Popen([watching.PMTOP, "-p", str(job.pid)], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder,
                              env={**os.environ, "TERM": "xterm-256color"})
    os.close(theirs)
    end = time.monotonic() + 60
    try:
        for keys, wanted in ((b"", b"Overview"), (b"P", b"Kernels"), (b"q", b"Batches"),
                             (b"P2", rb"trace ready: key T opens it, pmtop trace (\S+\.pt\.trace\.json)"), (b"T", b"Kernels"), (b"q", b"Batches")):
            os.write(ours, keys)
            shown = b""
            while not (found := re.search(wanted, shown)):
                assert time.monotonic() < end, shown[-2000:]
                shown += os.read(ours, 65536)
            for name in found.groups():
                assert (folder / os.fsdecode(name)).is_file()
    finally:
        screen.kill()
        screen.wait()
        os.close(ours)


def test_an_instrumented_program_gives_a_trace_of_the_steps_asked(tmp_path):
    job = start(tmp_path, "import pmtop.torch; pmtop.torch.instrument(profile_on_request=True)")
    try:
        done = profile(job.pid, "--steps=4", "--json", f"--output={tmp_path / 'traces'}")
        assert done.returncode == 0, done.stderr
        trace = json.loads(done.stdout)
        assert len(trace["steps"]) == 4 and counts(trace, "Optimizer.step#SGD") == 4
        assert glob.glob(str(tmp_path / "traces" / "*.pt.trace.json")) == [trace["file"]]
        assert f"process {job.pid}: profiling " in done.stderr
        text = profile(job.pid, cwd=tmp_path)
        assert "\nOPERATORS\n" in text.stdout and f"\nTrace: {tmp_path}/" in text.stdout, text
        profiles_from_the_screen(job, tmp_path)
        os.kill(job.pid, signal.SIGSTOP)
        stopped = profile(job.pid)
        assert stopped.returncode == 1 and stopped.stderr == f"pmtop: process {job.pid} is stopped and does no steps: kill -CONT lets it run\n"
    finally:
        ends(job)
    # A killed program leaves its socket: the next one removes it.
    folder = watching.wait_for(lambda: [f for f in (f"/run/user/{os.getuid()}/pmtop", f"/tmp/pmtop-{os.getuid()}") if os.path.isdir(f)])[0]
    assert os.path.exists(f"{folder}/profile.{job.pid}")
    with pmtop.torch.instrument(profile_on_request=True):
        assert not os.path.exists(f"{folder}/profile.{job.pid}") and os.path.exists(f"{folder}/profile.{os.getpid()}")
    assert not os.path.exists(f"{folder}/profile.{os.getpid()}")


def test_all_ranks_of_a_job_are_asked_and_a_failure_is_named(tmp_path):
    with pmtop.torch.instrument(profile_on_request=True):
        folder = os.path.dirname(pmtop.torch._current._loop.requests.path)
    job = {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511", "TORCHELASTIC_RUN_ID": str(os.getpid())}
    ranks = [subprocess.Popen([sys.executable, "-S", "-c", RANK, folder], env={**os.environ, **job, "RANK": str(rank)}) for rank in range(3)]
    try:
        watching.wait_for(lambda: all(os.path.exists(f"{folder}/profile.{rank.pid}") for rank in ranks), 20, "the sockets")
        done = profile(ranks[1].pid, "--json", f"--output={tmp_path / 'traces'}")
    finally:
        for rank in ranks:
            ends(rank)
    assert [rank["rank"] for rank in json.loads(done.stdout)["ranks"]] == [0, 1]
    assert done.returncode == 1 and f"pmtop: rank 2 (process {ranks[2].pid}): no profiler here\n" in done.stderr
    asked = [json.loads((tmp_path / "traces" / f"rank{rank}.pt.trace.json").read_text())["asked"] for rank in range(3)]
    assert asked[0] == asked[1] == asked[2] and asked[0][:4] == ["profile", "2", "3", "time"]


def test_a_launched_program_takes_requests_without_a_change(tmp_path):
    script, mark = tmp_path / "train.py", tmp_path / "trains"
    script.write_text(LOOP.format(first=""))
    launched = subprocess.Popen([watching.PMTOP, "-b", "--", sys.executable, str(script), str(mark)], env=watching.environment(path=[SITE]),
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        watching.wait_for(mark.exists, 60, "a step")
        (job,) = [pid for pid in watching.processes_of(launched.pid) if pathlib.Path(f"/proc/{pid}/cmdline").read_text().startswith(sys.executable)]
        done = profile(job, "--json", cwd=tmp_path)
        assert done.returncode == 0 and len(json.loads(done.stdout)["steps"]) == 3, done.stderr
    finally:
        launched.terminate()
        launched.wait(20)


def test_kineto_gives_a_trace_of_the_steps_asked(tmp_path):
    # Kineto's names have 52 bytes, and a socket's path 107.
    sockets = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    job = start(tmp_path, env={"KINETO_USE_DAEMON": "1", "KINETO_IPC_SOCKET_DIR": str(sockets), "PMTOP": "0"})
    try:
        begin = time.monotonic()
        done = profile(job.pid, "--steps=2", "--json", f"--output={tmp_path / 'traces'}")
        assert done.returncode == 0, done.stderr
        trace = json.loads(done.stdout)
        # Kineto stops in a thread of its own, and the job goes on meanwhile.
        assert 2 <= counts(trace, "Optimizer.step#SGD") < 40 and trace["file"].startswith(str(tmp_path / "traces"))
        assert time.monotonic() - begin < 14, "the job polls every 5 s"
        assert job.poll() is None
        assert not (sockets / "dynolog").exists() and not glob.glob("/tmp/pmtop-profile-*/*")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dynolog:
            dynolog.bind(str(sockets / "dynolog"))
            refused = profile(job.pid)
        assert refused.returncode == 1 and "another daemon (dynolog" in refused.stderr and "dyno gputrace --pids=" in refused.stderr
    finally:
        ends(job)
        shutil.rmtree(sockets)


def test_what_cannot_be_profiled_is_refused_with_the_reason(tmp_path):
    job = subprocess.Popen(["sleep", "60"])
    try:
        plain = profile(job.pid)
        assert plain.returncode == 1 and plain.stderr == (
            f"pmtop: KINETO_USE_DAEMON is not set for pid {job.pid}: start it by KINETO_USE_DAEMON=1 "
            "COMMAND (PyTorch 2.7 or newer), or by pmtop --profile -- COMMAND, or call pmtop.torch.instrument(profile_on_request=True)\n")
        many = profile(job.pid, "--steps=101")
        assert many.returncode == 2 and "--steps takes at most 100" in many.stderr
        none = profile(job.pid, "--steps=0")
        assert none.returncode == 2 and "--steps takes a whole number above 0" in none.stderr
        file = profile(job.pid, "--output=/dev/null")
        assert file.returncode == 2 and "--output takes a folder, not /dev/null" in file.stderr
        assert profile("a-run").returncode == 2
    finally:
        ends(job)
    gone = profile(job.pid)
    assert gone.returncode == 3 and f"no process {job.pid}" in gone.stderr


def test_a_request_that_waits_can_be_interrupted():
    sockets = tempfile.mkdtemp(dir="/tmp")
    job = subprocess.Popen(["sleep", "60"], env={**os.environ, "KINETO_USE_DAEMON": "1", "KINETO_IPC_SOCKET_DIR": str(sockets)})
    try:
        asks = subprocess.Popen([watching.PMTOP, "profile", str(job.pid)], stderr=subprocess.PIPE, text=True)
        assert asks.stderr.readline() == f"pmtop: process {job.pid}: waiting for the job's poll (every 5 s)\n"
        asks.send_signal(signal.SIGINT)
        assert asks.communicate(timeout=20)[1] == "pmtop: interrupted: the request was withdrawn\n" and asks.returncode == 1
        assert os.listdir(sockets) == []
    finally:
        ends(job)
        os.rmdir(sockets)


# -- in this process


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Asks this process, as pmtop does: asked(line) returns the connection; the answer comes while train() runs."""
    monkeypatch.chdir(tmp_path)
    pmtop.close()
    pmtop.init("job")
    connections = []

    def ask(line):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(pmtop.torch._current._loop.requests.path)
        connection.sendall(line.encode())
        connections.append(connection)
        return connection

    yield ask
    for connection in connections:
        connection.close()
    if pmtop.torch._current is not None:
        pmtop.torch._current.close()
    pmtop.close()


def train(steps=12, before=None):
    model, optimizer = torch_loop.make()
    losses = []
    torch.manual_seed(5)
    for index, (x, y) in enumerate(torch.utils.data.DataLoader(torch_loop.data(steps * 4), batch_size=4, shuffle=True)):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if before is not None:
            before(index)
    return losses, [parameter.tolist() for parameter in model.parameters()]


def answer(connection):
    connection.settimeout(5)
    text = b""
    while True:
        try:
            more = connection.recv(4096)
        except ConnectionResetError:
            more = b""
        if not more:
            return text.decode().splitlines()
        text += more


def test_profiled_steps_are_a_kind_and_results_are_the_same(asked, tmp_path):
    plain = train()
    with pmtop.torch.instrument(profile_on_request=True):
        connection = asked(f"profile 1 3 {tmp_path}\n")
        assert train() == plain
        kinds = [batch.kind for batch in Region(os.getpid()).batches()]
    lines = answer(connection)
    assert lines[:-1] == ["step 0 3", "step 1 3", "step 2 3"] and lines[-1].startswith(f"trace {tmp_path}/")
    assert kinds == ["profile"] * 5 + [None] * 7
    assert os.path.isfile(lines[-1][len("trace "):])


@pytest.mark.parametrize("start, first", [
    ("batch 6 40", 6),
    ("batch 0 7", 7),  # is over: the next of every 7th
    ("batch 0 0", 2),
    ("time 1000 0", 2),
])
def test_a_trace_begins_with_the_batch_asked_for(asked, tmp_path, start, first):
    with pmtop.torch.instrument(profile_on_request=True):
        connection = asked(f"profile 2 2 {start} {tmp_path}\n")
        train()
        kinds = [batch.kind for batch in Region(os.getpid()).batches()]
    assert answer(connection)[-1].startswith("trace ")
    # The profiler starts before its warm-up, the batch before the trace.
    assert [index for index, kind in enumerate(kinds) if kind == "profile"] == list(range(first - 2, first + 2))


def test_a_trace_waits_for_its_time(asked, tmp_path):
    with pmtop.torch.instrument(profile_on_request=True):
        connection = asked(f"profile 2 1 time {int(time.time() * 1000) + 10**6} 0 {tmp_path}\n")
        train(before=lambda index: index == 8 and connection.close())
        assert not any(batch.kind for batch in Region(os.getpid()).batches())
        assert pmtop.torch._current._loop.requests._client is None or train()


def test_a_request_that_is_withdrawn_leaves_no_trace(asked, tmp_path):
    with pmtop.torch.instrument(profile_on_request=True):
        connection = asked(f"profile 1 8 {tmp_path}\n")
        train(before=lambda index: index == 3 and connection.close())
        kinds = [batch.kind for batch in Region(os.getpid()).batches()]
        assert kinds[3] == "profile" and kinds[-1] is None
        pmtop.torch._current._loop.requests._next = 0
        again = asked(f"profile 1 1 {tmp_path}\n")
        train()
        assert answer(again)[-1].startswith("trace ")
    assert len(glob.glob(f"{tmp_path}/*.json")) == 1


@pytest.mark.parametrize("line, said", [
    ("profile 1 0 /tmp\n", "error a trace has 1 to 100 steps"),
    ("profile 1 101 /tmp\n", "error a trace has 1 to 100 steps"),
    ("profile 1 -1 /tmp\n", "error a trace has 1 to 100 steps"),
    ("profile 1 3 here\n", "error the folder of a trace is an absolute path"),
    ("profile 2 3 /tmp\n", "error the package does not know this request: use the pmtop and the package of one release"),
    ("profile 2 3 batch 9 x /tmp\n", "error the package does not know this request: use the pmtop and the package of one release"),
    ("\n", "error the package does not know this request: use the pmtop and the package of one release"),
    ("profile 1 1 /dev/null/x\n", "error no further trace is written: NotADirectoryError"),
    ("x" * 5000, None),
])
def test_a_request_that_is_wrong_is_answered_and_training_goes_on(asked, line, said):
    with pmtop.torch.instrument(profile_on_request=True):
        connection = asked(line)
        assert len(train()[0]) == 12
    lines = answer(connection)
    assert lines[-1].startswith(said) if said else lines == []


def test_a_schedule_of_the_program_comes_first(asked, tmp_path):
    with pmtop.torch.instrument(profile=True, profile_on_request=True):
        connection = asked(f"profile 1 1 {tmp_path}\n")
        train(steps=3)
    assert answer(connection) == ["error this program profiles itself by a schedule: instrument(profile=...)"]


def test_a_profiler_of_the_program_comes_first(asked, tmp_path):
    with pmtop.torch.instrument(profile_on_request=True):
        connection = asked(f"profile 1 1 {tmp_path}\n")
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            train()
    assert answer(connection) == ["error no trace is written: the program's own torch.profiler is running"]


def test_a_folder_of_others_is_not_used(asked, capsys, monkeypatch, tmp_path):
    from pmtop._torch import on_request

    monkeypatch.setattr(on_request, "_is_private", lambda folder: False)
    with pmtop.torch.instrument(profile_on_request=True):
        assert len(train()[0]) == 12
    assert "pmtop: profile: no requests for traces are taken: PermissionError: /tmp/pmtop-" in capsys.readouterr().err


def test_without_the_argument_nothing_is_opened_unless_pmtop_started_the_program(asked, monkeypatch):
    with pmtop.torch.instrument() as plain:
        assert plain._loop.requests is None and not plain._loop.watches_end
    monkeypatch.setenv("PMTOP_LAUNCH", "")
    with pmtop.torch.instrument() as launched:
        assert launched._loop.requests is not None
        pid = os.fork()
        if pid == 0:
            os._exit(launched._loop.requests is not None)
        assert os.waitpid(pid, 0)[1] == 0
        assert os.path.exists(launched._loop.requests.path)
