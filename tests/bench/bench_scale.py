#!/usr/bin/env python3
"""What a refresh costs, and how much memory pmtop takes, as the machine, the run or its history grows: curves with the exponent that fits them.

Prints cells of tables and rows for tests/bench/run (see there). Live: pmtop on a terminal of 120x40 at two refreshes a second beside real processes.
By an injected clock: tests/bench/scale.c. The exponent is that of the power by which the two larger sizes take more than the smallest: 1 is
linear; 0 stands for growth of less than a quarter. Memory must be bounded: at most MEMORY_MAX MB.
PMTOP_BENCH_SMOKE=1 only shows that it works.
"""
import contextlib
import math
import os
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from monitors import BUILD, PMTOP, SMOKE, TRAINER, Screen, cell, row, tree_pss_bytes  # noqa: E402

CROWD, SCALE = (os.path.join(BUILD, 'tests/bench', name) for name in ('crowd', 'scale'))
ROUNDS, SETTLE_S, WINDOW_S, HZ = (1, 0.1, 0.3, 2) if SMOKE else (3, 8.0, 4.0, 2)
# Beyond 1 as far as the curves of a busy machine scatter; what grows with the square has 2.
EXPONENT_MAX, MEMORY_MAX = 1.25, 64
# Beyond what the smallest size takes: less than this is no growth.
GROWTH_RATIO = 1.25
TRAINING = ('--epochs', '100000', '--batches', '500', '--step-ms', '20')


def started(*command):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


@contextlib.contextmanager
def crowd(kind, count):
    process = started(CROWD, kind, str(count))
    try:
        if process.stdout.readline() != 'ready\n':
            sys.exit(f'bench: crowd {kind} {count} did not start')
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def trainer():
    process = subprocess.Popen([TRAINER, *TRAINING], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def beside(count):
    """A trainer, with so many processes beside it."""
    with crowd('children', count), trainer() as pid:
        yield pid


@contextlib.contextmanager
def ranks(count):
    """A launcher of so many ranks with 16 workers each."""
    words = ' '.join((TRAINER, *TRAINING, '--workers', '16'))
    script = ''.join(f'RANK={rank} LOCAL_RANK={rank} {words} & ' for rank in range(count)) + 'wait'
    process = subprocess.Popen(['sh', '-c', script], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
                               env=dict(os.environ, WORLD_SIZE=str(count), PMTOP_RUN_ID='bench'))
    try:
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


# What grows, sizes, how it is made.
LIVE = (
    ('processes on the machine', (100, 1000, 10000), beside),
    ('children of the run', (16, 64, 256), lambda count: crowd('children', count)),
    ('threads of the run', (50, 160, 500), lambda count: crowd('threads', count)),
    ('ranks of 16 workers each', (2, 4, 8), ranks),
)
INJECTED = (
    ('names of spans', 'names', (1000, 10000, 100000)),
    ('batches of the run', 'batches', (10**6, 10**7, 10**8)),
    ('hours of history', 'hours', (2, 24, 168)),
)
SMOKE_SIZES = {'processes on the machine': (10, 20, 40), 'names': (100, 200, 400), 'batches': (1000, 2000, 4000), 'hours': (0.01, 0.02, 0.04)}


def measure_live(make, size):
    with make(size) as pid:
        time.sleep(SETTLE_S / 4)
        screen = Screen(PMTOP, '-d', str(1 / HZ), '-p', str(pid), columns=120, rows=40)
        try:
            time.sleep(SETTLE_S + 0.2)
            cpu, _ = screen.taken(WINDOW_S)
            return cpu / HZ * 1e3, tree_pss_bytes(screen.pid) / 1e6
        finally:
            screen.close()


def measure_injected(kind, sizes):
    """One tuple for each size."""
    process = subprocess.run([SCALE, kind, *map(str, sizes)], check=True, stdout=subprocess.PIPE, text=True)
    return [(float(cpu) * 1e-3, float(memory) / 1e6) for _, cpu, memory in map(str.split, process.stdout.splitlines())]


def exponent(sizes, values):
    """Of the power by which the two largest sizes take more than the smallest; 0 where nothing grew."""
    if values[-1] < GROWTH_RATIO * values[0] or values[-2] <= values[0]:
        return 0.0
    more, most = ((sizes[at] - sizes[0], values[at] - values[0]) for at in (-2, -1))
    return math.log(most[1] / more[1]) / math.log(most[0] / more[0])


def report(what, sizes, figures):
    """`figures`: for each size a list of (CPU ms, MB), one a round."""
    for size, values in zip(sizes, figures):
        for column, unit, part in (('CPU of a refresh', 'ms', 0), ('memory', 'MB', 1)):
            cell(f'scale: {what}', f'{size:g}', column, [value[part] for value in values], unit)
    for column, part in (('CPU', 0), ('memory', 1)):
        rounds = list(zip(*([value[part] for value in values] for values in figures)))
        medians = [statistics.median(value[part] for value in one) for one in figures]
        row(f'{what}: exponent of {column}', [exponent(sizes, one) for one in rounds], EXPONENT_MAX, '',
            f'{", ".join(f"{value:.3g}" for value in medians)} {("ms", "MB")[part]} at {", ".join(f"{size:g}" for size in sizes)}',
            median=exponent(sizes, medians))
    row(f'{what}: memory', [value[1] for value in figures[-1]], MEMORY_MAX, 'MB', f'at {sizes[-1]:g}')


def main():
    for what, sizes, make in LIVE:
        if SMOKE and what not in SMOKE_SIZES:
            continue
        sizes = SMOKE_SIZES[what] if SMOKE else sizes
        rounds = [[measure_live(make, size) for size in sizes] for _ in range(ROUNDS)]
        report(what, sizes, list(zip(*rounds)))
    for what, kind, sizes in INJECTED:
        sizes = SMOKE_SIZES[kind] if SMOKE else sizes
        report(what, sizes, [[value] for value in measure_injected(kind, sizes)])


main()
