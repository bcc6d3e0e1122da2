#!/usr/bin/env python3
"""What looking at Python stacks from outside costs: pmtop's CPU time beside py-spy's at the same pace, and what the watched program gets done meanwhile.

Also what pmtop takes in all beside a PyTorch run of which it infers the steps.

Prints rows for tests/bench/run (see there). A round watches the same program alone, by pmtop and by py-spy in turn; ratios are formed within it.
The program runs in build/python-venv where that is, else in this Python; py-spy is taken from there, or from PATH.
PMTOP_BENCH_SMOKE=1 only shows that it works.
"""
import os
import pty
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.path.abspath(os.environ.get('PMTOP_BUILD', 'build'))
VENV = os.path.join(BUILD, 'python-venv', 'bin')
PYTHON = os.path.join(VENV, 'python') if os.path.exists(os.path.join(VENV, 'python')) else sys.executable
PY_SPY = shutil.which('py-spy', path=VENV + os.pathsep + os.environ['PATH'])
SMOKE = os.environ.get('PMTOP_BENCH_SMOKE') == '1'
ROUNDS, WINDOW_S, BEGIN_S, HZ = (1, 0.3, 0.5, 100) if SMOKE else (11, 2.0, 1.0, 100)

# As deep as a training step is; it prints how many it has done.
PROGRAM = '''
import mmap, struct, sys
file = open(sys.argv[1], "r+b")
shared = mmap.mmap(file.fileno(), 8)
def leaf(n): return sum(i * i for i in range(n))
def layer(depth, n): return layer(depth - 1, n) if depth else leaf(n)
def step(): return [layer(20, 400) for _ in range(4)]
done = 0
while True:
    step()
    done += 1
    struct.pack_into("q", shared, 0, done)
'''


# Not instrumented; its steps are inferred from the DataLoader. A step takes some 30 ms.
TRAINING = '''
import time
import torch
from torch.utils.data import DataLoader, Dataset
torch.set_num_threads(1)
class Digits(Dataset):
    def __len__(self): return 100000
    def __getitem__(self, i): return torch.full((32,), i / 100000.0), i % 4
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(100):
    for inputs, targets in DataLoader(Digits(), batch_size=16, num_workers=2):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        time.sleep(0.025)
'''
SETTLE_S, WATCH_S = (2.0, 2.0) if SMOKE else (12.0, 40.0)


def say(*fields):
    print(*fields, sep='\t', flush=True)


def row(claim, values, limit, unit, anchor):
    values = sorted(values)
    spread = values[len(values) // 10], values[-1 - len(values) // 10]
    say('row', claim, *(f'{value:.4g}' for value in (statistics.median(values), *spread)), limit or '-', unit, anchor)


def cpu_s(pid):
    """Of all its threads, to the nanosecond."""
    total = 0
    for tid in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{tid}/schedstat') as file:
            total += int(file.read().split()[0])
    return total * 1e-9


class Program:
    def __init__(self, folder):
        path = os.path.join(folder, 'steps')
        with open(path, 'wb') as file:
            file.write(bytes(8))
        self.process = subprocess.Popen([PYTHON, '-c', PROGRAM, path])
        self.file = open(path, 'rb', buffering=0)

    def steps(self):
        self.file.seek(0)
        return int.from_bytes(self.file.read(8), 'little')


def watch(program, command):
    """Seconds of CPU a second of the watcher, and steps a second of the watched."""
    watcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if command else None
    time.sleep(BEGIN_S)
    begin, before, used = time.perf_counter(), program.steps(), cpu_s(watcher.pid) if watcher else 0
    time.sleep(WINDOW_S)
    seconds = time.perf_counter() - begin
    rate, used = (program.steps() - before) / seconds, (cpu_s(watcher.pid) - used) / seconds if watcher else 0
    if watcher:
        watcher.terminate()
        watcher.wait()
    return used, rate


def tree_of(pid):
    """The process and all that descend from it."""
    found = [pid]
    for parent in found:
        try:
            for tid in os.listdir(f'/proc/{parent}/task'):
                with open(f'/proc/{parent}/task/{tid}/children') as file:
                    found += map(int, file.read().split())
        except OSError:
            pass
    return found


def start_on_terminal(command):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, dict(os.environ, TERM='xterm-256color', LINES='50', COLUMNS='160'))

    def drain():
        try:
            while os.read(terminal, 65536):
                pass
        except OSError:
            pass
    threading.Thread(target=drain, daemon=True).start()
    return pid, terminal


def watch_training(program, view):
    """% of a core that pmtop and its children take at 2 Hz once they have settled. `view`: its key; None: -b instead of the screen."""
    command, terminal = [os.path.join(BUILD, 'pmtop'), '-d', '0.5', '-p', str(program.pid)], None
    if view is None:
        pid = subprocess.Popen([*command, '-b'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid
    else:
        pid, terminal = start_on_terminal(command)
    time.sleep(SETTLE_S / 2)
    if view:
        os.write(terminal, view)
    time.sleep(SETTLE_S / 2)
    begin, before = time.perf_counter(), sum(map(cpu_s, tree_of(pid)))
    time.sleep(WATCH_S)
    used = (sum(map(cpu_s, tree_of(pid))) - before) / (time.perf_counter() - begin)
    os.kill(pid, signal.SIGTERM)
    if terminal is not None:
        os.close(terminal)
    os.waitpid(pid, 0)
    return used * 100


def measure_training():
    claim = 'a PyTorch run with two workers, not instrumented, at 2 Hz: CPU of pmtop'
    if subprocess.run([PYTHON, '-c', 'import torch'], stderr=subprocess.DEVNULL).returncode:
        say('absent', claim, 'no torch here')
        return
    program = subprocess.Popen([PYTHON, '-c', TRAINING])
    try:
        time.sleep(SETTLE_S / 2)
        for name, view, limit in (('on the screen', b'', 0.4), ('-b', None, 0.4), ('in view 7', b'7', 1.0)):
            row(f'{claim}, {name}', [watch_training(program, view)], limit, '%', 'of a core, with its children')
    finally:
        program.kill()
        program.wait()


def main():
    measure_training()
    with tempfile.TemporaryDirectory() as folder:
        config, none = os.path.join(folder, 'on.yaml'), os.path.join(folder, 'off.yaml')
        for path, hz in ((config, HZ), (none, 0)):
            with open(path, 'w') as file:
                file.write(f'stacks:\n  looks_per_second: {hz}\n')
        program = Program(folder)
        pid = str(program.process.pid)
        pmtop = lambda path: [os.path.join(BUILD, 'pmtop'), '--config', path, 'record', '-p', pid, '-o', os.path.join(folder, f'{time.monotonic_ns()}.pmtop')]
        spy = [PY_SPY, 'record', '--nonblocking', '-r', str(HZ), '-d', '600', '-f', 'raw', '-o', os.path.join(folder, 'spy'), '-p', pid] if PY_SPY else None
        looks, whole, slower, spies, spy_slower = [], [], [], [], []
        try:
            time.sleep(0.5)
            for _ in range(ROUNDS):
                _, alone = watch(program, None)
                without, _ = watch(program, pmtop(none))
                used, rate = watch(program, pmtop(config))
                looks.append((used - without) * 1e3)
                whole.append(used * 1e3)
                slower.append(alone / rate)
                if spy:
                    used, rate = watch(program, spy)
                    spies.append(used * 1e3)
                    spy_slower.append(alone / rate)
        finally:
            program.process.kill()
            program.process.wait()
    pmtop_ms = f'record with looks {statistics.median(whole):.3g} ms/s'
    row(f'looking at a Python stack {HZ} times a second: CPU', looks, None, 'ms/s', pmtop_ms)
    if spy:
        row('  the same beside py-spy record --nonblocking', [a / b for a, b in zip(looks, spies)], 1.0, '×', f'py-spy {statistics.median(spies):.3g} ms/s')
    else:
        say('absent', '  the same beside py-spy record --nonblocking', 'no py-spy here (pip install py-spy)')
    row('  a step of the watched program, of one alone', slower, 1.02, '×', f'py-spy {statistics.median(spy_slower):.3g} ×' if spy else '')


if __name__ == '__main__':
    main()
