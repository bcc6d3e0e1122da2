"""After spaCy's train_ner.py: passes over a few minibatches whose sizes grow, in a loop that is not named after epochs."""
import itertools
import os
import random
import sys

from truth import step

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'site-packages'))
from spacy.language import Language  # noqa: E402


def compounding(start, stop, factor):
    while True:
        yield min(start, stop)
        start *= factor


def minibatch(items, size):
    items = iter(items)
    while batch := list(itertools.islice(items, int(next(size)))):
        yield batch


def main(n_iter=400):
    nlp, examples, done = Language(), list(range(150)), 0
    for itn in range(n_iter):
        random.shuffle(examples)
        for batch in minibatch(examples, size=compounding(4., 32., 1.001)):
            nlp.update(batch, sgd=None)
            done += 1
            step(done, itn + 1)


main()
