"""No framework: gradient descent in plain Python, in any CPython. Each step takes long for its parts, as boosting does for its features: they are no steps."""
import random
import time

from truth import step

weights = [0.0] * 400


def update(weights, x):
    error = sum(w * v for w, v in zip(weights, x)) - sum(x)
    for part in range(0, 400, 20):
        time.sleep(0.035)
        weights[part:part + 20] = [w - 0.001 * error * v for w, v in zip(weights[part:part + 20], x[part:part + 20])]


def main(start=0):
    for it in range(start, 1000000):
        update(weights, [random.random() for _ in weights])
        step(it + 1)


main()
