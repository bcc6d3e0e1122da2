"""Loops of loops.py over itertools, and with the bars of rich."""
import itertools
import os
import random
import time


def islices(ticker):
    tick = ticker('islices.count')
    for _ in itertools.count():  # loop islices.count
        if tick() == 20:
            break
    tick = ticker('islices.count_from')
    for _ in itertools.count(5):  # loop islices.count_from
        if tick() == 20:
            break
    tick = ticker('islices.endless')
    for _ in itertools.islice(itertools.count(), 25):  # loop islices.endless
        tick()
    tick = ticker('islices.short')
    for _ in itertools.islice([None] * 15, 25):  # loop islices.short
        tick()
    tick = ticker('islices.from_five')
    for _ in itertools.islice([None] * 40, 5, None):  # loop islices.from_five
        tick()
    tick = ticker('islices.chain')
    for _ in itertools.chain([None] * 10, [None] * 10):  # loop islices.chain
        tick()


def wrapped(ticker):
    tick = ticker('wrapped.chain')
    for _ in itertools.chain([None] * 20, range(20)):  # loop wrapped.chain
        tick()
    tick = ticker('wrapped.cycle')
    for _ in itertools.cycle([None] * 40):  # loop wrapped.cycle
        if tick() == 130:
            break
    tick = ticker('wrapped.repeat')
    for _ in itertools.repeat(None, 30):  # loop wrapped.repeat
        tick()
    times = 30
    tick = ticker('wrapped.repeat_of_variable')
    for _ in itertools.repeat(None, times):  # loop wrapped.repeat_of_variable
        tick()
    tick = ticker('wrapped.takewhile')
    for _ in itertools.takewhile(lambda number: number < 25, list(range(40))):  # loop wrapped.takewhile
        tick()
    tick = ticker('wrapped.starmap')
    for _ in itertools.starmap(max, [(1, 2)] * 20):  # loop wrapped.starmap
        tick()
    tick = ticker('wrapped.accumulate')
    for _ in itertools.accumulate([1] * 20):  # loop wrapped.accumulate
        tick()
    tick = ticker('wrapped.zip_longest')
    for _ in itertools.zip_longest([None] * 10, [None] * 25):  # loop wrapped.zip_longest
        tick()
    tick = ticker('wrapped.tee')
    for _ in itertools.tee([None] * 40)[0]:  # loop wrapped.tee
        tick()
    tick = ticker('wrapped.pairwise')
    for _ in itertools.pairwise([None] * 30) if hasattr(itertools, 'pairwise') else ():  # loop wrapped.pairwise
        tick()
    tick = ticker('wrapped.pairwise_enumerated')
    for _ in enumerate(itertools.pairwise([None] * 40)) if hasattr(itertools, 'pairwise') else ():  # loop wrapped.pairwise_enumerated
        tick()
    tick = ticker('wrapped.batched')
    for _ in itertools.batched([None] * 90, 4) if hasattr(itertools, 'batched') else ():  # loop wrapped.batched
        tick()


class Opaque:
    """An iterator over an object that is not to be read: of itself nothing says how far it is."""

    def __init__(self, count):
        self.items = filter(None, map(str, range(count)))

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.items), None

    def ask(self):
        return next(self.items, None)


def changes_of_others(ticker):
    tick = ticker('changes.sometimes')
    items = Opaque(20)
    while items is not None:  # loop changes.sometimes
        if tick() % 2:
            item = items.ask()
            items = items if item is not None else None
    tick = ticker('changes.twice')
    for item in filter(None, map(str, range(20))):  # loop changes.twice
        item = item + '!'
        tick()
    tick = ticker('changes.deleted')
    for item in filter(None, map(str, range(20))):  # loop changes.deleted
        tick()
        del item


def changes(ticker):
    global shared
    tick = ticker('changes.unpacked')
    for name, _ in Opaque(20):  # loop changes.unpacked
        tick()
    tick, items = ticker('changes.asked'), Opaque(20)
    while tick():  # loop changes.asked
        asked = items.ask()
        if asked is None:
            break
    tick = ticker('changes.shared')
    for shared in filter(None, map(str, range(20))):  # loop changes.shared
        tick()
    tick = ticker('changes.in_cell')
    for held in filter(None, map(str, range(20))):  # loop changes.in_cell
        (lambda: held)()
        tick()
    changes_of_others(ticker)


def rich_bars(ticker, log, batches, pause):
    from rich.console import Console
    from rich.progress import Progress, track
    with open(os.devnull, 'w') as nothing:
        console = Console(file=nothing)
        tick = ticker('rich_bars.track')
        for _ in track(range(25), console=console):  # loop rich_bars.track
            tick()
        tick = ticker('rich_bars.generator')
        for _ in track(batches(80, 4), total=20, console=console):  # loop rich_bars.generator
            tick()
        with Progress(console=console) as shown:
            task, done = shown.add_task('train', total=60), 0
            log('rich_bars.task', done)
            while done < 60:
                done += 2
                shown.update(task, advance=2)
                log('rich_bars.task', done)
                time.sleep(pause)


class Meter:
    def __init__(self):
        self.val = self.avg = self.sum = self.count = 0


class Number(float):
    """As a tensor of one number."""

    def item(self):
        return float(self)


class Lists:
    """Each way to append a loss to a list; the last ones are not of a batch."""

    def __init__(self, log):
        self.log, self.losses, self.history = log, [], {'loss': []}

    def run(self):
        losses, log = [], self.log
        for i in range(20):  # loop listed.range
            log('listed.range', i + 1)
            l = Number(0.5 ** i)
            losses.append(l.item())
            log('listed.loss', losses[-1])
        for i in range(5):
            l = Number(1.5 ** i)
            self.losses.append(float(l))
            log('listed.loss', self.losses[-1])
        for i in range(5):
            self.loss = Number(2.5 ** i)
            self.history['loss'].append(self.loss.item())
            log('listed.loss', self.history['loss'][-1])
        train_losses, val_losses, cost = [], [], 0.0
        for i in range(5):
            l = Number(3.5 ** i)
            train_losses += [l.item()]
            log('listed.loss', train_losses[-1])
        others = []
        for i in range(10):
            l = Number(4.5 ** i)
            others.append(l.item() * 2)
            val_losses.append(l.item())
            cost += l.item() * 2
            others.append(cost)
            log('listed.range', 0)


class Sums:
    """Each way to add a loss to a sum; the last ones are not of a batch, or may be reset unseen. A total is that of no other moment."""

    def __init__(self, log):
        self.log, self.total, self.passes, self.stats = log, 0.0, 0, {'loss': 0.0}

    def run(self):
        log, total = self.log, 0.0
        self.passes += 1
        for i in range(20):  # loop summed.range
            log('summed.range', i + 1)
            l = Number(random.random())
            total += l.item()
            log('summed.loss', [self.passes, i + 1, total])
        total = 0.25
        for i, _ in enumerate(range(20)):
            l = Number(random.random())
            total = total + float(l)
            log('summed.loss', [self.passes + 0.25, i + 1, total])
        self.total = 0.5
        for i in range(20):
            l = Number(random.random())
            log('summed.before', i)
            self.total += l.item()
            log('summed.loss', [self.passes + 0.5, i + 1, self.total])
        self.stats['loss'] = 0.75
        for i in range(20):
            l = Number(random.random())
            log('summed.before', i)
            self.stats['loss'] += l.item()
            log('summed.loss', [self.passes + 0.75, i + 1, self.stats['loss']])
        total, size = 0.0, 7
        for i in range(30):
            l = Number(random.random())
            log('summed.before', i)
            total += l.item()
            log('summed.loss', [self.passes + 0.125, i + 1, total, i // 10])
            if i % 10 == 9:
                total = 0.0
        for i in range(21):
            l = Number(random.random())
            log('summed.before', i)
            total += l.item()
            log('summed.loss', [self.passes + 0.375, i + 1, total, i // 7])
            if (i + 1) % size == 0 and i > 0:
                log('summed.before', i)
                total = 0.0
        total, times, val_total = 0.1, 0.1, 0.1
        for i in range(10):
            l = Number(random.random())
            times += l.item() * 2
            val_total += l.item()
            if i != 2:
                total += l.item()
            log('summed.range', 0)
        for i in range(10):
            l = Number(random.random())
            times += l.item()
            times *= 0.9
            cost = l / 3
            total += cost
            log('summed.range', 0)


def numbers(log):
    """Losses that are NumPy's numbers; a third kind is none that pmtop reads."""
    import numpy
    for kind in (numpy.float64, numpy.float32, numpy.float16):
        loss = 0.5
        log('numbers.loss', loss)
        for i in range(10):  # loop numbers.range
            log('numbers.range', i + 1)
            loss = kind(1 / (i + 3))
            log('numbers.loss', float(loss) if kind != numpy.float16 else None)
