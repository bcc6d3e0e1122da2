"""Whose source lines pmtop, run by root, shows: the names of the files come from the watched process, so they are hostile."""
import contextlib
import ctypes
import json
import os
import pty
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

from pythons import ENVIRONMENT, PMTOP, try_all

NOBODY = 65534
FOLDER = tempfile.mkdtemp(prefix='pmtop-rights-', dir='/tmp')
PYTHON = next(path for path in (sys.executable, '/usr/bin/python3') if os.path.realpath(path).split('/')[1] not in ('root', 'home'))
SECRET = 'the_secret_of_root = 4711'

# Says that line 2 of the file NAME runs, and it never ends. BEFORE runs first.
PROGRAM = '''
import os, sys, time
exec(sys.argv[2])
code = compile("\\nwhile True: time.sleep(0.005)\\n", sys.argv[1], "exec")
print("ready", flush=True)
exec(code)
'''


def file_of(name, text, mode=0o644, uid=0):
    path = os.path.join(FOLDER, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as file:
        file.write('\n    ' + text + '\n')
    os.chmod(path, mode)
    os.chown(path, uid, uid)
    os.utime(path, (1e9, 1e9))
    return path


@contextlib.contextmanager
def target(name, before='', uid=NOBODY, groups=(), folder='/', prefix=()):
    who = {} if uid is None else {'user': uid, 'group': uid, 'extra_groups': list(groups)}
    process = subprocess.Popen([*prefix, PYTHON, '-c', PROGRAM, name, before], stdout=subprocess.PIPE, text=True, cwd=folder, env=ENVIRONMENT, **who)
    try:
        assert process.stdout.readline() == 'ready\n', 'the program did not start'
        yield process.pid
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


CONFIG = os.path.join(FOLDER, 'pmtop.yaml')
WATCH = [PMTOP, '--config', CONFIG, '-b', '--format=json', '-d', '0.25']


def row_of(output, name):
    """The row of line 2 of that file in the newest object; None: it is not there yet."""
    for group in output.get('code', {}).get('groups', []):
        for row in group['lines']:
            if row['file'] == name and row['line'] == 2:
                return row


def watch(pid, name, *arguments, command=None, until=lambda row: row is not None, **options):
    """Everything that was written until its row was there for five refreshes, and that row."""
    process = subprocess.Popen([*(command or WATCH), '-p', str(pid), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                               env=dict(ENVIRONMENT, ASAN_OPTIONS='detect_leaks=0'), **options)
    lines, row, seen, end = [], None, 0, time.time() + 60
    try:
        while seen < 5 and time.time() < end:
            line = process.stdout.readline()
            assert line, 'pmtop ended by itself'
            lines.append(line)
            row = row_of(json.loads(line), name)
            seen += until(row)
        assert seen, f'no row of {name}: {lines[-1]}'
        process.terminate()
        lines.append(process.communicate(timeout=60)[0])
    finally:
        process.kill()
        process.wait()
    return ''.join(lines), row


def shows_nothing(name, path=None, **options):
    with target(name, **options) as pid:
        recording = tempfile.mktemp(suffix='.pmtop', dir=FOLDER)
        output, row = watch(pid, name, '-w', recording)
        with open(recording, 'rb') as file:
            recorded = file.read()
        assert not row.get('text') and row['function'] == '<module>', row
        assert 'the_secret' not in output, row
        assert b'the_secret' not in recorded
        assert stat.S_IMODE(os.stat(recording).st_mode) & 0o077 == 0, oct(os.stat(recording).st_mode)


def shows(name, text, command=None, who=None, **options):
    with target(name, **options) as pid:
        row = watch(pid, name, until=lambda row: bool(row and row.get('text')), command=command, **who or {})[1]
        assert row['text'] == text, row


def of_root():
    shows_nothing(file_of('root-only.py', SECRET, 0o600))


def of_a_closed_folder():
    path = file_of('closed/train.py', SECRET)
    os.chmod(os.path.dirname(path), 0o700)
    shows_nothing(path)


def of_a_group():
    path = file_of('of-group.py', SECRET, 0o640)
    os.chown(path, 0, 4242)
    shows_nothing(path)
    shows(path, SECRET, groups=[4242])


def after_a_drop():
    shows_nothing(file_of('dropped.py', SECRET, 0o600), uid=None, before=f'os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})')


def of_mixed_ids():
    path = file_of('mixed.py', SECRET, 0o600)
    shows_nothing(path, uid=None, before=f'os.setresuid({NOBODY}, 0, 0)')
    shows_nothing(path, uid=None, before=f'os.setresuid(0, {NOBODY}, 0)')


def in_a_chroot():
    outside = file_of('outside.py', SECRET)
    inside = file_of('jail' + outside, 'inside = 1')
    jail = os.path.join(FOLDER, 'jail')
    for name in ('link.py', 'up.py', 'magic.py'):
        with contextlib.suppress(FileExistsError):
            os.symlink({'link.py': outside, 'up.py': '../' * 20 + outside, 'magic.py': '/proc/self/root' + outside}[name], os.path.join(jail, name))
    drop = f'os.chroot({jail!r}); os.chdir("/"); os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})'
    shows('/link.py', 'inside = 1', uid=None, before=drop)
    shows('up.py', 'inside = 1', uid=None, before=drop)
    os.remove(inside)
    shows_nothing('/link.py', uid=None, before=drop)
    shows_nothing('up.py', uid=None, before=drop)
    shows_nothing('/magic.py', uid=None, before=drop)


def of_what_it_may_read():
    own = file_of('own/train.py', 'own = 1', 0o600, NOBODY)
    os.chmod(os.path.dirname(own), 0o700)
    os.chown(os.path.dirname(own), NOBODY, NOBODY)
    shows(own, 'own = 1')
    shows('train.py', 'own = 1', folder=os.path.dirname(own))
    shows('../own/train.py', 'own = 1', folder=os.path.dirname(own))
    # Root reads everything, so its own program's lines are shown, whoever owns them.
    shows(own, 'own = 1', uid=None)


def without_changing_ids():
    """pmtop as root of a container that may not change its ids: its own user's files only."""
    weak = ['setpriv', '--bounding-set=-setuid,-setgid', '--inh-caps=-all', '--', *WATCH]
    shows(file_of('weak.py', 'weak = 1', 0o600), 'weak = 1', uid=None, command=weak)
    public = file_of('weak-public.py', SECRET, 0o644)
    with target(public) as pid:
        row = watch(pid, public, command=weak)[1]
        assert not row.get('text'), row


def to_an_ordinary_user():
    """pmtop run by the target's own user."""
    binary = shutil.copy(PMTOP, FOLDER)
    who = {'user': NOBODY, 'group': NOBODY, 'extra_groups': [], 'cwd': '/'}
    shows(file_of('public.py', 'public = 1'), 'public = 1', command=[binary, *WATCH[1:]], who=who)


def opens_nothing_else():
    """What is opened for more than its name, of all that lies in this test's folder."""
    device, fifo = os.path.join(FOLDER, 'device.py'), os.path.join(FOLDER, 'fifo.py')
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    os.mkfifo(fifo, 0o666)
    os.chmod(fifo, 0o666)
    os.chmod(device, 0o666)
    readable = file_of('readable.py', 'readable = 1')
    secret = file_of('traced.py', SECRET, 0o600)
    for name in (device, fifo, secret, readable):
        log = os.path.join(FOLDER, 'trace')
        with target(name) as pid:
            watch(pid, name, command=['strace', '-D', '-f', '-y', '-s', '400', '-e', 'trace=open,openat,openat2', '-o', log, *WATCH])
        opened, asked, begun = set(), 0, {}
        with open(log) as file:
            for line in file:
                asked += name in line
                thread = line.split(' ', 1)[0]
                if '<unfinished' in line:
                    begun[thread] = line
                elif 'resumed>' in line:
                    line = begun.pop(thread, '') + line
                match = re.search(r'= \d+<([^>]*)>', line)
                if match and match[1].startswith(FOLDER) and 'O_PATH' not in line and match[1] != CONFIG:
                    opened.add(match[1])
        assert asked, 'strace saw nobody ask for the file'
        assert opened == ({readable} if name == readable else set()), opened


# -- a file system that never answers -------------------------------------------------------------------------------------------------------

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18


def mount(source, where, kind, flags, data):
    if libc.mount(source, where.encode(), kind, flags, data):
        error = ctypes.get_errno()
        raise OSError(error, f'mounting {kind} at {where}: {os.strerror(error)}')


def serve_nothing(where, ready):
    """In a child: a FUSE mount in a mount namespace of its own, which answers INIT and then nothing more."""
    if not os.path.exists('/dev/fuse'):
        os.mknod('/dev/fuse', stat.S_IFCHR | 0o600, os.makedev(10, 229))
    fuse = os.open('/dev/fuse', os.O_RDWR)
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), 'unshare')
    mount(b'none', '/', b'', MS_REC | MS_PRIVATE, None)
    mount(b'pmtop-test', where, b'fuse', 0, b'fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other' % fuse)
    head = os.read(fuse, 1 << 20)
    unique, = struct.unpack_from('<Q', head, 8)
    body = struct.pack('<IIIIHHIIHHI7I', 7, 31, 0, 0, 12, 10, 4096, 1, 0, 0, 0, *[0] * 7)
    os.write(fuse, struct.pack('<IiQ', 16 + len(body), 0, unique) + body)
    os.write(ready, b'.')
    # A request that was read waits for its answer even when the process that asks is killed.
    while True:
        os.read(fuse, 1 << 20)


@contextlib.contextmanager
def silent_files():
    where = os.path.join(FOLDER, 'silent')
    os.makedirs(where, exist_ok=True)
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ends[0])
            serve_nothing(where, ends[1])
        except OSError as error:
            print('FAIL: no FUSE mount can be made here:', error, flush=True)
        os._exit(1)
    os.close(ends[1])
    try:
        assert os.read(ends[0], 1) == b'.', 'no FUSE mount can be made here'
        yield pid, where
    finally:
        # The end of the server ends the requests that wait for it.
        os.close(ends[0])
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def goes_on_without_an_answer():
    with silent_files() as (server, where):
        name = os.path.join(where, 'train.py')
        with target(name, uid=None, prefix=['nsenter', f'--mount=/proc/{server}/ns/mnt', '--']) as pid:
            output = ''
            with subprocess.Popen([*WATCH, '-p', str(pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
                try:
                    missing, objects, row, end = [], 0, None, time.time() + 90
                    while not (row and missing) and time.time() < end:
                        last = json.loads(process.stdout.readline())
                        objects, row = objects + 1, row_of(last, name)
                        missing = [gap for gap in last['self']['missing'] if gap['figure'] == 'source lines']
                    assert row and not row.get('text'), row
                    assert missing and name in missing[0]['reason'], (missing, objects)
                    process.terminate()
                    output = process.communicate(timeout=30)[0]
                finally:
                    process.kill()
                    os.kill(server, signal.SIGKILL)
            assert process.returncode in (0, -signal.SIGTERM, 128 + signal.SIGTERM), (process.returncode, output)


def ends_while_it_waits():
    """It ends in the first second of the waiting, and who reads its output sees the end of it."""
    with silent_files() as (server, where):
        name = os.path.join(where, 'train.py')
        with target(name, uid=None, prefix=['nsenter', f'--mount=/proc/{server}/ns/mnt', '--']) as pid:
            process = subprocess.Popen([*WATCH, '-n', '6', '-p', str(pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
            try:
                process.communicate(timeout=40)
                assert process.returncode == 0, process.returncode
            finally:
                os.kill(server, signal.SIGKILL)
                process.kill()
                process.wait()


def ends_at_a_key():
    with silent_files() as (server, where):
        with target(os.path.join(where, 'train.py'), uid=None, prefix=['nsenter', f'--mount=/proc/{server}/ns/mnt', '--']) as pid:
            ours, theirs = pty.openpty()
            process = subprocess.Popen([PMTOP, '--config', CONFIG, '-d', '0.25', '-p', str(pid)], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
                                       env=dict(ENVIRONMENT, TERM='xterm'), start_new_session=True)
            os.close(theirs)
            try:
                end, pressed = time.time() + 60, 0
                while process.poll() is None and time.time() < end:
                    if select.select([ours], [], [], 0.1)[0]:
                        with contextlib.suppress(OSError):
                            os.read(ours, 1 << 16)
                    # The first file is asked for in the first second or two, and holds up its reader for one more.
                    if time.time() > end - 57 + pressed:
                        with contextlib.suppress(OSError):
                            os.write(ours, b'q')
                        pressed += 5
                assert process.poll() == 0, f'{process.poll()} after q was pressed {pressed // 5} times'
            finally:
                os.kill(server, signal.SIGKILL)
                process.kill()
                process.wait()
                os.close(ours)


def main():
    if os.geteuid() != 0:
        print('this test needs root\n0 passed, 1 failed')
        return 1
    os.chmod(FOLDER, 0o755)
    with open(CONFIG, 'w') as file:
        file.write('stacks:\n  looks_per_second: 100\n')
    os.chmod(CONFIG, 0o644)
    try:
        return try_all({
            'a file of root only': of_root,
            'a closed folder': of_a_closed_folder,
            'a file of a group': of_a_group,
            'rights that were given up': after_a_drop,
            'ids that differ': of_mixed_ids,
            'links in a chroot': in_a_chroot,
            'what it may read': of_what_it_may_read,
            'run by a weak root': without_changing_ids,
            'run by the same user': to_an_ordinary_user,
            'nothing else is opened': opens_nothing_else,
            'no answer, and it goes on': goes_on_without_an_answer,
            'no answer, and it ends': ends_while_it_waits,
            'no answer, and q': ends_at_a_key,
        }, 2)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
