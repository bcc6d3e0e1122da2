"""`pmtop stack` beside what the interpreter says of itself, with every CPython from 3.8 on that is found (PATH, pyenv)."""
import json
import os
import subprocess
import sys
import tempfile

from pythons import ENVIRONMENT, PMTOP, Running, pmtop, pythons

HERE = os.path.dirname(os.path.abspath(__file__))
STANDING = os.path.join(HERE, '../workloads/standing.py')
passed, failed = [], []


def stacks(pid):
    reported = pmtop('stack', '--json', pid)
    assert reported.returncode == 0, reported.stderr
    return json.loads(reported.stdout)['processes']


def check(name, test):
    try:
        test()
        passed.append(name)
    except Exception as error:
        failed.append(name)
        print(f'FAIL {name}: {type(error).__name__}: {error}')


def is_as_reported(version, path):
    with Running(path, STANDING) as program:
        truth = json.loads(program.first)
        process, = stacks(program.pid)
        assert process['python'] == (version if int(version.split('.')[1]) > 10 else version.rpartition('.')[0]), process['python']
        seen = {thread['tid']: thread for thread in process['threads']}
        assert set(seen) == {int(tid) for tid in truth['threads']} | {truth['main']}, (sorted(seen), sorted(truth['threads']))
        for tid, frames in truth['threads'].items():
            thread = seen[int(tid)]
            assert thread['is_whole'] and thread['state'] == 'S', thread
            reported = [[frame['function'], frame['file'], frame.get('line')] for frame in thread['frames']]
            # Its innermost ones went on from where they said so, into the wait.
            assert reported[-len(frames):] == frames, f'{reported}\nis not\n{frames}'
            assert reported[-len(frames) - 1][0] == 'stand', reported
        assert [frame['function'] for frame in seen[truth['main']]['frames']][-2:] == ['main', '<module>']


# Some forty calls, over in two microseconds, at the same addresses again and again.
TORN = '''
import sys
def a(n): return a(n - 1) if n else 0
def b(n): return b(n - 1) if n else 0
def first():
    a(17)
def second():
    b(23)
print("ready", flush=True)
while True:
    first(); second()
'''


def is_never_mixed(path):
    with Running(path, '-c', TORN) as program:
        for _ in range(60):
            process, = stacks(program.pid)
            names = [frame['function'] for thread in process['threads'] for frame in thread['frames']]
            inner = set(names) & {'a', 'b'}
            assert len(inner) < 2, names
            assert 'a' not in inner or 'first' in names, names
            assert 'b' not in inner or 'second' in names, names
            assert not names or names[-1] == '<module>', names


# As busy as programs are: a call lasts some microseconds and more.
BUSY = '''
def inner(n): return sum(i * i for i in range(n))
def layer(n): return [inner(n) for _ in range(20)]
def step(): return [layer(200) for _ in range(5)]
print("ready", flush=True)
while True:
    step()
'''


def is_mostly_known(path):
    with Running(path, '-c', BUSY) as program:
        known = 0
        for _ in range(40):
            process, = stacks(program.pid)
            thread, = process['threads']
            names = [frame['function'] for frame in thread['frames']]
            assert not names or names[-1] == '<module>' and (len(names) < 3 or 'step' in names), names
            known += 'step' in names
        assert known >= 28, known


def says_the_tree():
    """Workers are seen below their parent, and text is for people."""
    program = 'import multiprocessing, time\nif __name__ == "__main__":\n p = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))\n p.start(); print(p.pid, flush=True); p.join()\n'
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'train.py')
        with open(path, 'w') as file:
            file.write(program)
        with Running(sys.executable, path) as running:
            worker = int(running.first)
            try:
                reported = stacks(running.pid)
                assert [process['pid'] for process in reported] == [running.pid, worker], reported
                text = pmtop('stack', running.pid).stdout
                assert text.startswith(f'train.py ({running.pid}), Python 3.'), text
                assert f'\n\ntrain.py ({worker}), Python 3.' in text, text
                assert f'\n  thread {worker}: sleeping\n    ' in text and '  multiprocessing/process.py:' in text, text
            finally:
                os.kill(worker, 9)


def holds_the_gil():
    with Running(sys.executable, '-c', 'print("ready", flush=True)\nwhile True: pass') as program:
        held = [thread['has_gil'] for _ in range(20) for process in stacks(program.pid) for thread in process['threads']]
        assert sum(held) >= 18, held


NO_CODE = '''
import ctypes
api = ctypes.pythonapi
api.PyInterpreterState_Get.restype = api.PyThreadState_New.restype = ctypes.c_void_p
api.PyThreadState_New.argtypes = [ctypes.c_void_p]
api.PyThreadState_New(api.PyInterpreterState_Get())
print("ready", flush=True)
import time; time.sleep(600)
'''


def knows_threads_without_code():
    """As those of PyTorch's autograd are."""
    with Running(sys.executable, '-c', NO_CODE) as program:
        process, = stacks(program.pid)
        empty = [thread for thread in process['threads'] if not thread['frames']]
        assert len(process['threads']) == 2 and len(empty) == 1 and empty[0]['is_whole'], process
        assert '(no Python code)' in pmtop('stack', program.pid).stdout


def refuses(arguments, code, *words):
    reported = pmtop('stack', *arguments)
    assert reported.returncode == code and not reported.stdout, (reported.returncode, reported.stdout)
    assert reported.stderr.count('\n') == 1 and all(word in reported.stderr for word in words), reported.stderr


def says_what_is_wrong():
    with subprocess.Popen(['sleep', '600']) as other:
        try:
            refuses([other.pid], 1, f'process {other.pid} runs no CPython 3.8 or newer')
        finally:
            other.kill()
    refuses([], 2, 'pmtop stack PID')
    refuses([4194304], 3, 'no process 4194304 (it may have ended): pmtop list shows the runs')
    refuses(['nobody-runs-this'], 3, 'nobody-runs-this')
    refuses(['/etc/hostname'], 2, 'needs a running process, not a recording')
    refuses(['--format=csv', 1], 2, 'text or json')


def says_who_may():
    """As somebody else: whose it is, and what to do."""
    if os.geteuid() != 0:
        return
    with Running(sys.executable, '-c', 'print("ready", flush=True)\nimport time; time.sleep(600)') as program:
        reported = subprocess.run([PMTOP, 'stack', str(program.pid)], env=ENVIRONMENT, capture_output=True, text=True, timeout=60, user=65534, group=65534, cwd='/')
        assert reported.returncode == 4 and 'root' in reported.stderr and reported.stderr.count('\n') == 1, reported


for version, path in pythons().items():
    check(f'{version} is as it says', lambda: is_as_reported(version, path))
    check(f'{version} is never a mixture', lambda: is_never_mixed(path))
    check(f'{version} is mostly known', lambda: is_mostly_known(path))
check('the tree', says_the_tree)
check('the GIL', holds_the_gil)
check('threads without code', knows_threads_without_code)
check('what is wrong', says_what_is_wrong)
check('who may', says_who_may)
print(f'{len(passed)} passed, {len(failed)} failed')
sys.exit(bool(failed))
