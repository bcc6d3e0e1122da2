#!/usr/bin/env python3
"""What publishing from Python costs, beside what people use; then what pmtop.torch.instrument() costs a training step.

Prints rows for tests/bench/run (see there). A round times every subject once, in turn; a ratio is formed within its round. Times are CPU time of
the thread, of statements as people write them. Runs in build/python-venv, which `make check-python` makes; what is not there is said.
PMTOP_BENCH_SMOKE=1 only shows that it works.
"""
import gc
import json
import mmap
import operator
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time

BUILD = os.path.abspath(os.environ.get('PMTOP_BUILD', 'build'))
VENV = os.path.join(BUILD, 'python-venv')
SITE = os.path.join(BUILD, 'python', 'site')
SMOKE = os.environ.get('PMTOP_BENCH_SMOKE') == '1'
ROUNDS, CALLS, UNROLLED = (5, 100, 10) if SMOKE else (101, 1000, 10)
STEP_S, WIDTH = 2e-3, 256
FEW_AND_MANY = 10, 40

# What is timed: a share of the calls, and the statement.
STATEMENTS = {
    'call': (1, 'operator.is_(None, None)'),
    'clocks': (1, 'begin = time.perf_counter(); taken = time.perf_counter() - begin'),
    'tqdm': (1, 'bar.update(1)'),
    'record_function': (10, 'with record_function("forward"): pass'),
    'gauge': (1, 'pmtop.gauge("figure", 0.5)'),
    'count': (1, 'pmtop.count("figures")'),
    'mark': (1, 'pmtop.mark("saved")'),
    'batch': (1, 'pmtop.batch_begin(7); pmtop.batch_end(0.5)'),
    'evidence': (10, 'pmtop.batch_begin(7); wait(); pmtop.batch_end(0.5)'),
    'span': (1, 'with pmtop.span("forward"): pass'),
    'kept span': (1, 'with kept: pass'),
    'past': (1, 'pmtop.span_past("forward", now, now)'),
}
# In processes of their own, where nothing is published: why, and what says so.
DISABLED = {'PMTOP=0': ({'PMTOP': '0'}, True), 'init(enabled=False)': ({}, False)}
DISABLED_STATEMENTS = ('gauge', 'span', 'kept span', 'batch')


def say(*fields):
    print(*fields, sep='\t', flush=True)


def row(claim, values, limit, unit, anchor):
    values = sorted(values)
    spread = values[len(values) // 10], values[-1 - len(values) // 10]
    say('row', claim, *(f'{value:.4g}' for value in (statistics.median(values), *spread)), limit or '-', unit, anchor)


def busy_until(seconds):
    """Something that takes so long that the end of a batch asks the kernel for evidence."""
    def wait():
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
    return wait


def loop_over(statement, names):
    """A function that runs the statement count x UNROLLED times."""
    body = ''.join(f'        {statement}\n' for _ in range(UNROLLED))
    exec(f'def loop(count):\n    for _ in range(count):\n{body}', names)
    return names['loop']


def timers(wanted, names):
    """name -> a function that times one round, ns a statement."""
    def timer(share, statement):
        loop, count = loop_over(statement, dict(names)), max(1, CALLS // share)

        def timed():
            begin = time.thread_time_ns()
            loop(count)
            return (time.thread_time_ns() - begin) / count / UNROLLED
        return timed
    return {name: timer(*STATEMENTS[name]) for name in wanted}


class Disabled:
    """A process in which nothing is published; it times a round when asked."""

    def __init__(self, environment, enabled):
        self.process = subprocess.Popen([sys.executable, __file__, 'disabled', str(int(enabled))], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=dict(os.environ, **environment))

    def times(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve_disabled(enabled):
    import pmtop
    assert not pmtop.init('bench', enabled=enabled)
    timed = timers(DISABLED_STATEMENTS, {'pmtop': pmtop, 'kept': pmtop.span('kept')})
    for _ in sys.stdin:
        print(json.dumps({name: timer() for name, timer in timed.items()}), flush=True)


def time_calls(pmtop):
    """subject -> ns in each round."""
    names = {'pmtop': pmtop, 'operator': operator, 'time': time, 'kept': pmtop.span('kept'), 'now': pmtop.now_ns(), 'wait': busy_until(60e-6)}
    absent = set()
    try:
        from tqdm import tqdm
        names['bar'] = tqdm(file=open(os.devnull, 'w'))
    except ImportError:
        absent.add('tqdm')
    try:
        from torch.profiler import record_function
        names['record_function'] = record_function
    except ImportError:
        absent.add('record_function')
    timed = timers([name for name in STATEMENTS if name not in absent], names)
    timed['wait'] = timers(['evidence'], dict(names, pmtop=NothingToPublish))['evidence']
    others = {why: Disabled(*how) for why, how in DISABLED.items()}
    taken = {name: [] for name in timed}
    try:
        for _ in range(ROUNDS):
            for name, timer in timed.items():
                taken[name].append(timer())
            for why, process in others.items():
                for name, ns in process.times().items():
                    taken.setdefault((why, name), []).append(ns)
    finally:
        for process in others.values():
            process.close()
    taken['evidence'] = [both - wait for both, wait in zip(taken['evidence'], taken.pop('wait'))]
    return taken


class NothingToPublish:
    """What the loop around a batch with evidence costs by itself."""
    @staticmethod
    def batch_begin(index):
        pass

    @staticmethod
    def batch_end(loss):
        pass


def print_calls(taken):
    medians = {name: statistics.median(values) for name, values in taken.items()}
    ratio = lambda a, b: [x / y for x, y in zip(taken[a], taken[b])]
    call = f'bare C call {medians["call"]:.1f} ns'
    clocks = f'perf_counter pair {medians["clocks"]:.0f} ns, {call}'
    row('Python gauge ÷ a perf_counter pair', ratio('gauge', 'clocks'), 0.6, '×', clocks)
    for claim, name in (('count', 'count'), ('mark', 'mark'), ('span added afterwards', 'past'), ('batch begin+end, no evidence', 'batch')):
        row(f'Python {claim} ÷ a perf_counter pair', ratio(name, 'clocks'), None, '×', clocks)
    row('Python batch begin+end with evidence', [ns / 1000 for ns in taken['evidence']], None, 'us', clocks)
    for claim, name in (('`with span`', 'span'), ('`with` a kept span', 'kept span')):
        row(f'Python {claim}', taken[name], None, 'ns', clocks)
        for other in ('tqdm', 'record_function'):
            beside = {'tqdm': 'tqdm.update', 'record_function': 'record_function, no profiler'}[other]
            claims = f'{claim} ÷ {beside}'
            if other not in taken:
                say('absent', claims, f'no {other.partition("_")[0].replace("record", "torch")} here: make check-python installs it')
            elif name == 'span' or other == 'record_function':
                row(claims, ratio(name, other), 0.0333 if other == 'record_function' else None, '×', f'{beside} {medians[other]:.0f} ns')
    for why in DISABLED:
        for name, claim, calls in (('gauge', 'gauge', 1), ('span', '`with span`', 1), ('kept span', '`with` a kept span', 1), ('batch', 'batch_begin or _end', 2)):
            row(f'{claim}, {why}', [ns / calls for ns in taken[why, name]], 60, 'ns', call)


# -- a training step of about 2 ms -------------------------------------------------------------------------------------------------

def train(steps, samples, width, how):
    """Trains on one CPU thread. Prints CPU seconds of each step, and the events of one as {statement: count}; how: "plain" or "instrumented"."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if how == 'instrumented':
        import pmtop.torch
        pmtop.torch.instrument()
    model = nn.Sequential(nn.Linear(128, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    data = TensorDataset(torch.randn(steps * samples, 128), torch.randint(0, 10, (steps * samples,)))
    taken, begin = [], time.process_time()
    for inputs, targets in DataLoader(data, batch_size=samples):
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        now = time.process_time()
        taken.append(now - begin)
        begin = now
    print(json.dumps({'taken': taken, 'events': events_of_a_step() if how == 'instrumented' else {}}))


def alternate(steps, rounds):
    """Trains steps that do next to nothing, plain and instrumented in turn in one process: other steps have the same added to them, but there
    it can be seen. Prints of each round by how many CPU seconds a step is longer, and the first loop once more: {"step": [], "once": []}."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    import pmtop.torch
    torch.set_num_threads(1)
    model, criterion = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(TensorDataset(torch.randn(steps, 2), torch.randint(0, 2, (steps,))), batch_size=1)

    def block():
        begin = time.thread_time_ns()
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
        return (time.thread_time_ns() - begin) / steps / 1e9

    def instrumented():
        """The second loop: the first step after instrument() has a cost of its own, which is no part of the others'."""
        with pmtop.torch.instrument():
            first, later = block(), block()
        once.append((first - later) * steps)
        return later

    once, more = [], []
    block(), instrumented()
    for number in range(rounds):
        first, second = (block, instrumented) if number % 2 else (instrumented, block)
        taken = {first: first(), second: second()}
        more.append(taken[instrumented] - taken[block])
    print(json.dumps({'step': more, 'once': once[1:]}))


# Its layout, as far as it is read here, and the statement whose cost stands for an event of each type.
HEADER = struct.Struct('<8sIIIIQQQ16s16s16siIQII')
SECTION, SLOT = struct.Struct('<IIQQQ'), struct.Struct('<IIQQ5Q')
LANES, SLOTS, BATCH_END = 1, 2, 4
TYPES = {1: 'mark', 2: 'mark', 3: 'batch', 4: 'batch', 5: 'evidence', 6: 'span', 7: 'gauge', 8: 'mark', 9: 'mark', 10: 'gauge'}


def events_of_a_step():
    """What this process published between the ends of the 4th and the 3rd last batch: {statement: count}; see pmtop-region(7)."""
    import glob
    path, = glob.glob(f'/dev/shm/pmtop.{os.getuid()}.{os.getpid()}.*')
    with open(path, 'rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as region:
        count = HEADER.unpack_from(region)[-1]
        sections = {section[0]: section for section in (SECTION.unpack_from(region, 240 + i * SECTION.size) for i in range(count))}
        lanes, slots = sections[LANES], sections[SLOTS]
        per_lane = slots[4] // lanes[4]
        events = []
        for lane in range(lanes[4]):
            head, = struct.unpack_from('<Q', region, lanes[2] + lane * lanes[1])
            for number in range(max(0, head - per_lane), head):
                slot = SLOT.unpack_from(region, slots[2] + (lane * per_lane + number % per_lane) * slots[1])
                events.append((slot[2], slot[1] & 0xffff))
    events.sort(key=lambda event: event[0])
    ends = [time_ns for time_ns, kind in events if kind == BATCH_END]
    kinds = [TYPES.get(kind, 'mark') for time_ns, kind in events if ends[-4] < time_ns <= ends[-3]]
    return {kind: kinds.count(kind) for kind in set(kinds)}


def run_child(*arguments, under=()):
    """What this program, with these arguments, printed last, and standard error. Hashes and addresses stay the same: so do instructions."""
    done = subprocess.run([*under, sys.executable, __file__, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=dict(os.environ, PYTHONHASHSEED='0', OMP_NUM_THREADS='1', MKL_NUM_THREADS='1'))
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ['no word'])[-1])
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def run_train(steps, samples, width, how):
    return run_child('train', steps, samples, width, how)[0]


def samples_for(seconds):
    """The batch size with which a plain step takes about so long."""
    samples = 64
    for _ in range(3):
        reported = run_train(60, samples, WIDTH, 'plain')
        samples = max(8, round(samples * seconds / statistics.median(reported['taken'])))
    return samples


def print_step(taken):
    """Published events x what each costs, and all that comes with them, over the time of a step; the batch size that makes it so long."""
    samples = samples_for(STEP_S)
    plain, reported = (run_train(200, samples, WIDTH, how) for how in ('plain', 'instrumented'))
    step_s, events = statistics.median(plain['taken']), reported['events']
    batch = 'evidence' if events.pop('evidence', 0) else 'batch'
    parts = [(count / 2, batch) if kind == 'batch' else (count, kind) for kind, count in events.items()]
    costs = [sum(count * taken[kind][i] for count, kind in parts) for i in range(len(taken['gauge']))]
    listed = ', '.join(f'{count} {kind}' for kind, count in sorted(events.items()))
    row('events of a 2 ms torch step: calls × cost', [ns / 1e9 / step_s * 100 for ns in costs], None, '%', f'step {step_s * 1000:.2f} ms: {listed}')
    reported = run_child('alternate', *((20, 3) if SMOKE else (200, 61)))[0]
    more = reported['step']
    # No gate: its spread is wider than the limit. That is for the instructions.
    row('instrument(), a 2 ms torch step, by CPU time', [seconds / STEP_S * 100 for seconds in more], None, '%',
        f'{statistics.median(more) * 1e6:.1f} us more a step, hooks included')
    row('instrument(), the first step after it, once', [seconds * 1000 for seconds in reported['once']], None, 'ms', 'CPU time')
    return samples


def count_instructions(samples):
    """Trains for few and for many steps, plain and instrumented, each in a forked child, for torch starts slowly under valgrind. Prints
    {process: [how, steps]}; valgrind says how many instructions each process had executed at its end."""
    import torch.utils.data
    torch.set_num_threads(1)
    train(5, samples, WIDTH, 'plain')        # what torch loads at first use, for all
    gc.collect()
    gc.freeze()        # else one collection more or less in the steps counted, which each child has elsewhere, is more than all the rest
    children = {}
    for how in ('plain', 'instrumented'):
        for steps in FEW_AND_MANY:
            child = os.fork()
            if not child:
                try:
                    train(steps, samples, WIDTH, how)
                    sys.stdout.flush()
                except BaseException as error:
                    print(error, file=sys.stderr, flush=True)
                    os._exit(1)
                os._exit(0)
            children[child] = how, steps
            if os.waitpid(child, 0)[1] != 0:
                sys.exit(f'{how}: the child failed')
    print(json.dumps(children))


def print_instructions(samples):
    claim = '  the same by instructions (valgrind)'
    if SMOKE:
        return say('absent', claim, 'left out of a smoke run: torch starts slowly there')
    if not shutil.which('valgrind'):
        return say('absent', claim, 'no valgrind here (Debian: valgrind)')
    children, said = run_child('count', samples, under=['setarch', '-R', 'valgrind', '--tool=cachegrind', '--cache-sim=no',
                                                        '--cachegrind-out-file=/dev/null'])
    counts = {(how, steps): int(re.search(rf'^=={pid}== I +refs: +([0-9,]+)', said, re.MULTILINE).group(1).replace(',', ''))
              for pid, (how, steps) in children.items()}
    few, many = FEW_AND_MANY
    plain, instrumented = ((counts[how, many] - counts[how, few]) / (many - few) for how in ('plain', 'instrumented'))
    row(claim, [(instrumented - plain) / plain * 100], 0.5, '%', f'step {plain / 1e6:.3g} million instructions, {instrumented - plain:,.0f} more')


def main():
    if os.access(VENV + '/bin/python', os.X_OK) and os.path.realpath(sys.prefix) != os.path.realpath(VENV):
        os.execv(VENV + '/bin/python', [VENV + '/bin/python', *sys.argv])
    if os.path.isdir(SITE):
        sys.path.insert(0, SITE)
        os.environ['PYTHONPATH'] = SITE
    os.environ.pop('PMTOP', None)
    try:
        import pmtop
    except ImportError as error:
        return say('absent', 'Python', f'{error}: make check-python makes what this needs')
    if not pmtop.init('bench'):
        sys.exit('bench_python: no region could be made')
    taken = time_calls(pmtop)
    print_calls(taken)
    try:
        import torch
        import pmtop.torch
    except ImportError as error:
        return say('absent', 'cost of everything on a torch step', f'{error}: make check-python installs it')
    print_instructions(print_step(taken))


if sys.argv[1:2] == ['disabled']:
    serve_disabled(sys.argv[2] == '1')
elif sys.argv[1:2] == ['train']:
    train(*map(int, sys.argv[2:5]), sys.argv[5])
elif sys.argv[1:2] == ['alternate']:
    alternate(*map(int, sys.argv[2:4]))
elif sys.argv[1:2] == ['count']:
    count_instructions(int(sys.argv[2]))
else:
    main()
