#!/usr/bin/env python3
"""Hours of a run in which everything grows that can (tests/workloads/churn.c), watched by pmtop as JSON ten times a second and on a screen.

Prints memory, CPU, open files and the size of an object over time, and exits 0 when the last third is like the middle third: what
pmtop takes must not depend on how long it has watched. Under 10 minutes caches still fill, so only gross growth fails then; under 30 s none does.
A length of 0 leaves its part out.

Then SOAK_HOURS of a synthetic run that leaks, by its own clock, through model, rules and export (tests/bench/why/synthetic.c); and SOAK_KILLED
writers, each killed at another point, of which no torn record may be read (tests/faults/test_region_kill.c).

    SOAK_SECONDS=3600 SOAK_HOURS=8 SOAK_KILLED=100000 PMTOP_BUILD=build tests/soak.py [--rows N]
"""
import fcntl
import glob
import os
import pty
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

BUILD = os.environ.get("PMTOP_BUILD", "build")
SECONDS = float(os.environ.get("SOAK_SECONDS", "3600"))
HOURS = float(os.environ.get("SOAK_HOURS", "8"))
KILLED = int(os.environ.get("SOAK_KILLED", "100000"))
ROWS = 24
PAGE = os.sysconf("SC_PAGESIZE")
TICKS = os.sysconf("SC_CLK_TCK")
LONG_S, WARM_UP_S = 600, 30
# A busy machine changes the CPU's share and when pages are given back; a leak goes on and on.
GROWTH_RATIO, GROWTH_BYTES_PER_MIN = 1.10, 1 << 20
GROSS_RATIO, GROSS_BYTES_PER_MIN = 2.0, 16 << 20
CPU_RATIO, CPU_FLOOR = 1.6, 0.04
FILES_MORE = 4


def taken(pid):
    """Resident bytes, CPU seconds and open files of a process."""
    with open(f"/proc/{pid}/statm") as file:
        resident = int(file.read().split()[1]) * PAGE
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return resident, (int(fields[11]) + int(fields[12])) / TICKS, len(os.listdir(f"/proc/{pid}/fd"))


class Watched:
    """A pmtop whose output is read to its last byte, and what it takes."""

    def __init__(self, name, command, is_screen):
        self.name, self.samples, self.object_bytes, self.pending = name, [], 0, 0
        master, slave = pty.openpty() if is_screen else os.pipe()
        if is_screen:
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        stdin = slave if is_screen else subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=stdin, stdout=slave, stderr=subprocess.DEVNULL, start_new_session=True,
                                        env=os.environ | {"TERM": "xterm-256color"})
        os.close(slave)
        self.master, self.is_screen = master, is_screen
        self.spent, self.at = 0, time.monotonic()
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self):
        while True:
            try:
                data = os.read(self.master, 1 << 16)
            except OSError:
                return
            if not data:
                return
            *lines, rest = data.split(b"\n")
            for line in lines:
                self.object_bytes, self.pending = self.pending + len(line) + 1, 0
            self.pending += len(rest)

    def sample(self, at_s):
        resident, spent, files = taken(self.process.pid)
        now = time.monotonic()
        cpu = (spent - self.spent) / max(now - self.at, 1e-3)
        self.spent, self.at = spent, now
        row = (at_s, resident, cpu, files, 0 if self.is_screen else self.object_bytes)
        self.samples.append(row)
        return row

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def faults(self):
        """What grew from the middle third to the last."""
        third = len(self.samples) // 3
        middle, last = self.samples[third:2 * third], self.samples[2 * third:]
        of = lambda rows, column: statistics.median(row[column] for row in rows)
        is_long = SECONDS >= LONG_S
        minutes = max((of(last, 0) - of(middle, 0)) / 60, 1e-3)
        ratio, per_min = (GROWTH_RATIO, GROWTH_BYTES_PER_MIN) if is_long else (GROSS_RATIO, GROSS_BYTES_PER_MIN)
        before, after = of(middle, 1), of(last, 1)
        if after > before * ratio and (after - before) / minutes > per_min / (10 if SECONDS > 3 * LONG_S else 1):
            yield f"memory grew from {before / 1e6:.1f} to {after / 1e6:.1f} MB"
        before, after = of(middle, 2), of(last, 2)
        if is_long and after > before * CPU_RATIO + CPU_FLOOR:
            yield f"CPU grew from {100 * before:.1f} to {100 * after:.1f} %"
        before, after = of(middle, 3), of(last, 3)
        if after > before + FILES_MORE * (1 if is_long else 4):
            yield f"open files grew from {before:.0f} to {after:.0f}"
        before, after = of(middle, 4), of(last, 4)
        if after > max(before * (ratio + 0.2), before + 4096):
            yield f"an object grew from {before:.0f} to {after:.0f} bytes"


def soak_synthetic():
    """Yields what grew from the middle third to the last. Its clock is its own, so a second of the run costs the same CPU time wherever it is read."""
    rows, lines = 24, int(HOURS * 3600)
    if lines < rows:
        return
    print(f"{HOURS:g} h of a synthetic run by its own clock\n   time h        MB  CPU s   fds   object B", flush=True)
    samples, spent_before = [], 0.0
    number = 0
    with tempfile.NamedTemporaryFile() as truth:
        run = subprocess.Popen([f"{BUILD}/tests/bench/why/synthetic", "leak:1", str(lines), truth.name, "newest"], stdout=subprocess.PIPE)
        for number, line in enumerate(run.stdout, 1):
            # Not at the last object: then it may have ended.
            if number % (lines // (rows + 1)) == 0 and len(samples) < rows:
                resident, spent, files = taken(run.pid)
                samples.append((resident, spent - spent_before, files, len(line)))
                spent_before = spent
                print(f"{number / 3600:9.2f} {resident / 1e6:9.1f} {samples[-1][1]:6.2f} {files:5d} {len(line):10d}", flush=True)
        if run.wait() != 0 or len(samples) < rows:
            yield f"synthetic: ended with {run.returncode} after {number} s of its clock"
            return
    of = lambda part, column: statistics.median(row[column] for row in part)
    middle, last = samples[rows // 3:2 * rows // 3], samples[2 * rows // 3:]
    limits = ((0, "memory (bytes)", GROWTH_RATIO, 1 << 20), (1, "CPU (s)", 1.2, 0.05), (2, "open files", 1, 0), (3, "an object (bytes)", GROWTH_RATIO, 1024))
    for column, what, most, more in limits:
        before, after = of(middle, column), of(last, column)
        if after > before * most + more:
            yield f"synthetic: {what} grew from {before:g} to {after:g}"


def soak_killed():
    if KILLED <= 0:
        return
    done = subprocess.run([f"{BUILD}/tests/faults/test_region_kill"], env=os.environ | {"KILLED_WRITERS": str(KILLED), "CK_FORK": "no", "CK_VERBOSITY": "minimal"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout.strip(), flush=True)
    if done.returncode:
        yield f"killed writers: exit {done.returncode}"


def soak_live(rows):
    """Yields what grew of two pmtops that watch a run which churns."""
    if SECONDS <= 0:
        return
    pmtop = f"{BUILD}/pmtop"
    churn = subprocess.Popen([f"{BUILD}/tests/workloads/churn"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    watched = []
    try:
        time.sleep(1)
        common = [pmtop, "-p", str(churn.pid), "-d", "0.1", "--no-nvml"]
        watched.append(Watched("json", common + ["-b", "--format=json"], False))
        watched.append(Watched("screen", common, True))
        print(f"{SECONDS:.0f} s of a run that forks, flags, names and begins epochs, watched by pmtop twice")
        print("   time s" + "".join(f" | {one.name:>6} MB   CPU %   fds   object B" for one in watched), flush=True)
        begun = time.monotonic()
        for row in range(1, rows + 1):
            time.sleep(max(0.0, begun + SECONDS * row / rows - time.monotonic()))
            at_s = time.monotonic() - begun
            texts = []
            for one in watched:
                _, resident, cpu, files, size = one.sample(at_s)
                texts.append(f" | {resident / 1e6:9.1f} {100 * cpu:7.1f} {files:5d} {size:10d}")
            print(f"{at_s:9.1f}" + "".join(texts), flush=True)
        if SECONDS < WARM_UP_S:
            print(f"under {WARM_UP_S} s pmtop only warms up: growth is not judged")
        else:
            yield from (f"{one.name}: {fault}" for one in watched for fault in one.faults())
        if watched[0].object_bytes == 0:
            yield "json: no object came"
    except (OSError, IndexError) as problem:
        yield f"pmtop ended: {problem}"
    finally:
        for one in watched:
            one.end()
        churn.kill()
        churn.wait()
        for path in glob.glob(f"/dev/shm/pmtop.*.{churn.pid}.*"):
            os.unlink(path)


def main():
    rows = int(sys.argv[sys.argv.index("--rows") + 1]) if "--rows" in sys.argv else ROWS
    home = tempfile.TemporaryDirectory()
    os.environ |= {"HOME": home.name, "XDG_CONFIG_HOME": home.name, "XDG_STATE_HOME": home.name, "LC_ALL": "C.UTF-8"}
    faults = [*soak_live(rows), *soak_synthetic(), *soak_killed()]
    for fault in faults:
        print(f"not flat: {fault}")
    if not faults:
        print("flat, and nothing torn")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
