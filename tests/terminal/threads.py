"""Threads beside the main one, the GIL, and where a hang is: JSON beside programs whose threads are known, with every CPython from 3.8 on that is found."""
import json
import os
import subprocess
import sys
import tempfile
import time

from pythons import ENVIRONMENT, PMTOP, Running, pythons, try_all

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOADS = os.path.join(HERE, '../workloads')
HOLDER, SERVER, HANG = (os.path.join(WORKLOADS, name) for name in ('gil_holder.py', 'threads_server.py', 'two_ranks_hang.py'))


def line_of(path, text):
    with open(path) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def watch(pid, seconds, *arguments, is_enough=lambda reported: False):
    """The last object that was reported; before the time is over if is_enough() of one."""
    with tempfile.NamedTemporaryFile('w', suffix='.yaml') as config:
        config.write('stacks:\n  looks_per_second: 50\n')
        config.flush()
        pmtop = subprocess.Popen([PMTOP, '--config', config.name, '-p', str(pid), '-b', '--format=json', '-d', '0.5', *arguments],
                                 env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        end, last = time.monotonic() + seconds, None
        for line in pmtop.stdout:
            last = json.loads(line)
            if time.monotonic() > end or is_enough(last):
                break
        pmtop.terminate()
        pmtop.communicate(timeout=30)
    return last


def replay(recording):
    played = subprocess.run([PMTOP, '-r', recording, '-b', '--format=json'], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert played.returncode == 0, played.stderr
    return json.loads(played.stdout.splitlines()[-1])


def gil_causes(reported):
    return [cause for batch in reported.get('flagged', []) for cause in batch.get('causes', []) if cause['kind'] == 'gil']


def names_the_holder(path):
    """A slow step waits for the GIL: its cause has the thread that holds it, and its line."""
    lines = {line_of(HOLDER, text) for text in ('while time.perf_counter() < until', 'range(20000)')}
    with Running(path, HOLDER) as program, tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, 'run.pmtop')
        reported = watch(program.pid, 60, '-w', recording, is_enough=lambda reported: len(gil_causes(reported)) > 1)
        causes = gil_causes(reported)
        assert causes, [batch.get('causes') for batch in reported.get('flagged', [])]
        # Of frames that changed too often while they were read, the caller is known.
        lines.add(line_of(HOLDER, 'hold(0.3)'))
        for cause in causes:
            assert cause['thread'] == 'worker-1' and cause['file'].endswith('gil_holder.py') and cause['line'] in lines, cause
            assert cause['what'].startswith('waits for the GIL, held by thread worker-1: `'), cause
            evidence = cause['evidence']
            assert evidence['gil_wait_samples'] >= 3 and evidence['usual_gil_wait_samples'] < evidence['gil_wait_samples'], cause
        played = gil_causes(replay(recording))
        assert causes[0] in played, (causes, played)


def distinguishes_busy_threads(path):
    with Running(path, SERVER) as program, tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, 'run.pmtop')
        reported = watch(program.pid, 12, '-w', recording)
        group, = reported['code']['groups']
        threads = {thread['name']: thread for thread in group['threads']}
        assert set(threads) == {'busy-0', 'busy-1', 'idle-0', 'idle-1', 'idle-2'}, threads
        busy = {line_of(SERVER, text) for text in ('time.sleep(0.0005)', 'sum(x * x')}
        for name, thread in threads.items():
            assert thread['looks'] >= 6 and thread['file'] == SERVER, thread
            if name.startswith('busy'):
                assert thread['share_ratio'] + thread['gil_wait_ratio'] > 0.3 and thread['line'] in busy, thread
            else:
                # It wakes up for nothing; one sample may still find it on its way to sleep.
                assert thread['share_ratio'] * thread['looks'] <= 1 and thread['text'] == 'work.get()', thread
        assert [row['text'] for row in group['lines']][0] == 'time.sleep(100000)', group['lines']
        played, = replay(recording)['code']['groups']
        assert played['threads'] == group['threads'] or abs(played['looks'] - group['looks']) < 200, (played, group)
        text = subprocess.run([PMTOP, 'report', recording], env=ENVIRONMENT, capture_output=True, text=True, timeout=60).stdout
        assert 'OTHER THREADS' in text and 'busy-0' in text and 'idle-0' not in text, text


def shows_where_all_ranks_hang(path):
    environment = dict(ENVIRONMENT, LOCAL_RANK='0')
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen([path, HANG, '120'], env=environment, stdout=subprocess.DEVNULL) as program:
        recording = os.path.join(folder, 'run.pmtop')
        try:
            reported = watch(program.pid, 90, '-w', recording, is_enough=lambda reported: len(reported.get('stall', {}).get('lines', [])) == 2)
            lines = reported.get('stall', {}).get('lines', [])
            shown = [(line.get('rank'), line['line'], line['text'].split('  #')[0], line['age_s'] < 5) for line in lines]
            assert shown == [(0, line_of(HANG, 'rank 0 waits here'), 'pipe.recv()', True), (1, line_of(HANG, 'rank 1 hangs here'), 'time.sleep(1000)', True)], reported.get('stall')
            played = replay(recording)['stall']['lines']
            assert [line['text'] for line in played] == [line['text'] for line in lines], played
        finally:
            program.kill()


# More threads than are sampled, that come and go: the list stays bounded.
MANY = '''
import threading, time
def short(): time.sleep(0.3)
def long(): time.sleep(600)
for _ in range(100): threading.Thread(target=long, daemon=True).start()
print("ready", flush=True)
while True:
    threading.Thread(target=short, daemon=True).start()
    time.sleep(0.01)
'''


def is_bounded():
    with Running(sys.executable, '-c', MANY) as program:
        reported = watch(program.pid, 8)
        group, = reported['code']['groups']
        assert 32 <= len(group['threads']) <= 64, len(group['threads'])
        assert reported['self']['cpu_ratio'] < 0.15, reported['self']


TESTS = {}
for version, python in pythons().items():
    TESTS[f'{version}: the holder of the GIL'] = lambda path=python: names_the_holder(path)
    TESTS[f'{version}: busy threads'] = lambda path=python: distinguishes_busy_threads(path)
TESTS['where all ranks hang'] = lambda: shows_where_all_ranks_hang(sys.executable)
TESTS['many threads'] = is_bounded
if len(sys.argv) > 1:
    TESTS = {name: test for name, test in TESTS.items() if sys.argv[1] in name}
sys.exit(try_all(TESTS, 2))
