"""Real processes whose memory cannot be read: a page that never comes (userfaultfd), a seccomp filter, another uid, not dumpable, no CAP_SYS_PTRACE; and
Pythons of a version that nobody knows, or deleted while they run. Needs root."""
import contextlib
import ctypes
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../terminal'))
from pythons import ENVIRONMENT, PMTOP, Running, pmtop, try_all  # noqa: E402

NOBODY = 65534
SOON_S = 60            # what waits for a condition waits so long at most
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, CAP_SYS_PTRACE = 4, 24, 22, 38, 19
IDLE = 'print("ready", flush=True)\nimport time; time.sleep(600)'
libc = ctypes.CDLL(None, use_errno=True)


class Watching:
    """pmtop -b --format=json of a process, and the objects that it wrote so far. No leak checker of a sanitized pmtop: it awaits each thread, so for ever one that
    is in a page that never comes."""

    def __init__(self, pid, **more):
        self.process = subprocess.Popen([PMTOP, '-b', '--format=json', '-d', '0.5', '-p', str(pid)], env=dict(ENVIRONMENT, ASAN_OPTIONS='detect_leaks=0'),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd='/', **more)
        self.objects = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.objects.append(json.loads(line))

    def wait_for(self, is_so):
        """The first object, from now on, of which it is so."""
        seen, until = len(self.objects), time.monotonic() + SOON_S
        while time.monotonic() < until:
            while seen < len(self.objects):
                if is_so(self.objects[seen]):
                    return self.objects[seen]
                seen += 1
            time.sleep(0.05)
        last = {key: (self.objects or [{}])[-1].get(key) for key in ('code', 'self')}
        raise AssertionError(f'not within {SOON_S} s; last: {json.dumps(last)[:6000]}')

    def wait_for_reason(self, *words):
        return self.wait_for(lambda one: all(word in (stacks_missing(one) or '') for word in words))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


def stacks_missing(one):
    """Why there are no stacks, and what to do; None: there are."""
    for missing in one['self'].get('missing', []):
        if missing['figure'] == 'stacks':
            return f"{missing['reason']}: {missing.get('remedy', '')}"
    return None


def stuck_s(one):
    """How long the reader is said to be stuck; -1: it is not."""
    found = re.search(r'stack reader stuck (\d+) s', stacks_missing(one) or '')
    return int(found[1]) if found else -1


def looks(one):
    return sum(group['looks'] for group in (one.get('code') or {}).get('groups', []))


# -- a page that never comes ---------------------------------------------------------------------------------------------------------

STUCK = '''
import ctypes, fcntl, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
page = libc.mmap(None, 4096, 3, 0x22, -1, 0)
number = {'x86_64': 323, 'aarch64': 282}[os.uname().machine]
fd = libc.syscall(number, 0)
if fd < 0:
    print('no userfaultfd:', os.strerror(ctypes.get_errno()), flush=True); sys.exit(1)
fcntl.ioctl(fd, 0xc018aa3f, bytearray(struct.pack('QQQ', 0xaa, 0, 0)))          # UFFDIO_API
fcntl.ioctl(fd, 0xc020aa00, bytearray(struct.pack('QQQQ', page, 4096, 1, 0)))   # UFFDIO_REGISTER, for missing pages
# Where the interpreters begin, as _PyRuntime has it: the word that is the interpreter's address.
runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, '_PyRuntime'))
ctypes.pythonapi.PyInterpreterState_Get.restype = ctypes.c_void_p
interpreter = ctypes.pythonapi.PyInterpreterState_Get()
slot = next(word for word in (ctypes.c_uint64.from_address(runtime + 8 * at) for at in range(4, 2000)) if word.value == interpreter)
print('ready', flush=True)
for line in sys.stdin:
    if line == 'present\\n':
        fcntl.ioctl(fd, 0xc020aa04, bytearray(struct.pack('QQQq', page, 4096, 0, 0)))      # UFFDIO_ZEROPAGE
        ctypes.memset(page, 0, 4096)
    if line == 'gone\\n':
        libc.madvise(page, 4096, 4)
    slot.value = interpreter if line == 'whole\\n' else page
    print('done', flush=True)
'''


@contextlib.contextmanager
def stuck_python():
    with Running(sys.executable, '-c', STUCK) as program:
        assert program.first == 'ready\n', program.first
        program.stick = lambda word: (program.process.stdin.write(word + '\n'), program.process.stdin.flush(), program.process.stdout.readline())
        yield program


def a_stuck_reader_is_given_up():
    """Its age grows, the rest goes on, a page that comes after all ends it; and TERM ends pmtop while it is stuck, also in a page that was there before, which
    the thread of the stacks reads itself."""
    with stuck_python() as program, Watching(program.pid) as watching:
        watching.wait_for(lambda one: looks(one) > 0)
        program.stick('stuck')
        first = watching.wait_for_reason('stack reader stuck', str(program.pid))
        watching.wait_for(lambda one: stuck_s(one) >= stuck_s(first) + 3)
        last = watching.objects[-1]
        assert last['time_ns'] > first['time_ns'] and last['memory'], last
        program.stick('whole')
        found = watching.wait_for(lambda one: stacks_missing(one) is None)
        watching.wait_for(lambda one: looks(one) > looks(found))
        program.stick('present')
        seen = len(watching.objects)
        wait_until(lambda: len(watching.objects) >= seen + 3)
        program.stick('gone')
        watching.wait_for_reason('stack reader stuck')
        children = children_of(watching.process.pid)
        watching.process.send_signal(signal.SIGTERM)
        before = time.monotonic()
        watching.process.wait(SOON_S)
        assert time.monotonic() - before < 10
        for child in children:
            wait_until(lambda child=child: not os.path.exists(f'/proc/{child}') or state_of(child) == 'Z')


def children_of(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        own = file.read().split()
    for task in os.listdir(f'/proc/{pid}/task'):
        with contextlib.suppress(OSError), open(f'/proc/{pid}/task/{task}/children') as file:
            own += file.read().split()
    return {int(child) for child in own}


def state_of(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rpartition(')')[2].split()[0]
    except OSError:
        return 'Z'


def wait_until(is_so):
    until = time.monotonic() + SOON_S
    while not is_so():
        assert time.monotonic() < until, 'not in time'
        time.sleep(0.05)


def others_are_still_looked_at():
    """Of two processes of a tree one is stuck."""
    script = STUCK.replace('slot = next', '''child = os.fork()
if child == 0:
    while True: sum(range(1000))
slot = next''')
    with Running(sys.executable, '-c', script) as program:
        assert program.first == 'ready\n', program.first
        with open(f'/proc/{program.pid}/task/{program.pid}/children') as file:
            child = int(file.read())
        try:
            with Watching(program.pid) as watching:
                watching.wait_for(lambda one: len((one.get('code') or {}).get('groups', [])) == 2)
                program.process.stdin.write('stuck\n')
                program.process.stdin.flush()
                found = watching.wait_for(lambda one: stuck_s(one) >= 2)
                of_child = lambda one: sum(group['looks'] for group in one['code']['groups'] if group['pid'] == child)
                watching.wait_for(lambda one: of_child(one) > of_child(found) + 5)
        finally:
            os.kill(child, signal.SIGKILL)


def stack_ends_with_one_line():
    with stuck_python() as program:
        program.stick('stuck')
        before = time.monotonic()
        reported = pmtop('stack', program.pid)
        assert reported.returncode == 1 and not reported.stdout and reported.stderr.count('\n') == 1, reported
        assert f'reading the memory of process {program.pid} took more than 4 s' in reported.stderr, reported.stderr
        assert time.monotonic() - before < 40


def the_screen_ends():
    with stuck_python() as program:
        program.stick('stuck')
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(PMTOP, [PMTOP, '-p', str(program.pid)], dict(ENVIRONMENT, TERM='xterm'))
        drain = threading.Thread(target=read_all, args=(terminal,), daemon=True)
        drain.start()
        status = []
        try:
            wait_until(lambda: any('pmtop-reader' in comm_of(child) for child in children_of(pid)))
            time.sleep(1)
            os.write(terminal, b'q')
            wait_until(lambda: has_ended(pid, status))
            assert status == [0], status
        finally:
            if not status:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        drain.join(SOON_S)
        os.close(terminal)


def has_ended(pid, status):
    ended, code = os.waitpid(pid, os.WNOHANG)
    if ended:
        status.append(code)
    return bool(status)


def comm_of(pid):
    try:
        with open(f'/proc/{pid}/comm') as file:
            return file.read()
    except OSError:
        return ''


def read_all(fd):
    with contextlib.suppress(OSError):
        while os.read(fd, 65536):
            pass


# -- no right ------------------------------------------------------------------------------------------------------------------------

def forbid_reading(error):
    """Of this process and its children: process_vm_readv fails so."""
    number = {'x86_64': 310, 'aarch64': 270}[os.uname().machine]
    program = b''.join(struct.pack('HBBI', *one) for one in ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7fff0000)))
    room = ctypes.create_string_buffer(program, len(program))
    filter_ = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 4, ctypes.addressof(room)), 16)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, 2, filter_, 0, 0):
        raise OSError(ctypes.get_errno(), 'prctl(PR_SET_SECCOMP)')


def drop_ptrace_right():
    if libc.prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0):
        raise OSError(ctypes.get_errno(), 'prctl(PR_CAPBSET_DROP)')


def is_refused(pid, words, not_words=(), **how):
    """By pmtop stack, and by a monitor, which goes on."""
    reported = subprocess.run([PMTOP, 'stack', str(pid)], env=ENVIRONMENT, capture_output=True, text=True, timeout=SOON_S, cwd='/', stdin=subprocess.DEVNULL, **how)
    assert reported.returncode == 4 and reported.stderr.count('\n') == 1 and not reported.stdout, reported
    assert all(word in reported.stderr for word in words) and not any(word in reported.stderr for word in not_words), reported.stderr
    with Watching(pid, **how) as watching:
        found = watching.wait_for_reason(*words)
        assert found['memory'] and found['cpu'], found


def a_filter_is_named(error):
    with Running(sys.executable, '-c', IDLE) as program:
        is_refused(program.pid, ['seccomp filter', 'process_vm_readv', 'outside the container'], ['dumpable', 'SYS_PTRACE'], preexec_fn=lambda: forbid_reading(error))


def doctor_names_a_filter():
    reported = subprocess.run([PMTOP, 'doctor'], env=ENVIRONMENT, capture_output=True, text=True, timeout=SOON_S, preexec_fn=lambda: forbid_reading(1))
    assert "process_vm_readv: Operation not permitted: no Python stacks" in ' '.join(reported.stdout.split()), reported.stdout


def another_user_is_named():
    with Running(sys.executable, '-c', IDLE) as program:
        is_refused(program.pid, [f'process {program.pid} belongs to root', 'sudo'], ['seccomp', 'dumpable'], user=NOBODY, group=NOBODY, extra_groups=())


def not_dumpable_is_named():
    script = f'import ctypes, os\nos.setgroups([]); os.setresgid(*[{NOBODY}] * 3); os.setresuid(*[{NOBODY}] * 3)\nctypes.CDLL(None).prctl({PR_SET_DUMPABLE}, 0, 0, 0, 0)\n'
    with Running(sys.executable, '-c', script + IDLE) as program:
        is_refused(program.pid, ['process is not dumpable', 'run as root'], ['seccomp', 'SYS_PTRACE'], user=NOBODY, group=NOBODY, extra_groups=())


def a_missing_capability_is_named():
    """As root of a container."""
    script = f'import os\nos.setgroups([]); os.setresgid(*[{NOBODY}] * 3); os.setresuid(*[{NOBODY}] * 3)\n'
    with Running(sys.executable, '-c', script + IDLE) as program:
        is_refused(program.pid, ['lacks CAP_SYS_PTRACE', '--cap-add=SYS_PTRACE'], ['seccomp', 'dumpable', 'run as root'], preexec_fn=drop_ptrace_right)


# -- no version, no file -------------------------------------------------------------------------------------------------------------

# Of 3.11 and 3.12 Py_Version says which it is, from 3.13 on the word that follows the cookie of _PyRuntime.
UNKNOWN = '''
import ctypes, sys
runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, '_PyRuntime'))
version = ctypes.c_uint64.from_address(runtime + 8) if sys.version_info >= (3, 13) else ctypes.c_uint32.in_dll(ctypes.pythonapi, 'Py_Version')
page = ctypes.addressof(version) & ~4095
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), 8192, 3) == 0
version.value = 0x036300f0
'''


def an_unknown_version_is_named():
    with Running(sys.executable, '-c', UNKNOWN + IDLE) as program:
        assert program.first == 'ready\n'
        reported = pmtop('stack', program.pid)
        assert reported.returncode == 1 and 'does not support Python 3.99' in reported.stderr and reported.stderr.count('\n') == 1, reported
        with Watching(program.pid) as watching:
            found = watching.wait_for_reason('does not support Python 3.99')
            assert found['memory'] and found['cpu'], found


def a_deleted_executable_is_read_from_memory():
    with tempfile.TemporaryDirectory() as folder:
        python = os.path.join(folder, 'python-of-its-own')
        shutil.copy(os.path.realpath(sys.executable), python)
        process = subprocess.Popen([python, '-c', IDLE], env=dict(ENVIRONMENT, PYTHONHOME=sys.base_prefix), stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline() == 'ready\n'
            os.unlink(python)
            assert os.readlink(f'/proc/{process.pid}/exe').endswith(' (deleted)')
            reported = pmtop('stack', process.pid)
            assert reported.returncode == 0 and '<module>' in reported.stdout and f'Python 3.{sys.version_info[1]}' in reported.stdout, reported
            with Watching(process.pid) as watching:
                watching.wait_for(lambda one: looks(one) > 3 and one['memory'] and stacks_missing(one) is None)
        finally:
            process.kill()
            process.wait()


if os.geteuid() != 0:
    print('FAIL these tests need root: they change uids, drop rights and use userfaultfd\n0 passed, 1 failed')
    sys.exit(1)
sys.exit(try_all({
    'a stuck reader is given up': a_stuck_reader_is_given_up,
    'others are still looked at': others_are_still_looked_at,
    'pmtop stack ends with one line': stack_ends_with_one_line,
    'the screen ends': the_screen_ends,
    'a filter is named (EPERM)': lambda: a_filter_is_named(1),
    'a filter is named (ENOSYS)': lambda: a_filter_is_named(38),
    'doctor names a filter': doctor_names_a_filter,
    'another user is named': another_user_is_named,
    'not dumpable is named': not_dumpable_is_named,
    'a missing capability is named': a_missing_capability_is_named,
    'an unknown version is named': an_unknown_version_is_named,
    'a deleted executable is read from memory': a_deleted_executable_is_read_from_memory,
}, 2))
