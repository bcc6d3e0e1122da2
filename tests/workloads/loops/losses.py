"""A loss that is a float now and then, as of loss.item() in each tenth step."""
import time

from truth import step


def train():
    loss = 8.0
    for number in range(100000):
        end = time.monotonic() + 0.01
        while time.monotonic() < end:
            sum(range(2000))
        time.sleep(0.04)
        if number % 10 == 0:
            loss = 8.0 / (1 + number / 100)
        step(number + 1)


train()
