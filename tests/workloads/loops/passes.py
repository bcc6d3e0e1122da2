"""Epochs that no "for epoch in range(N)" counts: another variable, a resumed range, a while loop with and without a number, an item of a dict, a call in between, none."""
import itertools
import random
import sys
import time

from truth import step

STEPS, FEW, BUSY_S, STEP_S = 80, 50, 0.005, 0.02
done = 0


def work(number):
    global done
    begin = time.monotonic()
    while time.monotonic() < begin + BUSY_S:
        sum(range(2000))
    time.sleep(max(0, begin + STEP_S - time.monotonic()))
    done += 1
    step(done, number)


def one_pass(number):
    for i in range(STEPS):
        work(number)


def unnamed():
    for e in range(500):
        for i in range(STEPS):
            work(e + 1)


def called():
    for e in range(500):
        one_pass(e + 1)


def resumed(start_epoch=7, epochs=500):
    for epoch in range(start_epoch, epochs):
        for i in range(STEPS):
            work(epoch + 1)


def resumed_at_none(start_epoch=0, epochs=499):
    for epoch in range(start_epoch, epochs + 1):
        one_pass(epoch + 1)


def ranged(done=0, last=500):
    epochs = range(done + 1, 1 + last)
    for epoch in epochs:
        one_pass(epoch)


def ranged_elsewhere(epochs=range(1, 501)):
    for epoch in epochs:
        one_pass(epoch)


def endless():
    for epoch in itertools.count(start=1):
        one_pass(epoch)


def textless():
    exec(compile('for epoch in range(500):\n    one_pass(epoch + 1)', '<cell>', 'exec'), {'one_pass': one_pass})


def one_cut(number):
    batch, i = 0, 0
    while i < 10 * STEPS:
        work(number)
        batch += 1
        i += random.choice((9, 10, 11))


def cut():
    """Into sequences of random lengths, as AWD-LSTM's batches."""
    for epoch in range(500):
        one_cut(epoch + 1)


class EpochCounter:
    """As SpeechBrain's."""
    def __init__(self, limit):
        self.current, self.limit = 0, limit

    def __iter__(self):
        return self

    def __next__(self):
        if self.current == self.limit:
            raise StopIteration
        self.current += 1
        return self.current


def counter():
    counter = EpochCounter(500)
    for epoch in counter:
        one_pass(epoch)


def counted():
    epoch = 0
    while epoch < 500:
        epoch += 1
        for i in range(STEPS):
            work(epoch)


def counted_after():
    state = {'seed': 7, 'epoch': 1}
    while state['epoch'] <= 500:
        one_pass(state['epoch'])
        state['epoch'] += 1


def uncounted():
    passes = iter(range(500))
    while True:
        number = next(passes) + 1
        for i in range(STEPS):
            work(number)


class State:
    steps = 0


def train(state, number):
    left = bytearray(STEPS)
    while left:
        left.pop()
        work(number)
        state.steps += 1


def carried_on():
    """What counts the steps goes on through all epochs."""
    state = State()
    for e in range(500):
        train(state, e + 1)


def carried_named():
    state = State()
    for epoch in range(500):
        train(state, epoch + 1)


class Trainer:
    """Counts the epoch before its steps, and none of its loops compares the number."""
    def __init__(self):
        self.epoch, self.max_epochs = 0, 500
        self.state = State()

    def is_done(self):
        return self.epoch == self.max_epochs

    def run(self):
        while not self.is_done():
            self.epoch += 1
            train(self.state, self.epoch)


def carried_counted():
    Trainer().run()


class Fit:
    """Its loop only compares the epoch; what it calls counts it."""
    def __init__(self, one_epoch):
        self.epoch = self.steps = 0
        while self.epoch < 500:
            one_epoch(self)

    def before(self):
        self.epoch += 1
        for i in range(STEPS):
            work(self.epoch)

    def after(self):
        for i in range(STEPS):
            work(self.epoch + 1)
        self.epoch += 1

    def begin(self):
        self.epoch += 1

    def elsewhere(self):
        self.begin()
        for i in range(STEPS):
            work(self.epoch)


    def few(self):
        self.epoch += 1
        for i in range(FEW):
            work(self.epoch)


    def carried(self):
        self.epoch += 1
        left = bytearray(STEPS)
        while left:
            left.pop()
            work(self.epoch)
            self.steps += 1


def carried_compared():
    Fit(Fit.carried)


def compared_few():
    Fit(Fit.few)


def compared_before():
    Fit(Fit.before)


def compared_after():
    Fit(Fit.after)


def compared_elsewhere():
    Fit(Fit.elsewhere)


class Runner:
    """Compares a property, whose attribute something that it calls counts, as mmcv's runner does."""
    def __init__(self):
        self._epoch, self._max_epochs = 0, 500

    @property
    def epoch(self):
        return self._epoch

    def train(self):
        for i in range(STEPS):
            work(self._epoch + 1)
        self._epoch += 1

    def run(self):
        while self.epoch < self._max_epochs:
            for one_epoch in (self.train,):
                one_epoch()


def compared_property():
    Runner().run()


class Opaque:
    """An iterator that pmtop cannot count."""
    def __init__(self, length):
        self.left = bytearray(length)

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        return self.left.pop()


def carried_local():
    steps = 0
    for epoch in range(500):
        for item in Opaque(STEPS):
            work(epoch + 1)
            steps += 1


globals()[sys.argv[2]]()
