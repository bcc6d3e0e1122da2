"""A loop of plain Python whose every 20th step is slow: the cause of these steps is the line of the script in which the time passes."""
import json
import os
import subprocess
import sys
import tempfile
import time

from pythons import ENVIRONMENT, PMTOP, pythons

LIMIT_S, BATCHES_MIN = 120, 2

SCRIPT = '''import hashlib
import subprocess
import sys
import threading
import time

kind, lk, wanted, held = sys.argv[1], threading.Lock(), threading.Event(), threading.Event()


def hold():
    while True:
        wanted.wait()
        wanted.clear()
        lk.acquire()
        held.set()
        time.sleep(0.6)
        lk.release()


def compute(rounds):
    return hashlib.pbkdf2_hmac('sha256', b'word', b'salt', rounds)


def measured(rounds):
    began = time.thread_time()
    compute(rounds)
    return (time.thread_time() - began) / rounds


threading.Thread(target=hold, daemon=True).start()
rounds = int(0.030 / min(measured(20000) for _ in range(5)))
for step in range(100000):
    compute(rounds)
    if step % 20 == 19 and kind == 'lock':
        wanted.set()
        held.wait()
        held.clear()
        with lk:  # lock
            pass
    if step % 20 == 19 and kind == 'sleep':
        time.sleep(0.6)  # sleep
    if step % 20 == 19 and kind == 'child':
        subprocess.run(['sleep', '0.6'])  # child
    if step % 20 == 19 and kind == 'work':
        compute(20 * rounds)  # work
'''


def line_of(kind):
    return next(number for number, text in enumerate(SCRIPT.splitlines(), 1) if text.endswith(f'# {kind}'))


def found_lines(reported):
    """File and line of the first cause that has one, of each flagged batch that took half a second."""
    slow = [batch for batch in reported.get('flagged', []) if batch['seconds'] > 0.5]
    lines = [next((cause for cause in batch['causes'] if 'line' in cause), None) for batch in slow]
    return [(cause['file'], cause['line']) for cause in lines if cause]


def the_cause_is_the_line(python, kind):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'train.py')
        with open(path, 'w') as file:
            file.write(SCRIPT)
        with subprocess.Popen([python, path, kind], env=ENVIRONMENT) as program, \
                subprocess.Popen([PMTOP, '-p', str(program.pid), '-b', '--format=json', '-d', '0.5'], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, text=True) as pmtop:
            try:
                end, lines, flagged = time.monotonic() + LIMIT_S, [], []
                for text in pmtop.stdout:
                    reported = json.loads(text)
                    lines, flagged = found_lines(reported), reported.get('flagged', flagged)
                    if len(lines) >= BATCHES_MIN or time.monotonic() > end:
                        break
                assert len(lines) >= BATCHES_MIN, flagged[-3:]
                assert set(lines) == {(path, line_of(kind))}, lines
            finally:
                pmtop.kill()
                program.kill()


def main():
    chosen = sys.argv[1:] or ['lock', 'sleep', 'child', 'work']
    able = {version: path for version, path in pythons().items() if int(version.split('.')[1]) <= 13}
    failed = 0
    for kind in chosen:
        try:
            the_cause_is_the_line(able[max(able, key=lambda version: int(version.split('.')[1]))], kind)
        except Exception as error:
            failed += 1
            print(f'FAIL {kind}: {type(error).__name__}: {error}', flush=True)
    print(f'{len(chosen) - failed} passed, {failed} failed')
    return failed


if __name__ == '__main__':
    sys.exit(bool(main()))
