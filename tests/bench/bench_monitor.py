#!/usr/bin/env python3
"""What pmtop costs as a monitor, beside top, htop and a bare ncurses program, on a real training run and a terminal of 200x50.

Prints rows for tests/bench/run (see there). Each figure stands beside its anchor from the same run, taken in turn; CPU is the scheduler's own
account over a window, all threads and children. PMTOP_BENCH_SMOKE=1 only shows that it works.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from monitors import BUILD, PMTOP, SMOKE, TRAINER, Screen, absent, end, pss_bytes, row  # noqa: E402

ROUNDS, WINDOW_S, SETTLE_S = (1, 1.0, 1.0) if SMOKE else (5, 6.0, 1.5)
FRAME_TRIALS = 3 if SMOKE else 15
PAIRS = 1 if SMOKE else 7
# Not 1: top reads four files and draws one line. pmtop takes every event of the run, keeps its statistics, judges them and draws plots; half of its time
# is in no single function, and its two threads wake up ten times a second. Measured: 1.6 to 2.0.
TOP_RATIO_MAX = 2.0
HELLO = os.path.join(BUILD, 'tests/bench/hello')


def trainer(*arguments):
    return subprocess.Popen([TRAINER, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def cpu_ratio(*command):
    """CPU seconds per second of a monitor and its children, once it has settled."""
    screen = Screen(*command)
    try:
        time.sleep(SETTLE_S)
        return screen.taken(WINDOW_S)[0]
    except OSError:
        sys.exit(f'bench: {" ".join(command)} ended: {screen.text[-300:]!r}')
    finally:
        screen.close()


def processes():
    return sum(name.isdigit() for name in os.listdir('/proc'))


def ms(values):
    return f'{statistics.median(values) * 1000:.2f} ms/s'


def measure_cpu(pid):
    pmtop, crowded, top, htop = [], [], [], []
    with_htop = shutil.which('htop') is not None
    count = processes()
    watch = (PMTOP, '-d', '0.1', '-p', str(pid))
    for _ in range(ROUNDS):
        pmtop.append(cpu_ratio(*watch))
        top.append(cpu_ratio('top', '-d', '0.1', '-p', str(pid)))
        if with_htop:
            htop.append(cpu_ratio('htop', '-d', '10'))
        crowd = [subprocess.Popen(['sleep', '1000']) for _ in range(500)]
        crowded.append(cpu_ratio(*watch))
        for process in crowd:
            process.kill()
        for process in crowd:
            process.wait()
    each = lambda a, b: [x / y for x, y in zip(a, b)]
    row('CPU of pmtop at 10 Hz ÷ top -d 0.1 -p PID', each(pmtop, top), TOP_RATIO_MAX, '×', f'pmtop {ms(pmtop)}, top {ms(top)}')
    claim = 'CPU of pmtop at 10 Hz ÷ htop at 1 Hz'
    if not with_htop:
        absent(claim, "htop is not here: 'make deps' installs it")
    else:
        limit = 1.0 if count < 100 else None
        note = '' if limit else '; the goal is for under 100'
        row(claim, each(pmtop, htop), limit, '×', f'pmtop {ms(pmtop)}, htop {ms(htop)}, {count} processes{note}')
    row('CPU of pmtop with 500 more processes ÷ without', each(crowded, pmtop), 1.05, '×', f'with {ms(crowded)}, without {ms(pmtop)}')


def measure_memory():
    sleeper = subprocess.Popen(['sleep', '1000'])
    values = []
    for _ in range(ROUNDS):
        screen = Screen(PMTOP, '-d', '0.1', '-p', str(sleeper.pid))
        time.sleep(SETTLE_S)
        values.append(pss_bytes(screen.pid) / 1e6)
        screen.close()
    end(sleeper)
    row('memory of pmtop without history (PSS)', values, 6.0, 'MB', 'watching a process that publishes nothing')


def first_frame(marker, *command):
    """Seconds from the start until the burst of output that holds `marker` is over."""
    screen = Screen(*command)
    try:
        return screen.first_picture_s([marker])
    finally:
        screen.close()


def measure_first_frame(pid):
    hello, pmtop = [], []
    for _ in range(FRAME_TRIALS):
        hello.append(first_frame(b'hello', HELLO))
        # At 0.5 Hz the frame after the first is far away, so the burst is the first frame.
        pmtop.append(first_frame(b'Epoch', PMTOP, '-d', '2', '-p', str(pid)))
    row('first full frame ÷ an ncurses hello', [a / b for a, b in zip(pmtop, hello)], 3.0, '×',
        f'pmtop {statistics.median(pmtop) * 1000:.1f} ms, hello {statistics.median(hello) * 1000:.1f} ms')


def measure_writes(pid):
    claim = 'writes per changed frame'
    screen = Screen(PMTOP, '-d', '0.1', '-p', str(pid))
    time.sleep(SETTLE_S)
    if shutil.which('strace'):
        tracer = subprocess.run(['timeout', str(WINDOW_S + 1), 'strace', '-f', '-y', '-ttt', '-e', 'trace=write,writev', '-p', str(screen.pid)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors='replace')
        times = [float(time_) for time_ in re.findall(r'^(?:\[pid +\d+\] )?(\d+\.\d+) writev?\(\d+</dev/pts/', tracer.stderr, re.M)]
        # Frames are 100 ms apart; writes of one frame are not.
        frames = [1 for at, before in zip(times, [0] + times) if at - before > 0.04]
        if frames:
            row(claim, [len(times) / len(frames)], 1.0, 'writes', f'{len(times)} writes to the terminal in {len(frames)} frames')
        else:
            absent(claim, 'no write to the terminal was seen')
    else:
        absent(claim, "strace is not here: 'make deps' installs it")
    screen.press(b' ')
    time.sleep(1)
    values = []
    for _ in range(3 if SMOKE else 7):
        before = screen.bytes
        time.sleep(1)
        values.append((screen.bytes - before) / 10)
    screen.close()
    row('bytes of an unchanged frame', [statistics.median(values)], 0, 'bytes', f'paused, 10 frames a second for {len(values)} s; most in one second {max(values) * 10:.0f}')


def training_s(watched):
    """Seconds of training, watched or not, of a run with the same work."""
    with tempfile.NamedTemporaryFile() as truth:
        process = trainer('--epochs', '2' if SMOKE else '10', '--batches', '500', '--step-ms', '0', '--workers', '0', '--truth', truth.name)
        screen = Screen(PMTOP, '-d', '0.1', '-p', str(process.pid)) if watched else None
        process.wait()
        if screen:
            screen.close()
        return json.load(open(truth.name))['total_s']


def measure_slow_down():
    ratios, alone = [], []
    for _ in range(PAIRS):
        alone.append(training_s(False))
        ratios.append(training_s(True) / alone[-1])
    row('training watched at 10 Hz ÷ unwatched', ratios, None, '×', f'pairs in turn; unwatched {statistics.median(alone):.2f} s; under 1 % is noise here')


def main():
    process = trainer('--epochs', '100000', '--batches', '500', '--step-ms', '20', '--slow-every', '40', '--slow-ms', '30')
    try:
        time.sleep(0.5)
        measure_cpu(process.pid)
        measure_first_frame(process.pid)
        measure_writes(process.pid)
    finally:
        end(process)
    measure_memory()
    measure_slow_down()


main()
