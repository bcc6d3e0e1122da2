"""Starts Python scripts that publish, and watches them with the real pmtop.

    seen = watching.watch(SCRIPT)                # runs to its end, watched from its first moment
    assert seen.last["batch"]["count"] == seen.truth["batches"]
    assert watching.close_to(seen.last["batch"]["mean_s"], seen.truth["mean_s"])

SCRIPT is the text of a script, a pathlib.Path of one, or a list of the interpreter's arguments (["-m", "torch.distributed.run", ...]).
A script that knows what really happened prints that as a JSON object on its last line of standard output: `truth`.

Everything has a deadline; what was started is killed, with what it started itself, and its regions are removed.
PMTOP_BUILD is the folder with pmtop; PMTOP_TEST_PYTHON the interpreter (this one); PMTOP_TEST_INSTALLED=1: it has the package itself.
"""
import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("PMTOP_BUILD") or ROOT / "build").resolve()
PMTOP = str(BUILD / "pmtop")
PYTHON = os.environ.get("PMTOP_TEST_PYTHON") or sys.executable
PACKAGE = None if os.environ.get("PMTOP_TEST_INSTALLED") == "1" else str(ROOT / "src" / "python")


def wait_for(condition, seconds=20, what=None):
    """The first true value of condition(); AssertionError where there is none for so long."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what or 'this'} did not happen in {seconds:g} s"
        time.sleep(0.02)


def close_to(reported, truth, within=0.02, slack_s=200e-6):
    """Whether a time (seconds) is reported as it was, up to the share `within` and what two clock reads in Python may take."""
    return abs(reported - truth) <= within * abs(truth) + slack_s


def region_files(pid):
    """Paths of the regions of this process, sorted."""
    return sorted(glob.glob(f"/dev/shm/pmtop.{os.getuid()}.{pid}.*"))


def environment(env=None, path=()):
    """What a script gets: this environment with the package and `env` (None removes a variable), without what pmtop would read."""
    out = {key: value for key, value in os.environ.items()
           if key not in ("PMTOP", "PMTOP_RUN", "RANK", "LOCAL_RANK", "WORLD_SIZE", "PYTHONPATH")}
    out["PYTHONPATH"] = os.pathsep.join([*map(str, path), *filter(None, [PACKAGE])])
    out["PYTHONUNBUFFERED"] = "1"
    for key, value in (env or {}).items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = str(value)
    return out


def processes_of(pid):
    """The living descendants of a process, itself included, and those of the session that it leads."""
    parents, found = {}, {pid}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                state, parent, _, session = file.read().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if state != "Z":
            parents[int(name)] = int(pid if int(session) == pid else parent)
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return sorted(found & set(parents))
        found |= more


class Script:
    """A running script, a session of its own. As a context manager it is killed at the end, with its children.

    hold: the script stays at its end, its run still open, until release() or finish(), so that a pmtop beside it has seen the whole run."""

    def __init__(self, script, *arguments, env=None, python=None, hold=False, cwd=None):
        self.scratch = tempfile.mkdtemp(prefix="pmtop-test-")
        self.out_path, self.err_path = self.scratch + "/out", self.scratch + "/err"
        if isinstance(script, list):
            script = list(script)
        elif isinstance(script, pathlib.Path):
            script = [str(script)]
        else:
            path = self.scratch + "/script.py"
            pathlib.Path(path).write_text(script, encoding="utf-8")
            script = [path]
        started = environment(env, [HERE / "held"] if hold else [])
        fds = []
        self.gate = None
        if hold:
            (ended, say_ended), (wait_to_go, go) = os.pipe(), os.pipe()
            fds = [say_ended, wait_to_go]
            self.gate = (ended, go)
            started["PMTOP_TEST_HOLD"] = f"{say_ended},{wait_to_go}"
            os.set_blocking(ended, False)
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen([python or PYTHON, *script, *map(str, arguments)], env=started, cwd=cwd or self.scratch,
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=err, pass_fds=fds, start_new_session=True)
        for fd in fds:
            os.close(fd)
        self.pid = self.process.pid
        self.kept = None

    def out(self):
        """What it printed so far; also after close()."""
        return self.kept[0] if self.kept else pathlib.Path(self.out_path).read_text(encoding="utf-8", errors="replace")

    def err(self):
        return self.kept[1] if self.kept else pathlib.Path(self.err_path).read_text(encoding="utf-8", errors="replace")

    def truth(self):
        """The last JSON object that it printed, None where there is none yet."""
        lines = [line for line in self.out().splitlines(keepends=True) if line.startswith("{") and line.endswith("\n")]
        return json.loads(lines[-1]) if lines else None

    def has_ended(self):
        return self.process.poll() is not None

    def wait_for_line(self, text, seconds=30):
        """Until it has printed a line that begins so; the line. AssertionError also where it has ended without."""
        def line():
            found = [line for line in self.out().splitlines(keepends=True) if line.startswith(text) and line.endswith("\n")]
            assert found or not self.has_ended(), f"ended without {text!r}: {self.err()[-2000:]}"
            return found and found[0].rstrip("\n")
        return wait_for(line, seconds, repr(text))

    def is_held(self):
        """Whether it stands at its end (or is gone)."""
        try:
            return bool(os.read(self.gate[0], 1)) or self.has_ended()
        except BlockingIOError:
            return self.has_ended()

    def release(self):
        if self.gate:
            for fd in self.gate:
                os.close(fd)
            self.gate = None

    def finish(self, seconds=60):
        """Lets it end and waits; its exit status (-N: by signal N)."""
        self.release()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the script did not end in {seconds:g} s: {self.err()[-2000:]}") from None

    def kill(self):
        """Kills it and what it started, and removes the regions that they leave."""
        pids = processes_of(self.pid)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        for pid in {self.pid, *pids}:
            for path in region_files(pid):
                os.unlink(path)

    def close(self):
        if not self.kept:
            self.release()
            self.kill()
            self.kept = self.out(), self.err()
            shutil.rmtree(self.scratch, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def start(script, *arguments, **options):
    """A Script that runs; `with start(...) as script`."""
    return Script(script, *arguments, **options)


class Monitor:
    """pmtop -b --format=json beside a process."""

    def __init__(self, *arguments, refresh_s=0.1):
        self.output = tempfile.TemporaryFile("w+")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([PMTOP, "-b", "--format=json", "-d", str(refresh_s), *map(str, arguments)],
                                        stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.errors)

    def objects(self):
        """Those printed so far."""
        # pmtop writes where the file's one offset stands: reading must not move it.
        reported = os.pread(self.output.fileno(), os.fstat(self.output.fileno()).st_size, 0).decode("utf-8", "replace")
        return [json.loads(line) for line in reported.splitlines(keepends=True) if line.startswith("{") and line.endswith("\n")]

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def finish(self, seconds=30):
        """Waits until what it watches has ended; all objects. The last one is as the run left it."""
        self.process.wait(seconds)
        assert self.process.returncode == 0, f"pmtop: exit {self.process.returncode}: {self.said()}"
        return self.objects()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.output.close()
        self.errors.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class Seen:
    """code, out, err, pid and truth of a script that was watched to its end; objects: what pmtop said, last: the final one."""

    def __init__(self, script, code, objects):
        self.pid, self.code, self.objects = script.pid, code, objects
        self.out, self.err, self.truth = script.out(), script.err(), script.truth()
        self.last = objects[-1]


def watch(script, *arguments, env=None, python=None, cwd=None, seconds=60, hold=True, code=0):
    """Runs a script to its end with pmtop beside it: Seen. AssertionError where it does not exit with `code` (None: any) or takes longer.

    Held at its end until pmtop has seen it whole, unless hold is False: a short run may then be missed."""
    with start(script, *arguments, env=env, python=python, cwd=cwd, hold=hold) as running, Monitor("-p", running.pid) as monitor:
        if hold:
            wait_for(running.is_held, seconds, f"the script's end (it said: {running.err()[-500:]})")
            publishes = bool(region_files(running.pid))
            count = len(monitor.objects())
            def has_seen():
                objects = monitor.objects()
                return running.has_ended() or (len(objects) >= count + 2 and (not publishes or "run" in objects[-2]))
            wait_for(has_seen, 20, "that pmtop sees the run")
        ended = running.finish(seconds)
        assert code is None or ended == code, f"exit {ended}: {running.err()[-4000:]}"
        return Seen(running, ended, monitor.finish())


def run(script, *arguments, env=None, python=None, cwd=None, seconds=60, code=0):
    """Runs a script to its end, unwatched: its Script (out(), err(), truth()), already ended and still readable until the test ends."""
    script = start(script, *arguments, env=env, python=python, cwd=cwd)
    FINISHED.append(script)
    ended = script.finish(seconds)
    assert code is None or ended == code, f"exit {ended}: {script.err()[-4000:]}"
    return script


FINISHED = []


def clean_up():
    """Ends what run() left; conftest.py calls it after each test."""
    while FINISHED:
        FINISHED.pop().close()


def pmtop(*arguments, seconds=20):
    """Runs pmtop with these arguments; its standard output. AssertionError where it fails."""
    done = subprocess.run([PMTOP, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds,
                          env=dict(os.environ, LC_ALL="C.UTF-8"))
    assert done.returncode == 0, f"pmtop {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr}"
    return done.stdout


def object_of(pid):
    """One JSON object of a running process."""
    return json.loads(pmtop("-b", "--format=json", "-n", 1, "-p", pid))


def once(pid, view="overview", size="120x40"):
    """One screen as text."""
    return pmtop("--once", "--ascii", f"--view={view}", f"--size={size}", "-p", pid)


def operation(reported, name, depth=None):
    """The row of this name (and depth) in an object's operations, None where there is none."""
    for row in reported.get("operations", []):
        if row["name"] == name and (depth is None or row["depth"] == depth):
            return row
    return None
