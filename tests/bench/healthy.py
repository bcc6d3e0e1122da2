#!/usr/bin/env python3
"""Ten kinds of healthy programs (those of loops.py), watched by pmtop: no warning may be raised.

    HEALTHY_MINUTES=60 healthy.py [SCRIPT…]

The minutes are of all programs together, from the first step on. Eight run alone and the last two side by side, each the first half of its time as it is,
the second with pmtop's line in it where it has one. Prints each warning with the program, the second, and whether it is a false one: not if other
programs took CPUs shortly before (judge.OTHERS_FOR_S), which is nobody's healthy machine. Notes (severity info) are counted only.

Exit: 0 no false warning, 1 some, 2 a program did not run, or no minute was clean."""
import collections
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, 'why'))
import judge  # noqa: E402
import loops  # noqa: E402
import watch  # noqa: E402

KINDS = ('mnist', 'imagenet', 'recurrent', 'while_own_batches', 'hf_trainer', 'keras_torch', 'xgb', 'optax_loop', 'vae', 'lightning_fit')
SIDE_BY_SIDE = 2
RESTARTS_MAX = 100
Raised = collections.namedtuple('Raised', 'program line when at_s rule severity message')


class Program:
    """One script for so many seconds, started again when it ends."""

    def __init__(self, name, line, seconds):
        self.name, self.line, self.seconds = name, line, seconds
        self.watched_s, self.steps, self.raised, self.failure = 0.0, 0, [], None

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(RESTARTS_MAX):
                if self.watched_s >= self.seconds or self.failure:
                    return
                try:
                    self.run_once(os.path.join(folder, str(number)))
                except (AssertionError, OSError, ValueError) as problem:
                    self.failure = f'{self.name}: {problem!r}'

    def run_once(self, log):
        environment = dict(loops.ENVIRONMENT, PMTOP_LOOPS_LINE=self.line) if self.line else loops.ENVIRONMENT
        script = subprocess.Popen([loops.PYTHON, os.path.join(loops.SCRIPTS, self.name + '.py'), log], env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        monitor = None
        try:
            pid, begin, before = loops.wait_for_steps(log, script), time.monotonic(), self.watched_s
            monitor = subprocess.Popen([loops.PMTOP, '-b', '--format=json', '-d', '0.5', '-p', str(pid)], env=loops.ENVIRONMENT, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            seen = set()
            for text in monitor.stdout:
                self.take(json.loads(text), seen)
                self.watched_s = before + time.monotonic() - begin
                if self.watched_s >= self.seconds:
                    break
            assert seen or monitor.poll() is None or self.watched_s > before, f'pmtop ended with {monitor.wait()}'
        finally:
            if monitor:
                monitor.kill()
                monitor.wait()
                monitor.stdout.close()
            os.killpg(script.pid, signal.SIGKILL)
            script.wait()

    def take(self, shown, seen):
        self.steps = max(self.steps, int(shown.get('batch', {}).get('count', 0)))
        for warning in shown.get('warnings', ()):
            key = warning['rule'], round(warning.get('since_ns', 0) / 1e9)
            if key not in seen:
                seen.add(key)
                self.raised.append(Raised(self.name, self.line, time.time(), self.watched_s, warning['rule'], warning['severity'], warning['message']))


def run_together(programs, others):
    threads = [threading.Thread(target=program.run) for program in programs]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        others.look()
        time.sleep(0.2)


def is_disturbed(when, others):
    return any(ratio > judge.OTHERS_MAX and -2 <= when - second <= judge.OTHERS_FOR_S for second, ratio in others.seconds)


def main():
    minutes = float(os.environ.get('HEALTHY_MINUTES', '60'))
    kinds = tuple(sys.argv[1:]) or KINDS
    share_s = minutes * 60 / len(kinds) / 2
    alone = max(0, len(kinds) - SIDE_BY_SIDE)
    groups = [(kind,) for kind in kinds[:alone]] + [kinds[alone:]]
    others, done = watch.Others(), []
    for group in groups:
        for has_line in (False, True):
            programs = [Program(kind, loops.BENCH[kind].line if has_line else None, share_s) for kind in group]
            run_together(programs, others)
            done += programs
            for program in programs:
                print(f'{program.name:18} {"line " + program.line if program.line else "as it is":12} {program.watched_s:6.0f} s, {program.steps} steps' +
                      (', side by side' if len(group) > 1 else ''), flush=True)
                for raised in program.raised:
                    if raised.severity != 'info':
                        what = 'while others took CPUs' if is_disturbed(raised.when, others) else 'FALSE'
                        print(f'    {what}: {raised.severity} {raised.rule} at {raised.at_s:.0f} s: {raised.message}', flush=True)
    return summary(done, others)


def summary(done, others):
    warnings = [raised for program in done for raised in program.raised if raised.severity != 'info']
    false = [raised for raised in warnings if not is_disturbed(raised.when, others)]
    notes = collections.Counter(raised.rule for program in done for raised in program.raised if raised.severity == 'info')
    clean = sum(not is_disturbed(second, others) for second, _ in others.seconds) / max(1, len(others.seconds))
    watched_min = sum(program.watched_s for program in done) / 60
    failures = [program.failure for program in done if program.failure]
    for failure in failures:
        print(f'failed: {failure}')
    print(f'notes: {dict(notes) or "none"}')
    print(f'healthy: {len(false)} false warnings in {watched_min * clean:.1f} clean minutes of {watched_min:.1f}, {len({program.name for program in done})} kinds; '
          f'{len(warnings) - len(false)} warnings while others took CPUs')
    return 2 if failures or not clean else 1 if false else 0


if __name__ == '__main__':
    sys.exit(main())
