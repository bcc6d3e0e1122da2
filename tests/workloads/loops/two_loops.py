"""Two loops one after the other, both without a loader: the first ends after 9 s."""
import time

from truth import step


def train(count):
    for i in range(count):
        time.sleep(0.02)
        step(i + 1, 1)


train(450)
for number in range(2000):
    time.sleep(0.02)
    step(number + 1, 2)
