"""make fleet-bench: what pmtop fleet costs with 1,000 hosts that send two readings a second: CPU and memory of the root, on its screen.

FLEET_FAN_OUT=32: through relays, which run here, too."""
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

BUILD = os.environ.get('PMTOP_BUILD', 'build')
HOSTS, SECONDS = int(os.environ.get('FLEET_HOSTS', '1000')), float(os.environ.get('FLEET_SECONDS', '30'))
FAN_OUT = int(os.environ.get('FLEET_FAN_OUT', '1'))
PMTOP = os.path.abspath(f'{BUILD}/pmtop')
CPU_MAX, MEMORY_MAX = 0.30, 300e6
START_MAX_S = 120
TICK = os.sysconf('SC_CLK_TCK')


def write_program():
    """Stands in for pmtop on the hosts, which find their names in BENCH_HOST."""
    program = tempfile.NamedTemporaryFile('w', prefix='pmtop-bench-', delete=False)
    with program as file:
        file.write(f'#!/bin/sh\ncase $* in *--relay*) exec {PMTOP} "$@" ;; esac\nexec {os.path.abspath(BUILD)}/tests/bench/fleet_stream "$BENCH_HOST" {HOSTS}\n')
    os.chmod(program.name, 0o755)
    return program.name


def command(more):
    return [PMTOP, 'fleet', '--exec=BENCH_HOST={}', f'--program={PROGRAM}', f'--fan-out={FAN_OUT}', *more, f'[0-{HOSTS - 1}]']


def cpu_s(pid):
    fields = open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident(pid):
    return int(open(f'/proc/{pid}/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


def drain(fd, until):
    """Reads what the screen draws until then; returns its bytes."""
    count = 0
    while time.monotonic() < until:
        if select.select([fd], [], [], max(0, until - time.monotonic()))[0]:
            try:
                count += len(os.read(fd, 1 << 16))
            except OSError:
                break
    return count


def on_screen():
    pid, fd = pty.fork()
    if pid == 0:
        os.environ['TERM'] = 'xterm-256color'
        words = command([])
        os.execv(words[0], words)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 60, 200, 0, 0))
    drain(fd, time.monotonic() + 15 + HOSTS / 50)
    before, begun = cpu_s(pid), time.monotonic()
    drawn = drain(fd, begun + SECONDS)
    cpu, memory = (cpu_s(pid) - before) / (time.monotonic() - begun), resident(pid)
    os.write(fd, b'q')
    drain(fd, time.monotonic() + 1)
    os.waitpid(pid, 0)
    return cpu, memory, drawn / SECONDS


def as_json():
    """What it says once all hosts are live, and have been asked for the time a few times."""
    process = subprocess.Popen(command(['--json']), stdout=subprocess.PIPE, text=True)
    begun, found, after = time.monotonic(), {}, 0
    while after < 30 and time.monotonic() - begun < START_MAX_S:
        found = json.loads(process.stdout.readline())
        after += all(host['state'] == 'live' for host in found['hosts'])
    process.terminate()
    process.stdout.read()
    process.wait()
    return found


def main():
    found = as_json()
    print(f'relays                {found["self"]["relays"]}')
    live = sum(host['state'] == 'live' for host in found['hosts'])
    errors = sorted(host['clock_error_s'] for host in found['hosts'] if 'clock_error_s' in host)
    print(f'hosts live            {live} of {HOSTS}')
    print(f'ranks                 {len(found["ranks"])}')
    if errors:
        print(f'clock error           median {errors[len(errors) // 2] * 1e3:.2f} ms, largest {errors[-1] * 1e3:.2f} ms')
    cpu, memory, drawn = on_screen()
    print(f'CPU with --json       {found["self"]["cpu_ratio"] * 100:.1f} % of a core')
    print(f'CPU of the root       {cpu * 100:.1f} % of a core   goal {CPU_MAX * 100:.0f} %   {"reached" if cpu <= CPU_MAX else "MISSED"}')
    print(f'memory of the root    {memory / 1e6:.0f} MB            goal {MEMORY_MAX / 1e6:.0f} MB  {"reached" if memory <= MEMORY_MAX else "MISSED"}')
    print(f'received              {found["self"].get("bytes_per_s", 0) / 1e6:.2f} MB/s; drawn {drawn / 1e3:.1f} kB/s at 200x60')
    sys.exit(not (live == HOSTS and cpu <= CPU_MAX and memory <= MEMORY_MAX))


if __name__ == '__main__':
    PROGRAM = write_program()
    try:
        main()
    finally:
        os.unlink(PROGRAM)
