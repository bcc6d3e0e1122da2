"""Each command of pmtop beside files of /proc that never answer, each case in a mount namespace of its own.

    proc_blocked.py          all cases, some at a time: they mostly wait
    proc_blocked.py CASE     this one, in the namespace that it has"""
import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

import never_answers
from pythons import BUILD, PMTOP, try_all

TRAINER = os.path.join(BUILD, 'tests/workloads/trainer')
NAME = f'blocked-{os.getpid():08}'     # the runs of other cases are seen, too
AT_A_TIME = 4
# A thread that was left behind keeps what it worked on.
ENVIRONMENT = dict(os.environ, LC_ALL='C.UTF-8', HOME='/nonexistent', TERM='xterm-256color', ASAN_OPTIONS='detect_leaks=0')
LIMIT = 60
counts = {True: 0, False: 0}


def check(name, is_good, *said):
    counts[bool(is_good)] += 1
    if not is_good:
        print(f'not ok {name}:', *said, flush=True)


def pmtop(*words, limit=LIMIT):
    """(exit status, output, errors); status None: it did not end by itself."""
    with tempfile.TemporaryFile('w+', errors='replace') as out, tempfile.TemporaryFile('w+', errors='replace') as err:
        process = subprocess.Popen([PMTOP, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=ENVIRONMENT)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            status = None
        out.seek(0), err.seek(0)
        return status, out.read(), err.read()


class Run:
    """A training run, files of which are blocked as long as it lasts."""

    def __init__(self, *files, takes_requests=False):
        self.files, self.takes_requests = files, takes_requests

    def __enter__(self):
        self.process = subprocess.Popen([TRAINER, '--name', NAME, '--epochs', '1000', '--workers', '1', '--step-ms', '20'],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        deadline = time.monotonic() + LIMIT
        while NAME not in pmtop('list', '--format=json')[1] and time.monotonic() < deadline:
            time.sleep(0.1)
        self.paths = [file if file[0] == '/' else f'/proc/{self.process.pid}/{file}' for file in self.files]
        self.fds = [never_answers.mount(path, takes_requests=self.takes_requests) for path in self.paths]
        return self

    def __exit__(self, *_):
        # First the file system's end, so that whoever still waits for it is let go.
        for fd in self.fds:
            os.close(fd)
        for path in self.paths:
            never_answers.unmount(path)
        self.process.kill()
        self.process.wait()

    @property
    def pid(self):
        return str(self.process.pid)


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def stream(file, takes_requests):
    with Run(file, takes_requests=takes_requests) as run:
        status, out, err = pmtop('-p', run.pid, '-b', '--format=json', '-d', '0.5', '-n', '6')
        shown = objects(out)
        named = [row['reason'] for row in shown[-1]['self']['missing'] if row['figure'] == run.paths[0]] if shown else []
        check(f'{file}: objects go on', status == 0 and len(shown) == 6, status, len(shown), err)
        check(f'{file}: the file is named with its age', any('has not answered for' in reason for reason in named), named)
        check(f'{file}: batches go on', shown and shown[-1]['batch']['count'] > shown[0]['batch']['count'], [one['batch']['count'] for one in shown])


def commands(takes_requests):
    with Run('maps', 'cmdline', takes_requests=takes_requests) as run:
        status, out, err = pmtop('list')
        check('list answers', status == 0 and run.pid in out, status, out, err)
        status, out, err = pmtop('doctor', '-p', run.pid)
        check('doctor answers', status is not None and 'does not answer' not in err and 'machine' in out, status, out, err)
        status, out, err = pmtop('-s', NAME, '-b', '--format=json', '-n', '2', '-d', '0.2')
        check('-s answers', status == 0 and len(objects(out)) == 2, status, out[:200], err)
        status, out, err = pmtop('stack', run.pid)
        check('stack answers', status is not None, status, out, err)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'run.pmtop')
            status, out, err = pmtop('record', '-p', run.pid, '-o', path, '--for=4', '-d', '0.2')
            check('record ends', status == 0, status, out, err)
            status, out, err = pmtop('report', path)
            check('the recording is whole', status == 0 and NAME in out, status, out, err)


def screen(name, ending, takes_requests):
    """The screen is drawn, and `ending` ends it."""
    with Run('cmdline', 'io', takes_requests=takes_requests) as run:
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(PMTOP, [PMTOP, '-p', run.pid, '-d', '0.2'], dict(ENVIRONMENT, LINES='40', COLUMNS='120'))
        shown, asked, ended, deadline = b'', None, None, time.monotonic() + LIMIT
        while ended is None and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    shown += os.read(terminal, 1 << 16)
                except OSError:
                    pass
            if asked is None and b'has not answered' in shown:
                asked = time.monotonic()
                ending(pid, terminal)
            if os.waitpid(pid, os.WNOHANG)[0]:
                ended = time.monotonic()
        check(f'screen names the file, then {name} ends it', asked and ended and ended - asked < 10, asked, ended, shown[-300:])
        if ended is None:
            os.kill(pid, signal.SIGKILL)
        os.close(terminal)


# In a mount namespace of its own it maps, and keeps open, a region's name that is a file of such a server. That is a process of its own, for a killed
# one that waits for itself would never end.
FALSE_REGION = """
import ctypes, os, sys, time
sys.path.insert(0, sys.argv[1])
import never_answers
os.system('mount -t tmpfs tmpfs /dev/shm')
path = f'/dev/shm/pmtop.0.{os.getpid()}.0123456789abcdef'
open(path, 'w').close()
kept = never_answers.mount(path, takes_requests=True, opens=1)
if os.fork():
    time.sleep(600)
os.close(kept)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_long
if libc.mmap(None, 1 << 20, 1, 1, os.open(path, os.O_RDONLY), 0) != -1:
    print(os.getpid(), flush=True)
time.sleep(600)
"""


def false_region():
    server = subprocess.Popen(['unshare', '--mount', '--propagation', 'private', 'python3', '-c', FALSE_REGION, os.path.dirname(__file__)],
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    pid = server.stdout.readline().decode().strip()
    check('a file that never answers is mapped', pid)
    for words in (('-p', pid, '-b', '--format=json', '-n', '3', '-d', '0.3'), ('list',), ('doctor', '-p', pid)):
        status, out, err = pmtop(*words)
        check(f'a false region that never answers: {words[0]} ends', status == 0, status, out, err)
    server.kill()
    os.kill(int(pid), signal.SIGKILL)
    server.wait()


def cases():
    """A server that took a request cannot be left even by a process that is killed: then pmtop's own process must not be the one that asked."""
    found = {}
    for takes in (False, True):
        of = ', requests taken' if takes else ''
        for blocked in ('cmdline', 'maps', 'io', '/proc/stat'):
            found[blocked + of] = lambda blocked=blocked, takes=takes: stream(blocked, takes)
        found['commands' + of] = lambda takes=takes: commands(takes)
        found['screen, q' + of] = lambda takes=takes: screen('q', lambda pid, terminal: os.write(terminal, b'q'), takes)
        found['screen, SIGTERM' + of] = lambda takes=takes: screen('SIGTERM', lambda pid, terminal: os.kill(pid, signal.SIGTERM), takes)
    found['false region'] = false_region
    return found


def in_a_namespace(case):
    done = subprocess.run(['unshare', '--mount', '--propagation', 'private', sys.executable, os.path.abspath(__file__), case], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


if len(sys.argv) > 1:
    cases()[sys.argv[1]]()
    sys.exit(counts[False] > 0 or not counts[True])
# A process that waits for a page of the false region can make whoever reads about it wait, too.
sys.exit(try_all({case: lambda case=case: in_a_namespace(case) for case in cases()}, AT_A_TIME, alone=['false region']))
