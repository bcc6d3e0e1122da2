#!/usr/bin/env python3
"""pmtop beside what a person would use instead: top, htop, btop, nvtop, nvitop and py-spy top, on the same run, at two refreshes a second.

Prints cells of tables and rows for tests/bench/run (see there). Each monitor runs alone on a terminal of 120x40, in turn, the order rotated from round to
round; its children count. Where there is no NVIDIA driver, tests/fake_nvml stands in for it: its calls cost next to nothing, a real driver's do not.
PMTOP_BENCH_SMOKE=1 only shows that it works.
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from monitors import BUILD, ENVIRONMENT, PMTOP, SMOKE, TRAINER, Screen, absent, cell, end, row, tree_pss_bytes  # noqa: E402

ROUNDS, SETTLE_S, WINDOW_S = (1, 0.1, 0.5) if SMOKE else (5, 4.0, 4.0)
COLUMNS, ROWS = 120, 40
HERE = os.path.dirname(os.path.abspath(__file__))
FAKE_NVML = os.path.join(BUILD, 'tests/fake_nvml')
VENV = os.path.join(BUILD, 'peers-venv/bin')
HAS_DRIVER = os.path.exists('/proc/driver/nvidia/version')
GPU = 'the NVIDIA GPU' if HAS_DRIVER else 'two H100 of a stand-in for the driver'

PYTHON_TRAINER = '''
import time
def forward(weights, batch): return [sum(w * x for w, x in zip(weights, sample)) for sample in batch]
def backward(batch, outputs): return [sum(sample[i] * (y - 1) for sample, y in zip(batch, outputs)) for i in range(len(batch[0]))]
def optimizer_step(weights, gradients): return [w - 1e-4 * g for w, g in zip(weights, gradients)]
def load(index): return [[(index * 31 + i * j) % 17 / 17 for i in range(32)] for j in range(32)]
def train():
    weights = [0.0] * 32
    for epoch in range(1000000):
        for step in range(500):
            batch = load(step)
            outputs = forward(weights, batch)
            weights = optimizer_step(weights, backward(batch, outputs))
            time.sleep(0.015)
train()
'''
C_TRAINER = (TRAINER, '--epochs', '100000', '--batches', '500', '--step-ms', '20', '--slow-every', '40', '--slow-ms', '30')

# Name, command, texts of its first full screen, how it is set to two refreshes a second (or nearest), how to install it.
PEERS = {
    'pmtop': ((PMTOP, '-d', '0.5', '-p', 'PID'), ('MONITORED',), '-d 0.5', 'make'),
    'top -p': (('top', '-d', '0.5', '-p', 'PID'), ('PID', 'MONITORED'), '-d 0.5', 'apt install procps'),
    'htop -p': (('htop', '-d', '5', '-p', 'PID'), ('CPU%', 'MONITORED'), '-d 5', 'apt install htop'),
    'btop': (('btop', '--utf-force'), ('MONITORED',), 'update_ms 500', 'apt install btop'),
    'nvtop': (('nvtop', '-d', '5'), ('H100',), '-d 5', 'apt install nvtop (Debian: section contrib)'),
    'nvitop': (('nvitop', '--interval', '0.5'), ('H100',), '--interval 0.5', 'make bench, with a network'),
    'py-spy top': (('py-spy', 'top', '--delay', '0.5', '--pid', 'PID'), ('Collecting', '%Own'), '--delay 0.5, 100 samples a second',
                   'make bench, with a network'),
}
if HAS_DRIVER:
    for name in ('nvtop', 'nvitop'):
        PEERS[name] = (PEERS[name][0], ('MiB',), *PEERS[name][2:])
# Short name, what it is, command, text that its monitors show, with a GPU, monitors.
RUNS = [
    ('C trainer', 'it publishes, no GPU', C_TRAINER, 'trainer', False, ('pmtop', 'top -p', 'htop -p', 'btop')),
    ('Python trainer', f'it publishes nothing; {GPU}',
        (sys.executable, '-c', PYTHON_TRAINER), 'python', True, ('pmtop', 'htop -p', 'btop', 'nvtop', 'nvitop', 'py-spy top')),
]
if SMOKE:
    RUNS = [(*RUNS[0][:-1], ('pmtop', 'top -p'))]
# The floor, not a peer: it shows one line of a process. bench_monitor.py has the goal for it.
FLOOR = 'top -p'
FIGURES = (('CPU', '% of a core'), ('memory (PSS)', 'MB'), ('to the terminal', 'B/s'), ('first picture', 'ms'))


def environment(folder, with_gpu):
    settings = os.path.join(folder, 'btop', 'btop.conf')
    os.makedirs(os.path.dirname(settings), exist_ok=True)
    with open(settings, 'w') as file:
        file.write('update_ms=500\n')
    found = dict(ENVIRONMENT, XDG_CONFIG_HOME=folder, HOME=folder, PATH=VENV + os.pathsep + os.environ['PATH'])
    if with_gpu and not HAS_DRIVER:
        found |= {'LD_LIBRARY_PATH': FAKE_NVML, 'PMTOP_NVML': os.path.join(FAKE_NVML, 'libnvidia-ml.so.1'),
                  'FAKE_NVML': os.path.join(os.path.dirname(HERE), 'fake_nvml/node.script')}
    return found


def measure(name, target, variables):
    """CPU of a core in percent, MB, bytes a second, ms until the first picture."""
    command, markers, _, _ = PEERS[name]
    command = [str(target[0]) if word == 'PID' else word for word in command]
    markers = [{'PID': str(target[0]), 'MONITORED': target[1]}.get(marker, marker).encode() for marker in markers]
    screen = Screen(*command, columns=COLUMNS, rows=ROWS, environment=variables)
    try:
        first = screen.first_picture_s(markers)
        time.sleep(SETTLE_S)
        cpu, drawn = screen.taken(WINDOW_S)
        return cpu * 100, tree_pss_bytes(screen.pid) / 1e6, drawn, first * 1000
    finally:
        screen.close()


def rounds(names, target, variables):
    """For each name its figures, one tuple a round."""
    found = {name: [] for name in names}
    for number in range(ROUNDS):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            found[name].append(measure(name, target, variables))
    return found


@contextlib.contextmanager
def running(command):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.1 if SMOKE else 1)
        yield process.pid
    finally:
        end(process)


def report(short, what, found):
    for name, values in found.items():
        for (figure, unit), column in zip(FIGURES, zip(*values)):
            cell(f'{short} at 2 refreshes a second, {COLUMNS}x{ROWS}: {what}', name, figure, column, unit, PEERS[name][2])
    cpu = {name: [one[0] for one in values] for name, values in found.items()}
    for name in found:
        if name not in ('pmtop', FLOOR):
            ratios = [ours / theirs for ours, theirs in zip(cpu['pmtop'], cpu[name])]
            row(claim(name, short), ratios, 1.0, '×', what)


def claim(name, short):
    return f'CPU of pmtop ÷ {name} at 2 Hz, {short}'


def main():
    with tempfile.TemporaryDirectory() as folder:
        for short, what, command, text, with_gpu, names in RUNS:
            variables = environment(folder, with_gpu)
            here = [name for name in names if shutil.which(PEERS[name][0][0], path=variables['PATH'])]
            with running(command) as pid:
                report(short, what, rounds(here, (pid, text), variables))
            for name in names:
                if name not in here:
                    absent(claim(name, short), f'{name.split()[0]} is not here: {PEERS[name][3]}')


main()
