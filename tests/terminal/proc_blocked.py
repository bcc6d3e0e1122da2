"""Each command of pmtop beside files of /proc that never answer, in a mount namespace of its own."""
import json
import os
import pty
import select
import signal
import subprocess
import tempfile
import time

import never_answers

BUILD = os.environ['PMTOP_BUILD']
PMTOP, TRAINER = os.path.join(BUILD, 'pmtop'), os.path.join(BUILD, 'tests/workloads/trainer')
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
        self.process = subprocess.Popen([TRAINER, '--name', 'blocked', '--epochs', '1000', '--workers', '1', '--step-ms', '20'],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        deadline = time.monotonic() + LIMIT
        while '"run"' not in pmtop('list', '--format=json')[1] and time.monotonic() < deadline:
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
        status, out, err = pmtop('-s', 'blocked', '-b', '--format=json', '-n', '2', '-d', '0.2')
        check('-s answers', status == 0 and len(objects(out)) == 2, status, out[:200], err)
        status, out, err = pmtop('stack', run.pid)
        check('stack answers', status is not None, status, out, err)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'run.pmtop')
            status, out, err = pmtop('record', '-p', run.pid, '-o', path, '--for=4', '-d', '0.2')
            check('record ends', status == 0, status, out, err)
            status, out, err = pmtop('report', path)
            check('the recording is whole', status == 0 and 'blocked' in out, status, out, err)


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


# A server that took a request cannot be left even by a process that is killed: then pmtop's own process must not be the one that asked.
for takes in (False, True):
    for blocked in ('cmdline', 'maps', 'io', '/proc/stat'):
        stream(blocked, takes)
    commands(takes)
    screen('q', lambda pid, terminal: os.write(terminal, b'q'), takes)
    screen('SIGTERM', lambda pid, terminal: os.kill(pid, signal.SIGTERM), takes)
false_region()
print(f'{counts[True]} passed, {counts[False]} failed')
raise SystemExit(counts[False] > 0)
