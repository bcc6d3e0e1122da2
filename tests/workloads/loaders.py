"""Loops over DataLoaders that say what they have got, and when: loaders.py KIND WORKERS STEP_SECONDS SECONDS. Or loaders.py serve, which imports PyTorch
once, reads those words from each line, and has a child of its own do what they say.

With the environment variable STAND_IN a folder that has a torch/utils/data/dataloader.py of its own. Writes "ready" and its pid, and at the end a JSON object:
{"passes": [{"line": of its loop, "base": what was counted before it, "times_ns": when each batch was got, "held_ns": [from, to] that no other was}]}.
"""
import json
import os
import sys
import time

if os.environ.get('STAND_IN'):
    sys.path.insert(0, os.environ['STAND_IN'])
from torch.utils.data.dataloader import DataLoader

HELD = 0.25
passes = []


class Numbers:
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.00005)
        return index


class Pass:
    """A pass through a loader, from inside."""

    def __init__(self, count):
        self.count, self.times = count, []
        self.truth = {'line': sys._getframe(1).f_lineno + 1, 'base': 0, 'times_ns': self.times, 'held_ns': None}
        passes.append(self.truth)

    def got(self):
        self.times.append(time.monotonic_ns())
        if len(self.times) == self.count:
            time.sleep(HELD)
            self.truth['held_ns'] = [self.times[-1], time.monotonic_ns()]
        elif STEP:
            time.sleep(STEP)


def count_for(seconds):
    return max(8, int(seconds / max(STEP, 0.0005)))


def loader(count, **more):
    return DataLoader(Numbers(4 * count), batch_size=4, num_workers=WORKERS, **more)


def plain(**more):
    for _ in range(2):
        count = count_for(SECONDS / 2)
        one = Pass(count)
        for _ in loader(count, **more):
            one.got()


def shuffled():
    plain(shuffle=True)


def zipped():
    count = count_for(SECONDS)
    one = Pass(count)
    for _ in zip(loader(count), range(count + 1)):
        one.got()


def enumerated():
    count = count_for(SECONDS)
    one = Pass(count)
    for _, _ in enumerate(loader(count)):
        one.got()


def with_tqdm():
    import tqdm
    count = count_for(SECONDS)
    one = Pass(count)
    for _ in tqdm.tqdm(loader(count), disable=None, file=sys.stderr):
        one.got()


def nested():
    train_count, held_count = count_for(SECONDS), count_for(SECONDS / 3)
    one = Pass(train_count)
    for _ in loader(train_count):
        one.got()
        if len(one.times) in (train_count // 3, 2 * train_count // 3):
            two = Pass(held_count)
            for _ in loader(held_count):
                two.got()


def iterable():
    """Of an iterable dataset with a length."""
    from torch.utils.data import IterableDataset

    class Stream(IterableDataset):
        def __init__(self, count):
            self.count = count

        def __len__(self):
            return self.count

        def __iter__(self):
            return iter(range(self.count))

    count = count_for(SECONDS)
    kept = DataLoader(Stream(4 * count), batch_size=4)
    one = Pass(count)
    for _ in kept:
        one.got()


def persistent():
    count = count_for(SECONDS / 2)
    kept = loader(count, persistent_workers=True)
    for _ in range(2):
        one = Pass(count)
        for _ in kept:
            one.got()


def in_globals():
    """The iterator is in no frame, but among many globals."""
    global kept
    count = count_for(SECONDS)
    for number in range(300):
        globals()[f'other_{number}'] = [number]
    kept = iter(loader(count))
    one = Pass(count)
    while next(kept, None) is not None:
        one.got()


class Holder:
    def take(self):
        return next(self.kept, None)


holders = []


def keep(number, batch):
    return batch


def in_attribute():
    count = count_for(SECONDS)
    holder = Holder()
    holder.first, holder.kept = 1, iter(loader(count))
    one = Pass(count)
    while next(holder.kept, None) is not None:
        one.got()


def by_method():
    """What has the iterator is the self of a method, whose caller's value stack may still have it later."""
    count = count_for(SECONDS)
    holders.append(Holder())
    holders[0].kept = iter(loader(count))
    one = Pass(count)
    one.truth['line'] = Holder.take.__code__.co_firstlineno + 1
    while keep(0, holders[0].take()) is not None:
        one.got()


def short():
    """One after the other, mostly where the last one lay."""
    held, count = HELD, 20
    globals()['HELD'] = 0.003
    for number in range(int(SECONDS / (count * max(STEP, 0.0005)))):
        one = Pass(count)
        for _ in loader(count):
            one.got()
    globals()['HELD'] = held


def dying():
    """A process that ends at any moment, again and again: asks for each."""
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            for number, _ in enumerate(loader(10000)):
                if number == 5:
                    print(os.getpid(), flush=True)
                if number > 5 and not int.from_bytes(os.urandom(1), 'little') % 16:
                    os._exit(0)
        os.waitpid(pid, 0)
    os._exit(0)


def garbage():
    from torch.utils.data import dataloader
    dataloader.garbage(loader(100))


def of_kind(name):
    """Stand-ins whose attributes are kept in other ways."""
    from torch.utils.data import dataloader
    kept = loader(max(400, count_for(SECONDS)))
    kept = dataloader.__dict__[name](kept)
    one = Pass(max(400, count_for(SECONDS)))
    for _ in kept:
        one.truth['base'] = kept._num_yielded - len(one.times) - 1
        one.got()


def sized():
    """Whose samplers' __len__ have other forms."""
    from sized import SIZES
    all_kept = [loader(30) for _ in SIZES]
    for number, form in enumerate(SIZES):
        kept = all_kept[number]
        kept.index_sampler = form(30 + number)
        assert SIZES[form] in (None, len(kept.index_sampler)), form
        one = Pass(100)
        for _ in kept:
            one.got()
        one.truth['length'] = SIZES[form]


KINDS = {'plain': plain, 'shuffled': shuffled, 'zip': zipped, 'enumerate': enumerated, 'tqdm': with_tqdm, 'nested': nested, 'iterable': iterable, 'persistent': persistent,
         'short': short, 'sized': sized, 'dying': dying, 'garbage': garbage, 'in_globals': in_globals, 'in_attribute': in_attribute, 'by_method': by_method}


def take_words(kind, workers, step, seconds):
    global KIND, WORKERS, STEP, SECONDS
    KIND, WORKERS, STEP, SECONDS = kind, int(workers), float(step), float(seconds)


def main():
    print('ready', os.getpid(), flush=True)
    sys.stdin.readline()
    KINDS[KIND]() if KIND in KINDS else of_kind(KIND)
    print(json.dumps({'passes': passes}), flush=True)
    sys.stdin.readline()


def serve():
    """Returns in each child. The next line must not come before "ended": a child reads ahead."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            take_words(*line.split())
            return
        os.waitpid(pid, 0)
        print('ended', flush=True)
    sys.exit(0)


if __name__ == '__main__':
    if sys.argv[1] == 'serve':
        serve()
    else:
        take_words(*sys.argv[1:5])
    main()
