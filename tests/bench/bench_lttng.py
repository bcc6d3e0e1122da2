#!/usr/bin/env python3
"""pmtop's event beside an lttng-ust tracepoint that is being recorded (into memory, overwriting), in one program, in turn.

Prints one row for tests/bench/run (see there), or why it is absent. Builds its program itself, for lttng-ust is not needed for anything else; starts
a session daemon of its own, in a directory of its own.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CLAIM = 'C event ÷ an lttng-ust tracepoint being recorded'
LIMIT = 0.4
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROUNDS = '5' if os.environ.get('PMTOP_BENCH_SMOKE') == '1' else '101'


def absent(why):
    print('absent', CLAIM, why, sep='\t')
    sys.exit(0)


def build(program):
    compiler = os.environ.get('CC', 'cc').split()
    flags = ['-std=gnu11', '-O2', '-I', ROOT, '-I', HERE, '-o', program, os.path.join(HERE, 'lttng_event.c'), '-llttng-ust', '-ldl', '-lm', '-pthread']
    result = subprocess.run(compiler + flags, capture_output=True, text=True)
    if result.returncode != 0:
        absent('cannot be built: ' + result.stderr.strip().split('\n')[0])


def lttng(environment, *arguments):
    subprocess.run(['lttng', '--no-sessiond', *arguments], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_daemon(environment):
    deadline = time.monotonic() + 10
    while subprocess.run(['lttng', '--no-sessiond', 'list'], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        if time.monotonic() > deadline:
            absent('the session daemon did not start')
        time.sleep(0.05)


def record(program, environment):
    daemon = subprocess.Popen(['lttng-sessiond', '--no-kernel'], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_daemon(environment)
        lttng(environment, 'create', 'pmtop-bench', '--snapshot')
        lttng(environment, 'enable-event', '--userspace', 'pmtop_bench:event')
        lttng(environment, 'start')
        rounds = subprocess.run([program, ROUNDS], env=environment, check=True, capture_output=True, text=True).stdout
        lttng(environment, 'destroy', 'pmtop-bench')
        return [tuple(map(float, line.split())) for line in rounds.splitlines()]
    finally:
        daemon.terminate()
        daemon.wait()


def main():
    if subprocess.run(['pkg-config', '--exists', 'lttng-ust']).returncode != 0:
        absent('no lttng-ust headers (Debian: liblttng-ust-dev)')
    if not shutil.which('lttng') or not shutil.which('lttng-sessiond'):
        absent('no session daemon (Debian: lttng-tools)')
    with tempfile.TemporaryDirectory() as scratch:
        # A daemon of root has its sockets in /var/run, whatever its home is.
        if os.geteuid() == 0 and os.path.exists('/var/run/lttng/lttng-sessiond.pid'):
            absent('a session daemon is running; it is left alone')
        environment = dict(os.environ, LTTNG_HOME=scratch, LTTNG_UST_REGISTER_TIMEOUT='3000')
        program = os.path.join(scratch, 'lttng_event')
        build(program)
        try:
            rounds = record(program, environment)
        except subprocess.CalledProcessError as error:
            absent(f'{error.cmd[0]} failed')
    ratios = sorted(pmtop / tracepoint for pmtop, tracepoint in rounds)
    tracepoint = statistics.median(tracepoint for _, tracepoint in rounds)
    # An unrecorded tracepoint is a load and a branch: under 5 ns it was not recorded, and the ratio would say nothing.
    if tracepoint < 5:
        absent('the tracepoint was not recorded')
    spread = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
    print('row', CLAIM, f'{statistics.median(ratios):.4g}', f'{spread[0]:.4g}', f'{spread[1]:.4g}', LIMIT, '×', f'tracepoint {tracepoint:.1f} ns', sep='\t')


main()
