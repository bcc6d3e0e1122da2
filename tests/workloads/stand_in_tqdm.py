"""Stands in for tqdm's class of that name, where there is no tqdm: its count lags behind, and its iterator is a generator with two loops."""


class tqdm:
    """As tqdm's class of that name: its count lags behind."""
    def __init__(self, iterable=None, total=None):
        self.iterable, self.total, self.n, self.initial, self.disable = iterable, total, 0, 0, False
        if total is None and hasattr(iterable, '__len__'):
            self.total = len(iterable)

    def __iter__(self):
        iterable = self.iterable
        if self.disable:
            for obj in iterable:
                yield obj
            return
        n = self.n
        last = n
        try:
            for obj in iterable:
                yield obj
                n += 1
                if n - last >= 5:
                    self.n = last = n
        finally:
            self.n = n

    def update(self, n=1):
        self.n += n
