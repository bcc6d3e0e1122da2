#!/usr/bin/env python3
"""How long `pmtop trace` takes for a trace of 500 MB, beside simdjson's on-demand parser (libsimdjson-dev) reading the same file, and how much
memory it needs. The trace is a real one repeated, with its times and its ids shifted."""
import gzip
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get('PMTOP_BUILD', 'build')
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, os.pardir, 'fixtures/traces/h100-resnet18.pt.trace.json.gz')
IS_SMOKE = bool(os.environ.get('PMTOP_BENCH_SMOKE'))
SIZE, ROUNDS = (8_000_000, 1) if IS_SMOKE else (500_000_000, 5)
NUMBERS = re.compile(rb'("ts": |"correlation": |"External id": |"id": )(\d+)')


def repeat(path):
    """Writes the real trace again and again to `path`; the number of its bytes."""
    with gzip.open(SOURCE) as file:
        text = file.read()
    begin = text.index(b'"traceEvents": [') + len(b'"traceEvents": [')
    end = text.rindex(b']')
    head, body, tail = text[:begin], text[begin:end].rstrip(), text[end:]
    times = [int(value) for value in re.findall(rb'"ts": (\d+)', body)]
    span = max(times) - min(times) + 1000
    ids = max(int(value) for value in re.findall(rb'"(?:correlation|External id)": (\d+)', body)) + 1
    with open(path, 'wb') as file:
        file.write(head)
        for number in range(max(1, SIZE // len(body))):
            shift = {b'"ts": ': span * number}
            file.write(b',' if number else b'')
            file.write(NUMBERS.sub(lambda match: match[1] + str(int(match[2]) + shift.get(match[1], ids * number)).encode(), body))
        file.write(tail)
    return os.path.getsize(path)


def timed(command):
    """Seconds, and the largest resident set in bytes."""
    before = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f'{command[0]} failed')
    return time.monotonic() - before, usage.ru_maxrss * 1024


def build_anchor(folder):
    """A program that reads the trace with simdjson; None where there is no simdjson."""
    compiler, program = shutil.which('c++'), os.path.join(folder, 'anchor')
    done = compiler and subprocess.run([compiler, '-O2', '-march=native', '-o', program, os.path.join(HERE, 'trace_simdjson.cpp'), '-lsimdjson'],
                                       capture_output=True, check=False)
    return program if done and done.returncode == 0 else None


def row(claim, values, limit, unit, anchor):
    values = sorted(values)
    print('row', claim, statistics.median(values), values[0], values[-1], limit, unit, anchor, sep='\t')


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'long.pt.trace.json')
        size = repeat(path)
        anchor = build_anchor(folder)
        ours, theirs, memory = [], [], []
        timed([os.path.join(BUILD, 'pmtop'), 'trace', path])
        for _ in range(ROUNDS):
            elapsed, resident = timed([os.path.join(BUILD, 'pmtop'), 'trace', path])
            ours.append(elapsed)
            memory.append(resident / 1e6)
            if anchor:
                theirs.append(timed([anchor, path])[0])
        megabytes = f'{size / 1e6:.0f} MB'
        row(f'pmtop trace, {megabytes}', ours, '-', 's', f'{size / 1e6 / statistics.median(ours):.0f} MB/s')
        row(f'memory of pmtop trace, {megabytes}', memory, 60, 'MB', 'at most 0.12 of the file')
        if anchor:
            row('time of pmtop trace / simdjson on-demand', [one / other for one, other in zip(ours, theirs)], 0.5, '',
                f'simdjson {statistics.median(theirs):.3g} s')
        else:
            print('absent', 'time of pmtop trace / simdjson on-demand', 'no libsimdjson-dev', sep='\t')


main()
