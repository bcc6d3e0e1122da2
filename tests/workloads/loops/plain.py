"""No framework: gradient descent in plain Python, in any CPython."""
import random

from truth import step

weights = [0.0] * 400


def update(weights, x):
    error = sum(w * v for w, v in zip(weights, x)) - sum(x)
    return [w - 0.001 * error * v for w, v in zip(weights, x)]


def main():
    for it in range(1000000):
        for _ in range(60):
            weights[:] = update(weights, [random.random() for _ in weights])
        step(it + 1)


main()
