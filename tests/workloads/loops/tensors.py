"""A loss that is a tensor and never a number: of a step, also as float64, or in the storage of many elements; or divided, multiplied, assigned again, or the validation's too."""
import sys
import time

import torch
from truth import step

torch.set_num_threads(1)
kind = torch.float64 if sys.argv[2] == 'double' else torch.float32
model = torch.nn.Linear(64, 8, dtype=kind)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def loss_of():
    time.sleep(0.02)
    return (model(torch.randn(32, 64, dtype=kind)) ** 2).mean()


def update(loss, number):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step(number + 1, loss=loss)


def plain():
    for number in range(100000):
        loss = loss_of()
        update(loss, number)


def resized():
    for number in range(100000):
        time.sleep(0.02)
        loss = torch.nn.functional.mse_loss(model(torch.randn(32, 64, dtype=kind)), torch.randn(32, 8, dtype=kind))
        update(loss, number)


def divided():
    for number in range(100000):
        loss = loss_of() / 4
        update(loss, number)


def scaled():
    for number in range(100000):
        loss = loss_of() * 0.25
        update(loss, number)


def again():
    for number in range(100000):
        loss = loss_of()
        loss = loss * 0.25
        update(loss, number)


def validated():
    for number in range(100000):
        loss = loss_of()
        update(loss, number)
        if number % 50 == 0:
            with torch.no_grad():
                for _ in range(40):
                    loss = loss_of() + 100


{'plain': plain, 'double': plain, 'resized': resized, 'divided': divided, 'scaled': scaled, 'again': again, 'validated': validated}[sys.argv[2]]()
