"""Two processes that step together; after ARGUMENT steps one sleeps, and the other waits for it for ever. Its own
LOCAL_RANK is to be 0."""
import multiprocessing
import os
import sys
import time

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 150


def first(pipe):
    for step in range(100000):
        time.sleep(0.1)
        pipe.send(step)
        pipe.recv()  # rank 0 waits here


def second(pipe, steps):
    for step in range(100000):
        time.sleep(0.1)
        if step == steps:
            time.sleep(1000)  # rank 1 hangs here
        pipe.recv()
        pipe.send(step)


if __name__ == '__main__':
    context = multiprocessing.get_context('spawn')
    one, other = context.Pipe()
    os.environ['LOCAL_RANK'] = '1'
    context.Process(target=second, args=(other, STEPS), daemon=True).start()
    print('ready', flush=True)
    first(one)
