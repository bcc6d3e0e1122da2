"""Where the time of Python code goes: `code{}` of the JSON object beside programs whose shares are known, with every CPython from 3.8 on that is found."""
import json
import os
import subprocess
import sys
import tempfile
import time

from pythons import BUILD, ENVIRONMENT, PMTOP, Running, pythons, try_all

HERE = os.path.dirname(os.path.abspath(__file__))
SHARES = os.path.join(HERE, '../workloads/shares.py')


def watch(seconds, *arguments, config='stacks:\n  looks_per_second: 100\n'):
    """The last object that was reported."""
    with tempfile.NamedTemporaryFile('w', suffix='.yaml') as file:
        file.write(config)
        file.flush()
        reported = subprocess.run([PMTOP, '--config', file.name, *map(str, arguments), '-b', '--format=json', '-d', '0.25', '-n', str(int(seconds * 4))],
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=seconds + 60, stdin=subprocess.DEVNULL)
    assert reported.returncode == 0, reported.stderr
    return json.loads(reported.stdout.splitlines()[-1])


def shares(group, part):
    """By the line's text, or the function where the text is not known."""
    return {row.get('text') or row['function']: row[part] for row in group['lines']}


def spends_as_it_does(version, path):
    with Running(path, SHARES) as program:
        reported = watch(8, '-p', program.pid)
        group, = reported['code']['groups']
        assert group['pid'] == program.pid and not group['is_workers'], group
        assert group['python'] == (version if int(version.split('.')[1]) > 10 else version.rpartition('.')[0]), group['python']
        assert group['looks'] > 30, group['looks']      # the budget bounds the rate
        assert group['partial_looks'] < 0.2 * group['looks'], group
        lines = shares(group, 'share_ratio')
        assert abs(sum(lines.values()) - 1) < 0.02, lines
        off = 4 * (0.2 * 0.8 / group['looks']) ** 0.5 + 0.02
        assert abs(lines['time.sleep(0.008)  # waits'] - 0.2) < off, (lines, group['looks'])
        every = {row.get('text'): row['all_seconds'] / group['seconds'] for row in group['lines']}
        off = 4 * (0.25 / group['looks']) ** 0.5 + 0.02
        assert abs(every['work()'] - 0.6) < off and abs(every['other()'] - 0.2) < off and every['main()'] > 0.95, (every, group['looks'])
        phases = {name: row['share_ratio'] for name, row in group['phases'].items()}
        assert abs(phases['forward'] - 0.6) < off and abs(phases['inference'] - 0.2) < off, (phases, group['looks'])


# Its own file was changed while it ran: what stands there now is not what it runs.
def says_nothing_of_a_changed_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'train.py')
        with open(path, 'w') as file:
            file.write('import time\nprint("ready", flush=True)\nwhile True:\n    time.sleep(0.01)\n')
        with Running(sys.executable, path) as program:
            time.sleep(1.5)
            with open(path, 'a') as file:
                file.write('# changed\n')
            group, = watch(3, '-p', program.pid)['code']['groups']
            row = group['lines'][0]
            assert row['line'] == 4 and row.get('text') is None and row['function'] == '<module>' and row['file'] == path, row


# A function that is called by itself counts once; what one line calls is its own where it is no file.
RECURSES = '''
import time
def down(n):
    if n: return down(n - 1)
    time.sleep(0.002)
print("ready", flush=True)
while True: down(12)
'''


def counts_recursion_once():
    with Running(sys.executable, '-c', RECURSES) as program:
        group, = watch(3, '-p', program.pid)['code']['groups']
        for row in group['functions']:
            assert row['all_seconds'] <= group['seconds'] * 1.001, (row, group['seconds'])
        down, = [row for row in group['functions'] if row['function'] == 'down']
        assert down['all_seconds'] > 0.9 * group['seconds'], (down, group['seconds'])


def distinguishes_workers():
    """The loader workers of a run are one group, its main process another; both by the real PyTorch."""
    program = '''
import time, torch
class Items(torch.utils.data.Dataset):
    def __len__(self): return 100000
    def __getitem__(self, i):
        time.sleep(0.02)
        return i
if __name__ == "__main__":
    print("ready", flush=True)
    for batch in torch.utils.data.DataLoader(Items(), batch_size=4, num_workers=2):
        time.sleep(0.001)
'''
    python = os.path.join(BUILD, 'python-venv/bin/python')
    if not os.path.exists(python) or subprocess.run([python, '-c', 'import torch'], capture_output=True).returncode != 0:
        print('skipped: no PyTorch in', os.path.dirname(python))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'train.py')
        with open(path, 'w') as file:
            file.write(program)
        with Running(python, path) as running:
            groups = watch(8, '-p', running.pid)['code']['groups']
            main, = [group for group in groups if not group['is_workers']]
            workers, = [group for group in groups if group['is_workers']]
            assert main['pid'] == workers['pid'] == running.pid, groups
            assert main['phases']['data']['share_ratio'] > 0.6, main['phases']
            assert shares(workers, 'share_ratio')['time.sleep(0.02)'] > 0.8, workers['lines']
            assert shares(main, 'share_ratio')['for batch in torch.utils.data.DataLoader(Items(), batch_size=4, num_workers=2):'] > 0.6, main['lines']


def replays_as_it_was():
    with Running(sys.executable, SHARES) as program, tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, 'run.pmtop')
        live = watch(3, '-p', program.pid, '-w', recording)
        played = subprocess.run([PMTOP, '-r', recording, '-b', '--format=json'], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
        assert played.returncode == 0, played.stderr
        assert json.loads(played.stdout.splitlines()[-1])['code'] == live['code']
        text = subprocess.run([PMTOP, 'report', recording], env=ENVIRONMENT, capture_output=True, text=True, timeout=60).stdout
        assert 'YOUR LINES' in text and 'time.sleep(0.008)  # waits' in text, text


def may_be_switched_off():
    with Running(sys.executable, SHARES) as program:
        reported = watch(1, '-p', program.pid, config='stacks:\n  looks_per_second: 0\n')
        assert 'code' not in reported, reported['code']
        assert [row for row in reported['self']['missing'] if row['figure'] == 'stacks' and 'looks_per_second' in row['remedy']], reported['self']


def says_who_is_no_python():
    with subprocess.Popen(['sleep', '600']) as other:
        try:
            reported = watch(4, '-p', other.pid)
            row, = [row for row in reported['self']['missing'] if row['figure'] == 'stacks']
            assert 'CPython' in row['reason'], row
        finally:
            other.kill()


def costs_little():
    """In the run's own figures: what it gets done while it is looked at a hundred times a second is what it does otherwise."""
    with Running(sys.executable, SHARES) as program:
        reported = watch(6, '-p', program.pid)
        assert reported['self']['cpu_ratio'] < 0.1, reported['self']


TESTS = {f'{version} spends its time as it does': lambda version=version, path=path: spends_as_it_does(version, path) for version, path in pythons().items()}
TESTS.update({
    'workers': distinguishes_workers,
    'a changed file': says_nothing_of_a_changed_file,
    'recursion': counts_recursion_once,
    'a recording': replays_as_it_was,
    'switched off': may_be_switched_off,
    'no Python': says_who_is_no_python,
    'the cost': costs_little,
})
sys.exit(try_all(TESTS, 2))
