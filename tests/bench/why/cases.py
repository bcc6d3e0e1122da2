"""The table of faults (tests/workloads/faults.txt), and the arguments of one case with one seed."""
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, '../../workloads/faults.txt')
# Prime, or nearly: no k is a multiple of another, of an epoch's length or of a count of workers.
NEARBY = {37: (31, 37, 41, 43), 53: (47, 53, 59, 61), 83: (73, 79, 83, 89), 97: (89, 97, 101, 103)}


class Case:
    """One line of the table. `expect`: what is right, by key; a word without a value is True."""

    def __init__(self, line):
        self.name, self.program, every, self.arguments, expect = [part.strip() for part in line.split('|')]
        self.every = int(every)
        self.expect = dict((word.split('=', 1) + [True])[:2] for word in expect.split())
        self.is_synthetic = self.program == 'synthetic'
        self.causes = self.expect.get('cause', '').split(',') if 'cause' in self.expect else []

    def arguments_for(self, seed, batches):
        """Its arguments, and the period that is planted so (None: none is). Odd seeds plant periods, even ones batches that look random."""
        dice = random.Random(f'{self.name} {seed}')
        every = dice.choice(NEARBY.get(self.every, (self.every,)))
        is_random = seed % 2 == 0 and '{when}' in self.arguments
        words = {'{when}': f'odds={1 / every:.4f}' if is_random else f'every={every}', '{half}': str(batches // 2 + dice.randrange(batches // 8)),
                 '{late}': str(batches * 4 // 5)}
        arguments = self.arguments
        for word, value in words.items():
            arguments = arguments.replace(word, value)
        period = int(self.expect['period']) if 'period' in self.expect else every if '{when}' in self.arguments and not is_random else None
        if self.is_synthetic and self.every > 1:
            period = self.every
        return arguments.split(), period, dice


def read():
    with open(TABLE) as file:
        return [Case(line) for line in file if '|' in line and not line.startswith('#')]
