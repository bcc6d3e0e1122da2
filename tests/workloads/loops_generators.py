"""Loops of loops.py over generators, and those that an attribute counts."""
import itertools
import time
import typing

from stand_in_tensorflow import Function


def elsewhere(pause):
    for i in range(20):
        time.sleep(pause)
        yield i


def counted(ticker, pause):
    """A `while` yields, and an int of its own counts."""
    def minibatches(size):
        start_idx = 0
        while start_idx < 88:
            time.sleep(pause)
            yield [None] * size
            start_idx += size
    tick = ticker('generators.while_before')
    for _ in minibatches(4):  # loop generators.while_before
        tick()

    def numbered(i, last):
        while i < last:
            i += 1
            time.sleep(pause)
            yield i
    tick = ticker('generators.while_behind')
    for _ in numbered(3, 23):  # loop generators.while_behind
        tick()


def irregular(log):
    """Of these, the number of items is not that of any loop."""
    def odd():
        for i in range(40):
            if i % 2:
                yield i

    def twice():
        for i in range(10):
            yield i
            yield i

    def header_first():
        yield None
        yield from range(19)

    def with_header():
        yield None
        for i in range(19):
            yield i

    def endless():
        while True:
            for i in range(5):
                yield i

    def sometimes():
        for i in range(40):
            try:
                if i % 3 == 0:
                    raise KeyError
                yield i
            except KeyError:
                continue

    def both():
        for i in range(20):
            if i % 2:
                yield i
            else:
                yield -i

    def counting():
        i = 0
        while i < 20:
            i += 1
            yield i

    def unsteady():
        i = 0
        while i < 40:
            yield i
            i += 1
            if i % 3 == 0:
                i += 1

    def growing():
        i, step = 0, 1
        while i < 400:
            yield i
            step += 1
            i += step
    def chunks_that_grow():
        items, size = iter([None] * 900), 1
        while True:
            size += 1
            chunk = list(itertools.islice(items, size))
            if not chunk:
                return
            yield chunk

    def two_sizes():
        """First batches of 3, and then of 5."""
        batch = []
        for item in [None] * 400:
            batch.append(item)
            if len(batch) == (3 if k < 10 else 5):
                yield batch
                batch = []
    k = 0
    for make in (chunks_that_grow, two_sizes, odd, twice, header_first, with_header, endless, sometimes, both, counting, unsteady, growing):
        k = 0
        for _ in make():  # loop irregular.items
            k += 1
            log('irregular.items', k)
            if k == 20:
                break


def gathers(ticker):
    """For each item of these, several of another iterator are taken."""
    data = [None] * 402

    def gathered(size):
        batch = []
        for item in data:
            batch.append(item)
            if len(batch) == size:
                yield batch
                batch = []
        if batch:
            yield batch
    tick = ticker('gathers.gathered')
    for _ in gathered(4):  # loop gathers.gathered
        tick()

    def chunks(size):
        items = iter(data)
        while True:
            chunk = list(itertools.islice(items, size))
            if not chunk:
                return
            yield chunk
    tick = ticker('gathers.chunks')
    for _ in chunks(6):  # loop gathers.chunks
        tick()

    def permuted():
        for _ in range(len(data) // 402):
            yield from list(range(402))
        yield from []

    def sampled(size):
        """As the BatchSampler of PyTorch over its RandomSampler."""
        samples = iter(permuted())
        batch = [*itertools.islice(samples, size)]
        while batch:
            yield batch
            batch = [*itertools.islice(samples, size)]
    tick = ticker('gathers.sampled')
    for _ in sampled(5):  # loop gathers.sampled
        tick()
    def full(size):
        batch = []
        for item in data:
            batch.append(item)
            if len(batch) == size:
                yield batch
                batch = []
    tick = ticker('gathers.full')
    for _ in full(5):  # loop gathers.full
        tick()
    tick = ticker('gathers.grouped')
    for _ in zip(*[iter(data)] * 4):  # loop gathers.grouped
        tick()
    tick = ticker('gathers.longest')
    for _ in itertools.zip_longest(*[iter(data)] * 4):  # loop gathers.longest
        tick()


class Batches:
    """Begins anew with each loop; what it has delivered in all goes on."""

    def __init__(self, count):
        self.total, self.index, self.count = 1000, 0, count

    def __iter__(self):
        self.index = 0
        return self

    def __next__(self):
        if self.index >= self.count:
            raise StopIteration
        self.index += 1
        self.total += 1
        return self.index


class Slices:
    def __init__(self, count, size):
        self.start, self.batch_size, self.count = 0, size, count

    def __iter__(self):
        return self

    def __next__(self):
        if self.start >= self.count:
            self.start = 0
            raise StopIteration
        items = [self.start + number for number in range(self.batch_size)]
        self.start += self.batch_size
        return items


class Derived64(Slices):
    __slots__ = ('at',)

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at == 1280:
            self.at += 64
            return None
        if self.at > 1280:
            raise StopIteration
        self.at += 64
        return self.at


class Single:
    """Of an older Python."""

    def __init__(self, count):
        self.items, self.at = [None] * count, 0

    def __iter__(self):
        return self

    def next(self):
        if self.at < len(self.items):
            self.at += 1
            return self.items[self.at - 1]
        raise StopIteration

    __next__ = next


class Endless(Batches):
    """It counts its passes."""

    def __init__(self, count):
        super().__init__(count)
        self.passes, self.items = 0, iter(range(count))

    def __next__(self):
        try:
            return next(self.items)
        except StopIteration:
            self.passes += 1
            self.items = iter(range(self.count))
            return next(self.items)


class Used:
    """Goes on where the loop before has left it."""

    def __init__(self):
        self.done = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.done += 1
        return self.done


class ByTokens(Batches):
    def __next__(self):
        if self.index >= self.count:
            raise StopIteration
        self.index += 1 + self.index % 3
        return self.index


def own(ticker):
    """Iterators of classes of the program. Of the last three the position must remain unknown."""
    batches, slices = Batches(25), Slices(1210, 60)
    for _ in range(2):
        tick = ticker('own.by_one')
        for _ in batches:  # loop own.by_one
            tick()
        tick = ticker('own.by_size')
        for _ in slices:  # loop own.by_size
            tick()
    tick = ticker('own.single')
    for _ in Single(30):  # loop own.single
        tick()
    tick = ticker('own.two_ways')
    for _ in Derived64(0, 0):  # loop own.two_ways
        tick()
    tick = ticker('own.zipped')
    for _ in zip(batches, Derived64(0, 0)):  # loop own.zipped
        tick()
    used = Used()
    for _ in range(2):
        tick = ticker('own.used')
        for done in used:  # loop own.used
            tick()
            if done % 30 == 0:
                break
    tick = ticker('own.endless')
    for _ in zip(range(60), Endless(20)):
        tick()
    for _ in Endless(20):  # loop own.endless
        if tick() == 120:
            break
    tick = ticker('own.by_tokens')
    for _ in ByTokens(40):  # loop own.by_tokens
        tick()


class Seen:
    def __init__(self):
        self.step = 0


class Trainer:
    of_class = 40

    def __init__(self):
        self.step, self.compared, self.lists = 0, 0, []
        self.state, self.counts = Seen(), {'epoch': 3, 'step': 0}

    def train(self, log, pause):
        log('attributes.self.step', self.step)
        while self.step < 40:
            self.lists += [None]
            time.sleep(pause)
            self.step += 1  # int attributes.self.step
            log('attributes.self.step', self.step)
            self.state.step += 1  # int attributes.self.state.step
            log('attributes.self.state.step', self.state.step)
            self.counts['step'] += 1  # int attributes.self.counts['step']
            log("attributes.self.counts['step']", self.counts['step'])
        log('attributes.self.compared', self.compared)
        while self.compared < self.of_class:  # int attributes.self.compared
            time.sleep(pause)
            self.advance(log)

    def advance(self, log):
        self.compared += 1
        log('attributes.self.compared', self.compared)


class Frozen(typing.NamedTuple):
    step: int


class Tight:
    __slots__ = ('lists', 'step')

    def __init__(self):
        self.step = 0


class Derived(Tight):
    pass


class Kept:
    def __init__(self, step):
        self.step = step


def counted_in_list(log, pause):
    run = [0]
    log('attributes.run[0]', 0)

    def closure():
        run[0] += 1
        log('attributes.run[0]', run[0])
    while run[0] < 40:  # int attributes.run[0]
        closure()
        time.sleep(pause)


def frozen(log, pause):
    frozen = Frozen(0)
    log('attributes.frozen.step', 0)
    while frozen.step < 40:  # int attributes.frozen.step
        frozen = frozen._replace(step=frozen.step + 1)
        log('attributes.frozen.step', frozen.step)
        time.sleep(pause)


def in_slots(log, pause):
    tight, derived = Tight(), Derived()
    derived.other = 7
    log('attributes.tight.step', 0)
    log('attributes.derived.step', 0)
    while tight.step < 40:
        tight.step += 1  # int attributes.tight.step
        log('attributes.tight.step', tight.step)
        derived.step += 1  # int attributes.derived.step
        log('attributes.derived.step', derived.step)
        time.sleep(pause)


def calls(log, pause):
    """Of a function as TensorFlow counts them: each repetition goes on from the one before. At the first calls with other shapes some before are forgotten."""
    def note(key, done):
        done[0] += 1
        log(key, done[0], 0)

    def step():
        time.sleep(pause)
    train = CALLED.setdefault('train', [0])
    function = CALLED.setdefault('function', Function(step, lambda: note('calls.step()', train), 50 * pause))  # TRACING_PAUSES of its test
    log('calls.step()', train[0])
    shapes = iter([64] * 30 + ([32] * 20 + [16] * 20 + [8] * 20 if pause else []))
    shape = next(shapes)
    while shape:
        function(shape)  # int calls.step()
        shape = next(shapes, None)


CALLED = {}


def attributes(log, pause):
    Trainer().train(log, pause)
    counted_in_list(log, pause)
    frozen(log, pause)
    in_slots(log, pause)
    kept = Kept(0)
    log('attributes.kept.step', 0)
    while kept.step < 40:  # int attributes.kept.step
        kept = Kept(kept.step + 1)
        log('attributes.kept.step', kept.step)
        time.sleep(pause)
