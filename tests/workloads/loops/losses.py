"""A loss that is a float now and then, as of loss.item() in each tenth step; in a list; or only in a sum, which begins anew with each epoch of 200 steps, or
after each 50 steps."""
import random
import sys
import time

from truth import step


def work():
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        sum(range(2000))
    time.sleep(0.04)


def assigned():
    loss = 8.0
    for number in range(100000):
        work()
        if number % 10 == 0:
            loss = 8.0 / (1 + number / 100)
        step(number + 1)


def listed(losses):
    val_losses = []
    for number in range(100000):
        work()
        l = random.random()
        losses.append(l)
        val_losses.append(l + 100)
        step(number + 1, loss=l)


def summed():
    for epoch in range(500):
        running_loss = times = 0.0
        for number in range(200):
            work()
            l = random.random()
            running_loss += l
            times += l * 32
            step(200 * epoch + number + 1, epoch + 1, l)
        train_loss = running_loss / 200
    return train_loss


def reset():
    running_loss = 0.0
    for number in range(100000):
        work()
        l = random.random()
        running_loss += l
        step(number + 1, loss=l)
        if number % 50 == 49:
            running_loss = 0.0


{'assigned': assigned, 'listed': lambda: listed([]), 'summed': summed, 'reset': reset}[sys.argv[2]]()
