"""Terminals and pipes that nobody reads: signals end pmtop, recording goes on meanwhile, and who reads late is given the newest and the end."""
import fcntl
import json
import os
import pty
import resource
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time

BUILD = os.environ['PMTOP_BUILD']
PMTOP, TRAINER = os.path.join(BUILD, 'pmtop'), os.path.join(BUILD, 'tests/workloads/trainer')
ENVIRONMENT = dict(os.environ, LC_ALL='C.UTF-8', HOME='/nonexistent', TERM='xterm-256color')
LIMIT = 60
counts = {True: 0, False: 0}


def check(name, is_good, *said):
    counts[bool(is_good)] += 1
    if not is_good:
        print(f'not ok {name}:', *said, flush=True)


def wait_for(condition, limit=LIMIT):
    deadline = time.monotonic() + limit
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def train(*words):
    process = subprocess.Popen([TRAINER, '--name', 'unread', '--workers', '0', '--step-ms', '10', *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: any(name.startswith(f'pmtop.{os.geteuid()}.{process.pid}.') for name in os.listdir('/dev/shm')))
    return process


def is_full(fd):
    """Whether a writer of this pipe or terminal would have to wait."""
    return not select.select([], [fd], [], 0)[1]


def ends_by(process, number, limit=10):
    os.kill(process.pid, number)
    try:
        return process.wait(limit) is not None
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


def pipes():
    """Objects, lines and rows into a pipe that nobody reads."""
    trainer = train('--epochs', '100000')
    for form in ('json', 'lines', 'csv'):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            out, into = os.pipe()
            fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 4096)
            words = ['--format=' + form] if form != 'lines' else []
            process = subprocess.Popen([PMTOP, '-p', str(trainer.pid), '-b', '-d', '0.1', *words], stdin=subprocess.DEVNULL, stdout=into, env=ENVIRONMENT)
            is_stuck = wait_for(lambda: is_full(into))
            time.sleep(0.3)
            check(f'{form}, {number.name} ends it', is_stuck and ends_by(process, number), is_stuck)
            os.close(out), os.close(into)
            if process.poll() is None:
                process.kill()
    trainer.kill()
    trainer.wait()


def recording():
    """-b -w into a pipe that nobody reads: the recording grows, and is whole."""
    trainer = train('--epochs', '100000')
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'run.pmtop')
        out, into = os.pipe()
        fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 4096)
        process = subprocess.Popen([PMTOP, '-p', str(trainer.pid), '-b', '--format=json', '-d', '0.1', '-w', path], stdin=subprocess.DEVNULL, stdout=into, env=ENVIRONMENT)
        wait_for(lambda: is_full(into))
        time.sleep(1)
        before = os.path.getsize(path)
        check('recording goes on while nobody reads', wait_for(lambda: os.path.getsize(path) > before + 20000), before, os.path.getsize(path))
        check('SIGTERM ends it', ends_by(process, signal.SIGTERM))
        report = subprocess.run([PMTOP, 'report', path], env=ENVIRONMENT, capture_output=True, text=True, timeout=LIMIT)
        check('the recording is whole', report.returncode == 0 and 'unread' in report.stdout, report)
        os.close(out), os.close(into)
        replayed(path)
    trainer.kill()
    trainer.wait()


def replayed(path):
    """Of a recording nothing is left out, however slowly it is read."""
    words = [PMTOP, '-r', path, '-b', '--format=json']
    wanted = subprocess.run(words, env=ENVIRONMENT, capture_output=True, timeout=LIMIT).stdout.count(b'\n')
    out, into = os.pipe()
    fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=into, env=ENVIRONMENT)
    wait_for(lambda: is_full(into))
    time.sleep(1)
    os.close(into)
    with os.fdopen(out, 'rb') as reader:
        shown = reader.read().count(b'\n')
    process.wait(LIMIT)
    check('of a recording nothing is left out', shown == wanted and wanted > 10, shown, wanted)


def late():
    """A pipe that is read only after the run has ended has the end as its last object."""
    trainer = train('--epochs', '3', '--batches', '100')
    out, into = os.pipe()
    fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen([PMTOP, '-p', str(trainer.pid), '-b', '--format=json', '-d', '0.1'], stdin=subprocess.DEVNULL, stdout=into, env=ENVIRONMENT)
    os.close(into)
    trainer.wait()
    time.sleep(1)
    with os.fdopen(out) as reader:
        objects = [json.loads(line) for line in reader]
    status = process.wait(LIMIT)
    check('who reads late is given the end', status == 0 and sum(epoch['batches'] for epoch in objects[-1]['epochs']) == 300, status, objects[-1]['epochs'])


def open_screen(*words, size=(40, 120)):
    """(process, terminal, our own descriptor of pmtop's side, by which its settings are read)"""
    terminal, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack('HHHH', *size, 0, 0))
    process = subprocess.Popen([PMTOP, *words], stdin=side, stdout=side, stderr=side, env=ENVIRONMENT, start_new_session=True)
    return process, terminal, side


def read_until(terminal, text, limit=LIMIT):
    shown, deadline = b'', time.monotonic() + limit
    while text not in shown and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            shown += os.read(terminal, 1 << 16)
    return text in shown


def screens():
    """A terminal that is not read any more, and signals; then the settings that it had before."""
    trainer = train('--epochs', '100000')
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        process, terminal, side = open_screen('-p', str(trainer.pid), '-d', '0.1')
        read_until(terminal, b'unread')
        for width in range(200):
            if is_full(side):
                break
            fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack('HHHH', 50, 150 + width % 9, 0, 0))
            os.kill(process.pid, signal.SIGWINCH)
            time.sleep(0.03)
        check(f'screen, {number.name} ends it', ends_by(process, number), number)
        os.close(terminal), os.close(side)
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGXCPU, signal.SIGSYS, signal.SIGVTALRM, signal.SIGPROF):
        terminal, side = pty.openpty()
        before = termios.tcgetattr(side)
        os.close(terminal), os.close(side)
        process, terminal, side = open_screen('--demo')
        read_until(terminal, b'pmtop')
        was_raw = termios.tcgetattr(side)[3] != before[3]
        os.kill(process.pid, number)
        # Its last words are read, or it would wait for their reader.
        has_left = read_until(terminal, b'\x1b[?1049l', 10)
        process.wait(LIMIT)
        check(f'{number.name} gives the terminal back', was_raw and has_left and termios.tcgetattr(side)[3] == before[3] and process.returncode == -number,
              was_raw, has_left, process.returncode)
        os.close(terminal), os.close(side)
    trainer.kill()
    trainer.wait()


def huge():
    """A window of 65535 columns and lines costs no more memory than one that could be looked at."""
    process, terminal, side = open_screen('--demo', size=(65535, 65535))
    read_until(terminal, b'pmtop')
    for _ in range(20):
        os.kill(process.pid, signal.SIGWINCH)
        read_until(terminal, b'\x1b', 1)
    with open(f'/proc/{process.pid}/status') as status:
        peak = int(next(line for line in status if line.startswith('VmHWM')).split()[1]) / 1024
    check('a huge window costs less than 200 MB', 'address' in BUILD or peak < 200, peak)
    os.close(terminal), os.close(side)
    check('hang-up ends it', ends_by(process, signal.SIGHUP))


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
pipes()
recording()
late()
screens()
huge()
print(f'{counts[True]} passed, {counts[False]} failed')
raise SystemExit(counts[False] > 0)
