"""A monitor on a pseudo-terminal, and what it takes: CPU, memory, bytes to the terminal and the time to its first picture, its children included.

Shared by the benchmarks that watch a run with pmtop and with what else people use."""
import fcntl
import os
import pty
import signal
import statistics
import struct
import sys
import tempfile
import termios
import threading
import time

BUILD = os.path.abspath(os.environ.get('PMTOP_BUILD', 'build'))
SMOKE = os.environ.get('PMTOP_BENCH_SMOKE') == '1'
PMTOP = os.path.join(BUILD, 'pmtop')
TRAINER = os.path.join(BUILD, 'tests/workloads/trainer')
TICK = os.sysconf('SC_CLK_TCK')
PICTURE_MAX_S, BURST_S = 20, 0.03
ENVIRONMENT = dict(os.environ, TERM='xterm-256color', LC_ALL='C.UTF-8', XDG_CONFIG_HOME='/dev/null/none')


def stat_fields(pid):
    """Those of /proc/PID/stat behind the command's name: 1 is the parent, 13 and 14 the CPU time of children that ended."""
    with open(f'/proc/{pid}/stat') as file:
        return file.read().rpartition(')')[2].split()


def children(pid):
    found = []
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/children') as file:
            found += map(int, file.read().split())
    return found


def tree(pid):
    """The process and all its descendants that live."""
    found = [pid]
    for one in found:
        try:
            found += children(one)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def tree_cpu_s(pid):
    """CPU seconds of all threads and all descendants. The clock of a process is exact to the nanosecond, that of children that ended to a tick."""
    total = 0.0
    for one in tree(pid):
        try:
            total += time.clock_gettime((~one << 3) | 2)
            total += sum(map(int, stat_fields(one)[13:15])) / TICK
        except (OSError, ProcessLookupError):
            if one == pid:
                raise
    return total


def pss_bytes(pid):
    with open(f'/proc/{pid}/smaps_rollup') as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith('Pss:'))


def tree_pss_bytes(pid):
    total = 0
    for one in tree(pid):
        try:
            total += pss_bytes(one)
        except (OSError, StopIteration):
            continue
    return total


class Screen:
    """A program on a pseudo-terminal whose output is taken as it comes."""

    def __init__(self, *command, columns=200, rows=50, environment=None):
        self.bytes, self.text, self.read_at = 0, b'', 0.0
        self.command = command
        self.started_at = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
            os.execvpe(command[0], command, environment or ENVIRONMENT)
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()

    def _drain(self):
        while True:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return
            if not data:
                return
            self.read_at = time.monotonic()
            self.bytes += len(data)
            self.text = (self.text + data)[-262144:]

    def press(self, keys):
        os.write(self.fd, keys)

    def cpu_s(self):
        return tree_cpu_s(self.pid)

    def first_picture_s(self, markers):
        """Seconds from the start until the burst of output that holds all markers is over."""
        deadline = self.started_at + PICTURE_MAX_S
        while not all(marker in self.text for marker in markers) or time.monotonic() - self.read_at < BURST_S:
            if time.monotonic() > deadline or not self.reader.is_alive():
                missing = [marker for marker in markers if marker not in self.text]
                sys.exit(f'bench: no {missing} from {" ".join(self.command)} within {PICTURE_MAX_S} s: {self.text[-300:]!r}')
            time.sleep(0.001)
        return self.read_at - self.started_at

    def taken(self, window_s):
        """CPU of a core and bytes a second to the terminal, over a window."""
        began, cpu, count = time.monotonic(), self.cpu_s(), self.bytes
        time.sleep(window_s)
        seconds = time.monotonic() - began
        return (self.cpu_s() - cpu) / seconds, (self.bytes - count) / seconds

    def close(self):
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(self.pid, signal_number)
            except ProcessLookupError:
                pass
            ended = time.monotonic() + 3
            while time.monotonic() < ended:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.reader.join(2)
                    os.close(self.fd)
                    return status
                time.sleep(0.005)
        raise RuntimeError(f'{self.command[0]} does not end')


def row(claim, values, goal, unit, anchor, median=None):
    """One line for tests/bench/run; values are those of the rounds."""
    print('row', claim, statistics.median(values) if median is None else median, min(values), max(values), '-' if goal is None else goal, unit, anchor, sep='\t', flush=True)


def absent(claim, why):
    print('absent', claim, why, sep='\t', flush=True)


def cell(table, line, column, values, unit, note=''):
    """One cell of a table of tests/bench/run."""
    print('cell', table, line, column, statistics.median(values), min(values), max(values), unit, note, sep='\t', flush=True)


def end(process):
    process.terminate()
    process.wait()
