"""The calls of a tf.function in a loop whose iterator says nothing: TensorFlow's own counter, without TensorFlow. Between epochs another function
validates, and the last batch of an epoch has another shape."""
import os
import sys
import time

from truth import step

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from stand_in_tensorflow import Function  # noqa: E402

LENGTH, EPOCHS = 100, 400
left = done = 0


def take():
    global left
    left -= 1
    return 0 if left < 0 else 32 if left == 0 else 64


def note(epoch):
    global done
    done += 1
    step(done, epoch + 1)


def work():
    time.sleep(0.02)


def main():
    global left
    train_step, test_step = Function(work, tracing_s=0.2), Function(lambda: work())
    for epoch in range(EPOCHS):
        left = LENGTH
        for images in iter(take, 0):
            train_step(images)
            note(epoch)
        left = 10
        for images in iter(take, 0):
            test_step(images)


main()
