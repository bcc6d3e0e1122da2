"""Samplers whose len() can be read from outside, and two whose cannot. SIZES: of each, in its place from 30 on; None = unknown."""
import array


class Sized:
    """What they are made of; each is a sampler of its own."""

    def __init__(self, size):
        self.size, self.items, self.sums = size, list(range(size)), [3, size]
        self.text, self.numbers, self.config = 'x' * size, array.array('d', self.items), {'size': size}

    def __iter__(self):
        return iter(range(self.size))


class OfAttribute(Sized):
    def __len__(self):
        """Of an int."""
        return self.size


class OfDerived(OfAttribute):
    pass


class OfList(Sized):
    def __len__(self):
        return len(self.items)


class OfText(Sized):
    def __len__(self):
        return len(self.text)


class OfArray(Sized):
    def __len__(self):
        return len(self.numbers)


class OfOther(Sized):
    def __len__(self):
        return len(self.other)

    def __init__(self, size):
        super().__init__(size)
        self.other = OfList(size)


class OfProperty(Sized):
    @property
    def count(self):
        return len(self.items)

    def __len__(self):
        return self.count


class OfLast(Sized):
    def __len__(self):
        return self.sums[-1]


class OfKey(Sized):
    def __len__(self):
        return self.config['size'] * 2


class Shifted(Sized):
    block = 4

    def __len__(self):
        return len(self.items) - self.block


class Divided(Sized):
    def __len__(self):
        return (len(self.items) + 1) // 2 - 7 % 4


class Bounded(Sized):
    def __len__(self):
        return max(0, int(self.size - 1))


class Constant(Sized):
    def __len__(self):
        return 1000


class Branching(Sized):
    def __len__(self):
        return self.size if self.size > 3 else 3


class Calling(Sized):
    def __len__(self):
        return sum(self.sums)


SIZES = {OfAttribute: 30, OfDerived: 31, OfList: 32, OfText: 33, OfArray: 34, OfOther: 35, OfProperty: 36, OfLast: 37, OfKey: 2 * 38, Shifted: 39 - 4,
         Divided: 41 // 2 - 3, Bounded: 41 - 1, Constant: 1000, Branching: None, Calling: None}
