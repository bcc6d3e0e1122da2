"""Loops of every kind, with the truth about them: loops.py KIND SECONDS [PAUSE] writes "ready", waits for a line, repeats the kind, and writes what each
loop had done when: {key: [[ns, position]…]}, each entry written just after that item was delivered. A comment `# loop KEY` marks the line of a `for`,
`# int KEY` an assignment. For tests/terminal/loops.py; runs on CPython 3.8 and newer."""
import asyncio
import contextlib
import itertools
import json
import os
import sys
import time

import loops_generators
import loops_wrapped

LOG = {}
PAUSE = 0.0005


def log(key, value, pause=None):
    LOG.setdefault(key, []).append((time.monotonic_ns(), value))
    pause = PAUSE if pause is None else pause
    if pause:
        time.sleep(pause)


def ticker(key):
    done = 0

    def tick():
        nonlocal done
        done += 1
        log(key, done)
        return done
    return tick


def nested():
    k = 0
    for _ in range(3):  # loop nested.outer
        k += 1
        log('nested.outer', k)
        j = 0
        for _ in range(2, 61, 3):  # loop nested.inner
            j += 1
            log('nested.inner', j)


def enumerates():
    items = list(range(30))
    tick = ticker('enumerates.plain')
    for _i, _x in enumerate(items):  # loop enumerates.plain
        tick()
    tick = ticker('enumerates.from_one')
    for _i, _x in enumerate(items, 1):  # loop enumerates.from_one
        tick()
    tick = ticker('enumerates.from_seven')
    for _i, _x in enumerate(range(len(items) - 5), start=7):  # loop enumerates.from_seven
        tick()
    k = 0
    start = 3
    for _i, _x in enumerate(items, start):  # loop enumerates.from_variable
        k += 1
        log('enumerates.from_variable', k)
    numbers = list(range(1000))
    near, far = iter(numbers), iter(numbers)
    for _ in range(500):
        next(far)
    for turn in range(20):
        # The one before is freed only now, and its source lives on.
        taken = enumerate(far if turn % 2 else near, start)
        for i, x in taken:  # loop enumerates.swapped
            log('enumerates.swapped', x + 1)
            if i > start:
                break


def sequences():
    class Data:
        def __getitem__(self, index):
            if index == 25:
                raise IndexError
            return index
    tick = ticker('sequences.list')
    for _ in [None] * 20:  # loop sequences.list
        tick()
    tick = ticker('sequences.tuple')
    for _ in tuple(range(20)):  # loop sequences.tuple
        tick()
    tick = ticker('sequences.list_reversed')
    for _ in reversed([None] * 20):  # loop sequences.list_reversed
        tick()
    tick = ticker('sequences.data')
    for _ in Data():  # loop sequences.data
        tick()
    k = 0
    growing = [0] * 10
    for _ in growing:  # loop sequences.growing
        k += 1
        log('sequences.growing', k)
        if k < 15:
            growing.append(k)
    for _ in 'täxt':
        for _ in b'bytes':
            k = 0
            for _ in [None] * 3:  # loop sequences.in_texts
                k += 1
                log('sequences.in_texts', k)


def ranges():
    whole = range(5, 35)
    tick = ticker('ranges.of_local')
    for _ in whole:  # loop ranges.of_local
        tick()
    begin = 4
    tick = ticker('ranges.of_variable')
    for _ in range(begin, 30):  # loop ranges.of_variable
        tick()
    tick = ticker('ranges.of_iter')
    for _ in iter(range(5, 25)):  # loop ranges.of_iter
        tick()
    tick = ticker('ranges.down')
    for _ in range(20, 0, -1):  # loop ranges.down
        tick()
    tick = ticker('ranges.of_choice')
    for _ in range(int(len(whole) / 2) if whole else 7):  # loop ranges.of_choice
        tick()
    tick = ticker('ranges.of_expression')
    for _ in range(max(len(whole) - 3, 2) * 1):  # loop ranges.of_expression
        tick()
    k = 0
    used = iter(range(40))
    next(used)
    next(used)
    for _ in used:  # loop ranges.used
        k += 1
        log('ranges.used', k)


def zips():
    tick = ticker('zips.zip')
    for _ in zip([None] * 30, range(20), itertools.count()):  # loop zips.zip
        tick()
    k = 0

    def slow(x):
        time.sleep(PAUSE)
        return x
    for _ in map(slow, [None] * 20):  # loop zips.map
        k += 1
        log('zips.map', k)
    tick = ticker('zips.enumerate')
    for _ in enumerate(zip([None] * 22, (None,) * 30)):  # loop zips.enumerate
        tick()


def islices():
    loops_wrapped.islices(ticker)


def wrapped():
    loops_wrapped.wrapped(ticker)


def batches(count, size):
    for first in range(0, count, size):
        time.sleep(PAUSE)
        data = [None] * size
        yield first, data
        time.sleep(PAUSE)


def generators():
    tick = ticker('generators.batches')
    for _ in batches(80, 4):  # loop generators.batches
        tick()
    tick = ticker('generators.enumerate')
    for _ in enumerate(batches(80, 4)):  # loop generators.enumerate
        tick()
    tick = ticker('generators.expression')
    for _ in (x for x in range(25)):  # loop generators.expression
        tick()
    tick = ticker('generators.of_generator')
    for _ in (x for x in batches(60, 4)):  # loop generators.of_generator
        tick()

    def delegating():
        yield from [None] * 21
    tick = ticker('generators.delegating')
    for _ in delegating():  # loop generators.delegating
        tick()

    def delegating_inside():
        with contextlib.suppress(KeyError):
            yield from batches(72, 4)
    tick = ticker('generators.delegating_inside')
    for _ in delegating_inside():  # loop generators.delegating_inside
        tick()
    tick = ticker('generators.elsewhere')
    for _ in loops_generators.elsewhere(PAUSE):  # loop generators.elsewhere
        tick()
    loops_generators.counted(ticker, PAUSE)


def whiles():
    iter_num = 0
    while True:
        log('whiles.iter_num', iter_num)
        micro = 0
        for _ in range(4):  # loop whiles.micro
            micro += 1
            log('whiles.micro', micro)
        iter_num += 1  # int whiles.iter_num
        log('whiles.iter_num', iter_num, 0)
        if iter_num > 12:
            break
    step = 500
    log('whiles.step', step)
    while step < 530:
        step += 1  # int whiles.step
        log('whiles.step', step)
    at, size, added = 0, 64, 0
    log('whiles.at', added)
    while at < 1920:
        at += size  # int whiles.at
        added += 1
        log('whiles.at', added)


def blocks():
    k = 0
    with contextlib.suppress(KeyError):
        for _ in range(25):  # loop blocks.within
            with contextlib.suppress(KeyError):
                k += 1
                log('blocks.within', k)
                j = 0
                for _ in [None] * 3:  # loop blocks.deep
                    with contextlib.suppress(KeyError), contextlib.suppress(ValueError):
                        j += 1
                        log('blocks.deep', j)
                        if j == 2:
                            raise KeyError
    k = 0
    for _ in range(25):  # loop blocks.tried
        k += 1
        try:
            if k % 3 == 0:
                raise KeyError
            log('blocks.tried', k)
        except KeyError:
            log('blocks.tried', k)
            continue
        finally:
            time.sleep(PAUSE)
        time.sleep(PAUSE)


def handled():
    epoch = 0
    for _ in range(3):  # loop handled.epoch
        epoch += 1
        log('handled.epoch', epoch)
        items, n = iter(range(20)), 0
        log('handled.n', n, 0)
        while True:
            try:
                next(items)
            except StopIteration:
                break
            log('handled.n', n)
            n += 1  # int handled.n
            log('handled.n', n)
    turn = 0
    for _ in range(3):  # loop handled.turn
        turn += 1
        log('handled.turn', turn)
        items, m = iter(range(20)), 0
        log('handled.m', m, 0)
        with contextlib.suppress(StopIteration):
            while True:
                next(items)
                log('handled.m', m)
                m += 1  # int handled.m
                log('handled.m', m)


def leaving():
    """Loops that are left in many ways, and begin again."""
    def find(number):
        k = 0
        for _ in range(30):  # loop leaving.found
            k += 1
            log('leaving.found', k)
            if k == number:
                return number
        return None

    def fail(number):
        k = 0
        for _ in [None] * 30:  # loop leaving.failed
            k += 1
            log('leaving.failed', k)
            if k == number:
                raise KeyError(number)
    for number in (3, 17, 40, 5, 29):
        find(number)
        try:
            fail(number)
        except KeyError:
            log('leaving.pause', number)
        k = 0
        for _ in range(number):  # loop leaving.broken
            k += 1
            log('leaving.broken', k)
            if k == 10:
                time.sleep(PAUSE)
                break
        else:
            time.sleep(PAUSE)
        time.sleep(3 * PAUSE)


def comprehensions():
    def count(k):
        log('comprehensions.inner', k)
        return k
    k = 0
    for _ in range(5):  # loop comprehensions.outer
        k += 1
        log('comprehensions.outer', k)
        _ = [count(x) for x in range(1, 16)]  # loop comprehensions.inner
        _ = {count(x): [y for y in range(2)] for x in range(1, 11)}


def recursion(depth=3):
    k = 0
    for _ in range(4):  # loop recursion.level
        k += 1
        log('recursion.level#%d' % depth, k)
        if depth:
            recursion(depth - 1)


def closures():
    total = 0
    log('closures.total', total)

    def add():
        nonlocal total
        for _ in range(10):
            total += 1  # int closures.total
            log('closures.total', total)
    k = 0
    for _ in range(3):  # loop closures.outer
        k += 1
        log('closures.outer', k)
        add()
    return lambda: total


MODULE = '''
import time
counter = 0
log('module.counter', counter)
while counter < 40:
    counter += 1
    log('module.counter', counter)
    inner = 0
    for _ in range(3):
        inner += 1
        log('module.inner', inner)
'''


def module():
    exec(compile(MODULE, 'module.py', 'exec'), {'log': log, '__name__': 'module'})


shared = 0


def globals_():
    global shared
    while shared < 50:
        shared += 1  # int globals_.shared
        log('globals_.shared', shared)
    shared = 0
    log('globals_.shared', shared)


def extended():
    """Jumps and locals that need more than a byte."""
    lines = ['def f(log):', '    k = 0', '    for x in range(30):', '        k += 1', "        log('extended.outer', k)", '        j = 0',
             '        for y in [None] * 3:', '            j += 1', "            log('extended.inner', j)"]
    lines += ['            if j > 99: v%d = %d.5 + j' % (i, i) for i in range(400)]
    lines += ['        if k > 99: w%d = %d.5 + k' % (i, i) for i in range(400)]
    names = {'log': log}
    exec(compile('\n'.join(lines), 'extended.py', 'exec'), names)
    names['f'](log)


def bars():
    class Data:
        def __len__(self):
            return 20

        def __iter__(self):
            return map(str, itertools.chain([1] * 10, [2] * 10))
    if os.environ.get('REAL_TQDM'):
        from tqdm import tqdm as make
    else:
        from stand_in_tqdm import tqdm as make
    tick = ticker('bars.range')
    for _ in make(range(25)):  # loop bars.range
        tick()
    tick = ticker('bars.batches')
    for _ in make(batches(80, 4), total=20):  # loop bars.batches
        tick()
    tick = ticker('bars.enumerate')
    for _ in enumerate(make([None] * 22)):  # loop bars.enumerate
        tick()
    tick = ticker('bars.own')
    for _ in make(Data()):  # loop bars.own
        tick()
    pbar = make(total=30)
    done = 0
    log('bars.pbar', done)
    while done < 30:
        done += 2
        pbar.update(2)
        log('bars.pbar', done)


def rich_bars():
    loops_wrapped.rich_bars(ticker, log, batches, PAUSE)


def states():
    from hostile_objects import Trainer, TrainerState
    trainer = Trainer()
    for start in (0, 100):
        trainer.state = TrainerState()
        trainer.state.max_steps, trainer.state.global_step = start + 30, start
        log('states.global_step', start)
        while trainer.state.global_step < trainer.state.max_steps:
            trainer.state.global_step += 1
            log('states.global_step', trainer.state.global_step)


def hostile():
    from hostile_objects import Endless, TrainerState, objects
    bar, own, empty, state, trainer, lying, slots = objects()
    k, huge, negative, flag = 0, 1 << 90, 0, False
    for _ in Endless():
        k += 1
        log('hostile.k', k)
        huge += 1
        negative -= 1
        flag = not flag
        bar.n += 'x'
        state = TrainerState() if k % 10 == 0 else state
        state.global_step = [True, -5, 1 << 80, 'x', 2.5, None][k % 6]
        if k == 30:
            break
    for k in range(1 << 70, (1 << 70) + 20):
        log('hostile.k', k - (1 << 70) + 1)
    return lying, slots, huge, negative, flag, own, empty, trainer


def dying():
    """Generators that end while a loop asks them, and loops over iterators that raise."""
    def short(count, how):
        for i in range(30):
            if i == count:
                if how:
                    raise KeyError
                return
            yield i
    for count in (5, 12, 1, 20):
        for how in (False, True):
            k = 0
            try:
                for _ in short(count, how):  # loop dying.short
                    k += 1
                    log('dying.short', k)
            except KeyError:
                log('dying.pause', k)
    k = 0
    generator = batches(400, 4)
    for _ in generator:  # loop dying.closed
        k += 1
        log('dying.closed', k)
        if k == 9:
            generator.close()


def coroutines():
    async def ticks(count):
        for i in range(count):
            yield i
            await asyncio.sleep(0)

    async def main():
        k = 0
        for _ in range(15):  # loop coroutines.range
            k += 1
            log('coroutines.range', k)
            await asyncio.sleep(PAUSE)
        m = 0
        async for _ in ticks(15):
            m += 1
            log('coroutines.m', m)
    asyncio.run(main())


def losses():
    loss = 1.0
    log('losses.loss', loss)
    for i in range(20):  # loop losses.range
        log('losses.range', i + 1)
        loss = 0.5 ** i
        log('losses.loss', loss)


def meters():
    """A meter as in PyTorch's ImageNet example; before the first loss its value is an int."""
    losses = loops_wrapped.Meter()
    for i in range(20):  # loop meters.range
        log('meters.range', i + 1)
        losses.val = 0.5 ** i
        log('meters.loss', losses.val)


KINDS = [nested, enumerates, sequences, ranges, zips, islices, wrapped, generators, whiles, blocks, handled, leaving, comprehensions, recursion, closures, module,
         globals_, extended, bars, rich_bars, states, hostile, dying, coroutines, losses, meters]


ELSEWHERE = {'irregular': lambda: loops_generators.irregular(log), 'gathers': lambda: loops_generators.gathers(ticker), 'own': lambda: loops_generators.own(ticker),
             'changes': lambda: loops_wrapped.changes(ticker), 'calls': lambda: loops_generators.calls(log, PAUSE), 'attributes': lambda: loops_generators.attributes(log, PAUSE)}


def main():
    global PAUSE
    sums = loops_wrapped.Sums(log)
    ELSEWHERE.update(listed=lambda: loops_wrapped.Lists(log).run(), summed=sums.run, numbers=lambda: loops_wrapped.numbers(log))
    kind = {**{function.__name__: function for function in KINDS}, **ELSEWHERE}[sys.argv[1]]
    PAUSE = float(sys.argv[3]) if len(sys.argv) > 3 else PAUSE
    print('ready', flush=True)
    sys.stdin.readline()
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        kind()
    print(json.dumps(LOG), flush=True)


if __name__ == '__main__':
    main()
