"""Objects that look like bars, states and trainers, and are none, for tests/workloads/loops.py."""


class tqdm:  # noqa: N801
    def __init__(self):
        self.n, self.total, self.iterable = 'many', -3, None


class Lying:
    __dict__ = 7


class Slots:
    __slots__ = ('n', 'total')


class Endless:
    def __iter__(self):
        return self

    def __next__(self):
        return 1


class OwnDict(dict):
    pass


class TrainerState:
    global_step, max_steps = 3, 10


class Trainer:
    pass


def objects():
    bar, own, empty, state, trainer = tqdm(), tqdm(), tqdm(), TrainerState(), Trainer()
    own.__dict__ = OwnDict(n=3, total=5, iterable=None)
    empty.__dict__.clear()
    trainer.state = trainer
    lying, slots = Lying(), Slots()
    slots.n = slots.total = slots
    bar.__dict__['total'] = bar
    return bar, own, empty, state, trainer, lying, slots
