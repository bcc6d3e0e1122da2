"""Stands in for torch/utils/data/dataloader.py, where there is no torch: iterators of the same names and attributes. And some that are not what they
seem. Copied to a folder of that name by tests/terminal/counter.py."""
import random
import time


class BatchSampler:
    def __init__(self, sampler, batch_size, drop_last):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last


BatchSampler.__module__ = 'torch.utils.data.sampler'


class DataLoader:
    def __init__(self, dataset, batch_size=1, num_workers=0):
        self.dataset, self.num_workers = dataset, num_workers
        self.count = len(dataset) // batch_size
        self.index_sampler = BatchSampler(range(len(dataset)), batch_size, False)

    def __iter__(self):
        return _SingleProcessDataLoaderIter(self)


class _BaseDataLoaderIter:
    def __init__(self, loader):
        self._dataset = loader.dataset
        self._shared_seed = None
        self._pg = None
        self._dataset_kind = 0
        self._IterableDataset_len_called = None
        self._auto_collation = True
        self._drop_last = False
        self._index_sampler = loader.index_sampler
        self._num_workers = loader.num_workers
        self._world_size = 1
        self._rank = 0
        self._pin_memory = False
        self._pin_memory_device = None
        self._timeout = 0
        self._collate_fn = None
        self._sampler_iter = iter(range(loader.count))
        self._base_seed = random.getrandbits(62)
        self._persistent_workers = False
        self._num_yielded = 0
        self._profile_name = 'enumerate(DataLoader)'

    def __iter__(self):
        return self

    def _next_data(self):
        raise NotImplementedError

    def __next__(self):
        data = self._next_data()
        self._num_yielded += 1
        return data


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        self._dataset_fetcher = None

    def _next_data(self):
        index = next(self._sampler_iter)
        time.sleep(0.0002)
        return index


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    _next_data = _SingleProcessDataLoaderIter._next_data

    def __init__(self, loader):
        super().__init__(loader)
        for name in range(24):
            setattr(self, f'_queue_{name}', name)


# -- whose attributes are kept in other ways --

class Derived(_SingleProcessDataLoaderIter):
    def __init__(self, loader):
        self.own = 'first'
        super().__init__(loader)


class OfDict(_SingleProcessDataLoaderIter, dict):
    """Its dict lies elsewhere than that of others."""


class WithSlots(_SingleProcessDataLoaderIter):
    __slots__ = ('one', 'two')


def touched(loader):
    iterator = iter(loader)
    assert '_num_yielded' in iterator.__dict__
    return iterator


def replaced(loader):
    iterator = iter(loader)
    iterator.__dict__ = dict(iterator.__dict__)
    return iterator


def mixed_keys(loader):
    iterator = iter(loader)
    iterator.__dict__[5] = 5
    return iterator


def crowded(loader):
    iterator = iter(loader)
    for name in range(300):
        setattr(iterator, f'attribute_{name}', name)
    return iterator


def shortened(loader):
    iterator = iter(loader)
    del iterator._pg, iterator._timeout
    return iterator


def large(loader):
    iterator = iter(loader)
    iterator._num_yielded = 2 ** 30 - loader.count // 2
    return iterator


def unseeded(loader):
    iterator = iter(loader)
    del iterator._base_seed
    return iterator


class Moving(_SingleProcessDataLoaderIter):
    """It changes how it is kept on its way."""

    def _next_data(self):
        if self._num_yielded == 100:
            self.__dict__
        if self._num_yielded == 200:
            for name in range(40):
                setattr(self, f'attribute_{name}', name)
        if self._num_yielded == 300:
            self.__dict__ = dict(self.__dict__)
        return super()._next_data()


class Restless(_SingleProcessDataLoaderIter):
    """Each time."""

    def _next_data(self):
        for _ in range(20):
            self.__dict__ = dict(self.__dict__, **{f'attribute_{name}': name for name in range(self._num_yielded % 60)})
        return super()._next_data()


# -- that are none --

class Other:
    def __init__(self, value=5):
        self._num_yielded = value


class Imposter:
    """Something else is where its iterator should be."""

    def __init__(self, something):
        self.something = something

    def __next__(self):
        self = self.something
        time.sleep(0.02)
        return self


class Strange(_SingleProcessDataLoaderIter):
    def __init__(self, loader, value):
        super().__init__(loader)
        self._num_yielded = value

    def __next__(self):
        time.sleep(0.02)


def garbage(loader):
    for something in (None, 5, 'text', [1, 2], {'_num_yielded': 5}, Other(), Other, type, object(), lambda: 5, _SingleProcessDataLoaderIter,
                      _SingleProcessDataLoaderIter.__new__(_SingleProcessDataLoaderIter)):
        next(Imposter(something))
    for value in (None, 'text', 5.0, -1, -2 ** 40, 2 ** 61, 2 ** 200, True, [5], Other()):
        next(Strange(loader, value))
