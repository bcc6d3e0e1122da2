"""What happens to trainings, with real torch and pmtop.torch.instrument(): they die, fork, exec, run out of room, are watched by many.
What pmtop reports is compared with what the script counted itself."""
import json
import os
import signal
import subprocess

import pytest

import watching
from watching import PYTHON, Monitor, object_of, operation, pmtop, region_files, run, start, wait_for, watch

pytest.importorskip("torch")
pytest.importorskip("pmtop")

TRAINING = '''
import json, os, signal, sys, time
import torch
import pmtop
import pmtop.torch

torch.set_num_threads(1)
DONE = {"begun": 0, "batches": 0, "epochs": 0}

def print_counts():
    print(json.dumps(DONE), flush=True)

def train(epochs=2, batches=10, body=None):
    """body(number): called in each batch with its number in the run."""
    data = torch.utils.data.DataLoader(torch.arange(2.0 * batches).reshape(-1, 1), batch_size=2)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for epoch in range(epochs):
        for x in data:
            DONE["begun"] += 1
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if body:
                body(DONE["batches"])
            DONE["batches"] += 1
        DONE["epochs"] += 1

pmtop.torch.instrument()
'''


def counts(seen):
    """Batches and the batches of each epoch, as pmtop reports them."""
    return seen["batch"]["count"], [epoch["batches"] for epoch in seen["epochs"]]


def left_behind(name):
    """What pmtop reads of a run that is gone."""
    return json.loads(pmtop("-b", "--format=json", "-n", 1, "-s", name).splitlines()[-1])


def lines_of_pmtop(text):
    return [line for line in text.splitlines() if line.startswith("pmtop")]


# -- how a training ends

def test_a_script_that_never_calls_close():
    seen = watch(TRAINING + "train()\nprint_counts()\n")
    assert counts(seen.last) == (seen.truth["batches"], [10, 10]) and seen.last["run"] == "script"
    for phase in ("forward", "backward", "optimizer", "zero_grad"):
        assert operation(seen.last, phase)["count"] == 20, phase
    assert region_files(seen.pid) == [] and lines_of_pmtop(seen.err) == []


def test_an_exception_that_nobody_catches():
    seen = watch(TRAINING + '''
def body(number):
    if number == 13:
        print_counts()
        raise RuntimeError("a bad sample")
train(body=body)
''', code=1)
    # A batch that is left by an exception has ended, too.
    assert counts(seen.last) == (seen.truth["begun"], [10, 4]) and seen.truth["batches"] == 13
    assert "RuntimeError: a bad sample" in seen.err and lines_of_pmtop(seen.err) == []
    assert region_files(seen.pid) == []


def test_an_exception_that_is_caught():
    seen = watch(TRAINING + '''
def body(number):
    if number == 4 and not DONE.get("failed"):
        DONE["failed"] = True
        raise RuntimeError("a bad sample")
try:
    train(epochs=1, body=body)
except RuntimeError:
    pass
train(epochs=2, batches=5, body=body)
print_counts()
''')
    assert seen.truth["batches"] == 14
    assert counts(seen.last) == (seen.truth["begun"], [5, 5, 5])
    assert operation(seen.last, "backward", 0)["count"] == 15


def test_exit_in_the_middle_keeps_the_region():
    script = run(TRAINING + '''
def body(number):
    if number == 12:
        print_counts()
        os._exit(3)
train(body=body)
''', env={"PMTOP_RUN": "gone-by-exit"}, code=3)
    assert len(region_files(script.pid)) == 1
    seen = left_behind("gone-by-exit")
    assert counts(seen) == (script.truth()["batches"], [10, 2])
    assert operation(seen, "backward")["count"] == 13


def test_kill_keeps_the_region():
    script = run(TRAINING + '''
def body(number):
    if number == 7:
        print_counts()
        os.kill(os.getpid(), signal.SIGKILL)
train(body=body)
''', env={"PMTOP_RUN": "gone-by-kill"}, code=-signal.SIGKILL)
    assert counts(left_behind("gone-by-kill")) == (script.truth()["batches"], [7])
    with start("") as other, pytest.raises(AssertionError):
        pmtop("-b", "-n", 1, "-s", f"gone-by-kill.{other.pid}")


def test_sys_exit_in_the_loop():
    seen = watch(TRAINING + '''
def body(number):
    if number == 3:
        print_counts()
        sys.exit(5)
train(body=body)
''', code=5)
    assert counts(seen.last) == (seen.truth["begun"], [4])
    assert region_files(seen.pid) == []


def test_an_interrupt_in_the_loop():
    seen = watch(TRAINING + '''
def body(number):
    if number == 6:
        print_counts()
        signal.raise_signal(signal.SIGINT)
train(body=body)
''', code=-signal.SIGINT)
    assert counts(seen.last) == (seen.truth["begun"], [7])
    assert region_files(seen.pid) == [] and "KeyboardInterrupt" in seen.err


def test_sigterm_keeps_the_region():
    with start(TRAINING + '''
def body(number):
    if number == 8:
        print_counts()
        time.sleep(60)
train(body=body)
''', env={"PMTOP_RUN": "terminated"}) as script:
        script.wait_for_line("{")
        script.process.terminate()
        assert script.finish() == -signal.SIGTERM
        assert counts(left_behind("terminated")) == (8, [8])


# -- where nothing can be written

def in_namespace(mount, text, scratch):
    """A script with another /dev/shm, of its own mount namespace."""
    path = scratch / "script.py"
    path.write_text(text)
    return ["--mount", "--propagation=private", "sh", "-c", f'{mount} /dev/shm && exec "$0" "$@"', PYTHON, str(path)]


def can_mount():
    return subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], capture_output=True).returncode == 0


WATCHED_AT_THE_END = '''
train()
print_counts()
sys.stdin = open("go")
sys.stdin.read()
'''

needs_mount = pytest.mark.skipif(not can_mount(), reason="needs the right to mount")


@needs_mount
@pytest.mark.parametrize("mount", ["mount -t tmpfs -o ro tmpfs", "mount -t tmpfs -o size=64k tmpfs", "mount --bind /proc/sys"])
def test_without_room_in_shm_there_is_a_memfd(mount, tmp_path):
    os.mkfifo(tmp_path / "go")
    with start(in_namespace(mount, TRAINING + WATCHED_AT_THE_END, tmp_path), python="unshare", cwd=tmp_path) as script:
        script.wait_for_line("{")
        seen = object_of(script.pid)
        (tmp_path / "go").write_text("")
        assert script.finish() == 0
        assert counts(seen) == (script.truth()["batches"], [10, 10]) and seen["run"] == "script"
        assert region_files(script.pid) == [] and lines_of_pmtop(script.err()) == []


def test_a_small_limit_on_file_sizes_is_said_once():
    script = run("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n" + TRAINING + '''
train()
print_counts()
''')
    assert script.truth() == {"begun": 20, "batches": 20, "epochs": 2}
    assert lines_of_pmtop(script.err()) == ["pmtop: not publishing: no room in /dev/shm and no memfd (the limit on file sizes, ulimit -f, is too small)"]


NO_MEMFD = '''
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_void_p)]
LOAD, EQUAL, RETURN, MEMFD_CREATE = 0x20, 0x15, 0x06, 319
code = b"".join(struct.pack("HBBI", *line) for line in (
    (LOAD, 0, 0, 0), (EQUAL, 0, 1, MEMFD_CREATE), (RETURN, 0, 0, 0x00050000 | 1), (RETURN, 0, 0, 0x7fff0000)))
buffer = ctypes.create_string_buffer(code)
program = Program(4, ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program)) == 0
'''


@needs_mount
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of memfd_create is that of x86_64")
def test_without_memfd_too_one_line_says_so_and_training_goes_on(tmp_path):
    script = run(in_namespace("mount -t tmpfs -o ro tmpfs", NO_MEMFD + TRAINING + "train()\nprint_counts()\n", tmp_path), python="unshare")
    assert script.truth() == {"begun": 20, "batches": 20, "epochs": 2}
    assert len(lines_of_pmtop(script.err())) == 1, script.err()


def test_switched_off_it_is_silent():
    with start(TRAINING + '''
train()
DONE["regions"] = [name for name in os.listdir("/dev/shm") if f".{os.getpid()}." in name]
print_counts()
''', env={"PMTOP": "0"}) as script:
        assert script.finish() == 0
        assert script.truth() == {"begun": 20, "batches": 20, "epochs": 2, "regions": []}
        assert script.err() == ""


# -- who watches

def test_two_monitors_report_the_same():
    with start(TRAINING + '''
train(epochs=3, batches=60, body=lambda number: time.sleep(0.005))
print_counts()
''', hold=True) as script, Monitor("-p", script.pid) as one, Monitor("-p", script.pid, refresh_s=0.07) as other:
        wait_for(script.is_held, 60)
        for monitor in (one, other):
            wait_for(lambda: monitor.objects() and monitor.objects()[-1].get("batch", {}).get("count") == 180, 20)
        assert script.finish() == 0
        first, second = one.finish()[-1], other.finish()[-1]
        assert counts(first) == counts(second) == (script.truth()["batches"], [60, 60, 60])
    for row in first["operations"]:
        same = operation(second, row["name"], row["depth"])
        assert same["count"] == row["count"] and same["total_s"] == pytest.approx(row["total_s"], abs=1e-6)
    # How many samples a batch has is read with the run's state: whoever came while it began may not know it of its first ones.
    rates = [seen["batch"].pop("samples_per_s") for seen in (first, second)]
    assert first["batch"] == second["batch"] and rates[0] == pytest.approx(rates[1], rel=0.02)


def test_a_monitor_that_comes_and_goes_a_hundred_times(tmp_path):
    """Its steps take as long as beside a monitor that watches another process."""
    with start(TRAINING + '''
import statistics
times = {"watched": [], "beside": []}
work = torch.rand(100, 100)
last = None
def body(number):
    global last
    for _ in range(4):
        work @ work
    now = time.perf_counter()
    for name in times:
        if last is not None and os.path.exists(name):
            times[name].append(now - last)
    last = now
    if number == 100:
        DONE["fds"] = len(os.listdir("/proc/self/fd"))
        print("ready", flush=True)
    if os.path.exists("enough"):
        DONE["batches"] += 1
        raise StopIteration
try:
    train(epochs=10**6, batches=500, body=body)
except StopIteration:
    DONE["fds_after"] = len(os.listdir("/proc/self/fd"))
    DONE.update((name + "_s", statistics.median(seconds)) for name, seconds in times.items())
    print_counts()
''', hold=True, cwd=tmp_path) as script, start("import time; time.sleep(600)") as idle:
        script.wait_for_line("ready")
        reported = []
        for number in range(100):
            for name, pid in (("beside", idle.pid), ("watched", script.pid)):
                if name == "watched" or number % 3 == 0:
                    (tmp_path / name).touch()
                    seen = object_of(pid)
                    (tmp_path / name).unlink()
            reported.append(seen["batch"]["count"])
        (tmp_path / "enough").touch()
        wait_for(script.is_held, 30)
        seen = object_of(script.pid)
        assert script.finish() == 0
        truth = script.truth()
    assert reported == sorted(reported) and reported[0] < reported[-1]
    assert seen["batch"]["count"] == truth["batches"] == truth["begun"]
    assert truth["fds"] == truth["fds_after"]
    assert truth["watched_s"] < 1.5 * truth["beside_s"], truth


# -- other processes

def test_a_forked_child_that_publishes_has_a_region_of_its_own(tmp_path):
    with start(TRAINING + '''
train(epochs=1)
child = os.fork()
if child == 0:
    for x in pmtop.batches([1, 2, 3]):
        with pmtop.span("in the child"):
            pass
    print("child", os.getpid(), flush=True)
    time.sleep(60)
    os._exit(0)
train(epochs=1, batches=4)
print_counts()
''', hold=True) as script:
        child = int(script.wait_for_line("child").split()[1])
        wait_for(script.is_held)
        parent, forked = object_of(script.pid), object_of(child)
        assert len(region_files(script.pid)) == len(region_files(child)) == 1
        assert counts(parent) == (script.truth()["batches"], [10, 4])
        assert operation(parent, "in the child") is None
        assert forked["batch"]["count"] == 3 and operation(forked, "in the child")["count"] == 3
        assert operation(forked, "backward") is None
        assert "script" in forked["run"]


def test_a_forked_child_that_only_trains_is_silent():
    with start(TRAINING + '''
train(epochs=1)
child = os.fork()
if child == 0:
    train(epochs=2)
    os._exit(DONE["batches"])
DONE["child"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
DONE["child_regions"] = [name for name in os.listdir("/dev/shm") if f".{child}." in name]
print_counts()
''', hold=True) as script:
        wait_for(script.is_held)
        seen = object_of(script.pid)
        assert script.finish() == 0
        assert script.truth() == {"begun": 10, "batches": 10, "epochs": 1, "child": 30, "child_regions": []}
        assert counts(seen) == (10, [10])


def test_exec_begins_anew(tmp_path):
    (tmp_path / "second.py").write_text(TRAINING + "train(epochs=1, batches=6)\nprint_counts()\nopen('go').read()\n")
    os.mkfifo(tmp_path / "go")
    with start(TRAINING + '''
train(epochs=1, batches=3)
os.execv(sys.executable, [sys.executable, "second.py"])
''', cwd=tmp_path) as script:
        script.wait_for_line("{")
        seen = object_of(script.pid)
        assert seen["run"] == "second" and counts(seen) == (6, [6])
        (tmp_path / "go").write_text("")
        assert script.finish() == 0


def test_pool_workers_have_no_regions():
    with start(TRAINING + '''
import multiprocessing

def work(number):
    import glob
    model = torch.nn.Linear(1, 1)
    for x in torch.utils.data.DataLoader(torch.ones(4, 1)):
        model(x).sum().backward()
    return len(glob.glob(f"/dev/shm/pmtop.*.{os.getpid()}.*"))

with multiprocessing.get_context("fork").Pool(2) as pool:
    train(epochs=1, batches=4, body=lambda number: DONE.setdefault("regions", []).extend(pool.map(work, range(4))))
    print_counts()
''', hold=True) as script:
        wait_for(script.is_held)
        seen = object_of(script.pid)
        assert script.finish() == 0
        assert script.truth() == {"begun": 4, "batches": 4, "epochs": 1, "regions": [0] * 16}
        assert counts(seen) == (4, [4])
        assert operation(seen, "backward")["count"] == 4


# -- what a run is called

RUN_OF_ITS_OWN = "import pmtop\nfor batch in pmtop.batches([1, 2]):\n    pass\nprint('ready', flush=True)\nopen('go').read()\n"


@pytest.mark.parametrize("how", ["file", "-c", "-m", "package", "stdin", "PMTOP_RUN"])
def test_names(how, tmp_path):
    (tmp_path / "fit_it.py").write_text(RUN_OF_ITS_OWN)
    (tmp_path / "trainings").mkdir()
    (tmp_path / "trainings" / "__main__.py").write_text(RUN_OF_ITS_OWN)
    os.mkfifo(tmp_path / "go")
    arguments, names = {
        "file": (["fit_it.py"], {"fit_it"}), "-c": (["-c", RUN_OF_ITS_OWN], {"python"}), "-m": (["-m", "fit_it"], {"fit_it"}),
        "package": (["-m", "trainings"], {"trainings"}), "stdin": (["-"], {"python"}), "PMTOP_RUN": (["fit_it.py"], {"called so"})}[how]
    environment = watching.environment({"PMTOP_RUN": "called so"} if how == "PMTOP_RUN" else None)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([PYTHON, *arguments], cwd=tmp_path, env=environment, **pipes) as process:
        try:
            if how == "stdin":
                process.stdin.write(RUN_OF_ITS_OWN)
                process.stdin.close()
            assert process.stdout.readline() == "ready\n"
            assert object_of(process.pid)["run"] in names
        finally:
            (tmp_path / "go").write_text("") if process.poll() is None else None
            process.wait(20)


def test_two_runs_in_one_process():
    with start(TRAINING + '''
pmtop.init("first")
train(epochs=1, batches=3)
pmtop.close()
DONE["between"] = [name for name in os.listdir("/dev/shm") if f".{os.getpid()}." in name]
train(epochs=1, batches=2)
DONE["batches"] = 0
pmtop.init("second")
train(epochs=1, batches=4)
print_counts()
''', hold=True) as script:
        wait_for(script.is_held)
        seen = object_of(script.pid)
        assert script.finish() == 0
        assert script.truth()["between"] == []
        assert seen["run"] == "second" and seen["batch"]["count"] == script.truth()["batches"] == 4
        assert operation(seen, "backward")["count"] == 4
