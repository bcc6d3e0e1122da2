"""What is counted of DataLoaders from outside beside what their loops have got: with torch where check-python has made its environment, and with a
stand-in for every CPython from 3.8 on that is found (PATH, pyenv)."""
import bisect
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

from pythons import BUILD, ENVIRONMENT, pythons, try_all

HERE = os.path.dirname(os.path.abspath(__file__))
LOADERS = os.path.join(HERE, '../workloads/loaders.py')
COUNTING = os.path.join(BUILD, 'tests/terminal/counting')
TORCH = os.path.join(BUILD, 'python-venv/bin/python')
NEWEST_COUNTED = 15
AT_A_TIME = 4          # they mostly wait
checks = {}
Poll = collections.namedtuple('Poll', 'before after serial yielded is_over is_fresh length workers batch_size is_looped line function file')


def check(name, test, *arguments):
    checks[name] = lambda: test(*arguments)


def poll_of(text):
    words = text.split(' ', 13)
    return Poll(*map(int, words[1:12]), *words[12:])


class Counting:
    """The counter, at another process."""

    def __init__(self, pid, look_us=1000, poll_us=20000):
        self.process = subprocess.Popen([COUNTING, str(pid), str(look_us), str(poll_us)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline().rstrip('\n')

    def end(self):
        """All that it has reported, and what that cost."""
        reported, _ = self.process.communicate('\n', timeout=60)
        lines = reported.splitlines()
        assert self.process.returncode == 0, (self.process.returncode, self.first, lines[-3:])
        words = lines[-1].split()[1:]
        return [poll_of(text) for text in lines[:-1]], dict(zip(words[::2], map(int, words[1::2])))


class Program:
    """loaders.py with these words, in a process of its own."""

    def __init__(self, python, environment):
        self.process = subprocess.Popen([python, LOADERS, 'serve'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def write(self, line):
        self.process.stdin.write(line + '\n')
        self.process.stdin.flush()

    def begin(self, words):
        """The pid of the process that does it, once it is ready."""
        self.write(' '.join(map(str, words)))
        ready, pid = self.process.stdout.readline().split()
        assert ready == 'ready', ready
        return int(pid)

    def go(self):
        self.write('')
        return json.loads(self.process.stdout.readline())['passes']

    def finish(self):
        self.write('')
        assert self.process.stdout.readline() == 'ended\n'

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()     # a child of it that is still there ends by that


idle = []              # programs that have imported PyTorch and wait for the next words
taking = threading.Lock()


def take_program(python, environment):
    with taking:
        if python == TORCH and idle:
            return idle.pop()
    return Program(python, environment)


def count(python, *arguments, environment=ENVIRONMENT, **more):
    """Polls, the truth, costs."""
    program, is_whole = take_program(python, environment), False
    try:
        counting = Counting(program.begin(arguments), **more)
        assert counting.first == 'ready', counting.first
        truth = program.go()
        polls, costs = counting.end()
        program.finish()
        is_whole = python == TORCH
        return polls, truth, costs
    finally:
        if is_whole:
            idle.append(program)
        else:
            program.end()


def could_be(poll, one):
    """Whether it is what the pass had delivered between before and after: a batch is counted just before the loop has it."""
    times = one['times_ns']
    return bisect.bisect_right(times, poll.before) <= poll.yielded - one['base'] <= bisect.bisect_right(times, poll.after) + 1


def is_consistent(polls, truth, **reported):
    """Each reported epoch of a loader really happened."""
    serials = collections.defaultdict(list)
    for poll in polls:
        serials[poll.serial].append(poll)
    for serial, of_one in serials.items():
        lines = {poll.line for poll in of_one} - {0}
        assert len(lines) < 2, (serial, lines)
        fresh = [poll for poll in of_one if poll.is_fresh]
        fits = [one for one in truth if (not lines or one['line'] in lines) and all(could_be(poll, one) for poll in fresh)]
        assert fits, f'pass {serial} at {lines} is none: {fresh[:2]} {fresh[-2:]}'
        assert [poll.yielded for poll in of_one] == sorted(poll.yielded for poll in of_one), serial
        assert [poll.is_over for poll in of_one[:-1]] == [0] * (len(of_one) - 1), serial
        for name, value in reported.items():
            assert {getattr(poll, name) for poll in of_one} <= value, (name, {getattr(poll, name) for poll in of_one})


def is_exact(polls, truth, **reported):
    """And each that there was is reported, and its end."""
    is_consistent(polls, truth, **reported)
    for one in truth:
        begin, end = one['held_ns']
        held = [poll for poll in polls if begin < poll.before and poll.after < end and poll.is_fresh and could_be(poll, one) and poll.line in (0, one['line'])]
        assert held and {poll.yielded for poll in held} == {one['base'] + len(one['times_ns'])}, (one['line'], len(one['times_ns']), held[:3])
    stale = sum(not poll.is_fresh and not poll.is_over for poll in polls)
    assert stale <= len(polls) / 20, (stale, len(polls))


def counts_torch(kind, workers, step):
    polls, truth, costs = count(TORCH, kind, workers, step, 1.5)
    lengths = {len(one['times_ns']) for one in truth}
    is_exact(polls, truth, workers={workers}, batch_size={4}, length=lengths | {0})
    assert any(poll.file.endswith('loaders.py') for poll in polls), polls[:1]
    # A pass that is met near its end, when its sampler is exhausted, or whose sampler runs while it is read, has no length, or later.
    last = {poll.serial: poll for poll in polls if poll.is_fresh}
    early = {poll.serial for poll in polls if poll.yielded <= 3}
    assert {poll.length for poll in last.values() if poll.yielded > 3} - {0} == lengths, [poll for poll in polls if not poll.length]
    unknown = [last[serial] for serial in early & last.keys() if last[serial].yielded > 3 and not last[serial].length]
    assert not unknown, unknown


def meets_slow_ones(python, kind, environment=ENVIRONMENT):
    """Seldom seen in __next__: eight steps of half a second, ten looks a second."""
    polls, truth, _ = count(python, kind, 0, 0.5, 4, environment=environment, look_us=100000, poll_us=50000)
    is_exact(polls, truth)
    looped = {poll.is_looped for poll in polls}
    assert kind == 'in_globals' or looped == ({0} if kind in ('in_attribute', 'by_method') else {1}), looped
    assert polls[0].before - truth[0]['times_ns'][0] < 2e9, (polls[0], truth[0]['times_ns'][0])


STORED = ['plain', '_MultiProcessingDataLoaderIter', 'Derived', 'OfDict', 'WithSlots', 'touched', 'replaced', 'mixed_keys', 'crowded', 'shortened', 'large',
          'unseeded', 'Moving']


def stand_in(folder):
    data = os.path.join(folder, 'torch', 'utils', 'data')
    os.makedirs(data)
    shutil.copy(os.path.join(HERE, '../workloads/stand_in.py'), os.path.join(data, 'dataloader.py'))
    return dict(ENVIRONMENT, STAND_IN=folder, PYTHONDONTWRITEBYTECODE='1')


def counts_stand_in(python, environment, kind):
    polls, truth, _ = count(python, kind, 0, 0.0005, 0.3, environment=environment, poll_us=5000)
    is_exact(polls, truth, workers={0}, batch_size={4}, length={len(one['times_ns']) for one in truth})


def follows_short_ones(python, environment, kind):
    polls, truth, _ = count(python, kind, 0, 0.0005, 2, environment=environment, poll_us=1000)
    is_consistent(polls, truth)
    assert len({poll.serial for poll in polls}) > len(truth) / 2, (len({poll.serial for poll in polls}), len(truth))


def measures(python, environment):
    """The length of a sampler whose __len__ is the program's own, where there is one way through it."""
    polls, truth, _ = count(python, 'sized', 0, 0.002, 1, environment=environment, poll_us=2000)
    is_consistent(polls, truth)
    seen = 0
    for one in truth:
        lengths = {poll.length for poll in polls if poll.is_fresh and one['times_ns'][4] < poll.before and poll.after < one['times_ns'][-1]}
        assert lengths <= {one['length'] or 0}, (one['length'], lengths)
        seen += len(lengths)
    assert seen > len(truth) / 2, seen


def never_lies(python, environment):
    polls, truth, _ = count(python, 'Restless', 0, 0.0005, 0.3, environment=environment, poll_us=1000)
    is_consistent([poll for poll in polls if poll.is_fresh], truth)


def is_not_fooled(python, environment):
    """By what is no iterator, or has no number."""
    polls, _, _ = count(python, 'garbage', 0, 0, 0, environment=environment, poll_us=2000)
    assert not polls, polls[:5]


def outlives_it(python, environment):
    """The process ends while it is read."""
    with subprocess.Popen([python, LOADERS, 'dying', '0', '0', '0'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout.readline().startswith('ready ')
        parent.stdin.write('\n')
        counted = 0
        for number in range(1500):
            if counted > 20 and number >= 150:     # on a slow machine most have ended before they are read
                break
            parent.stdin.write('\n')
            parent.stdin.flush()
            counting = Counting(int(parent.stdout.readline()), look_us=200, poll_us=100)
            if counting.first == 'ready':
                reported, _ = counting.process.communicate(timeout=60)
                assert counting.process.returncode == 0, counting.process.returncode
                counted += 'poll' in reported
            else:
                counting.process.communicate(timeout=60)
                assert counting.process.returncode == 1 and counting.first.startswith('cannot '), counting.first
        parent.stdin.close()
    assert counted > 20, counted


def refuses(python):
    """Of a version whose objects are not known nothing is counted."""
    with subprocess.Popen([python, '-c', 'print("ready", flush=True); input()'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        counting = Counting(program.pid)
        counting.process.communicate('', timeout=60)
        assert counting.first.startswith('cannot objects of Python 3.'), counting.first
        program.communicate('\n')


if os.path.exists(TORCH) and 'NO_TORCH' not in os.environ:
    for workers in (0, 2):
        for step in (0.001, 0.03):
            for kind in ('plain', 'shuffled', 'nested') if step > 0.01 else ('plain', 'enumerate', 'tqdm', 'zip', 'nested'):
                check(f'torch, {kind}, {workers} workers, {step} s', counts_torch, kind, workers, step)
    for kind in ('plain', 'enumerate', 'tqdm', 'zip', 'in_globals', 'in_attribute', 'by_method'):
        check(f'torch, {kind}, seldom seen', meets_slow_ones, TORCH, kind)
    check('torch, an iterable dataset', counts_torch, 'iterable', 0, 0.002)
    check('torch, persistent workers', counts_torch, 'persistent', 2, 0.002)
with tempfile.TemporaryDirectory() as folder:
    environment = stand_in(folder)
    for version, path in pythons().items():
        if int(version.split('.')[1]) > NEWEST_COUNTED:
            check(f'{version} is refused', refuses, path)
            continue
        for kind in STORED:
            check(f'{version}, {kind}', counts_stand_in, path, environment, kind)
        check(f'{version}, short passes', follows_short_ones, path, environment, 'short')
        check(f'{version}, sized', measures, path, environment)
        check(f'{version}, restless', never_lies, path, environment)
        check(f'{version}, garbage', is_not_fooled, path, environment)
        check(f'{version}, ends', outlives_it, path, environment)
        for kind in ('enumerate', 'in_globals', 'in_attribute'):
            check(f'{version}, {kind}, seldom seen', meets_slow_ones, path, kind, environment)
    failed = try_all(checks, AT_A_TIME)
for program in idle:
    program.end()
sys.exit(failed)
