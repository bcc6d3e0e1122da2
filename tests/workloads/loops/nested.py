"""Epochs, steps and micro-batches in plain Python, in any CPython, without a log."""
import time

STEPS, MICRO_BATCHES = 25, 4


def work(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        sum(range(500))


def train():
    for step in range(STEPS):
        for micro_step in range(MICRO_BATCHES):
            work(0.01)


def main():
    for epoch in range(1000):
        train()


main()
