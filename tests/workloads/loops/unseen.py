"""Work that no Python loop shows, or none whose count can be read: unseen.py recursion|native|unreadable|layers|brief|library|launcher|waiting|untrained."""
import hashlib
import os
import sys
import threading
import time


def recursion(step=0):
    time.sleep(0.02)
    if step < 3000:
        recursion(step + 1)


def native():
    hashlib.pbkdf2_hmac('sha256', b'password', b'salt', 1 << 30)


def unreadable():
    countdown = iter(range(100000, 0, -1)).__next__
    while countdown():
        time.sleep(0.02)


def layers():
    """A batch of a generator that leaves some out, and in it a few layers, which are no steps."""
    def batches():
        number = 0
        while True:
            number += 1
            if number % 3 == 0:
                continue
            yield number
    for _ in batches():
        for _ in range(4):
            time.sleep(0.02)


def brief():
    for _ in map(str, filter(None, iter(range(1, 100000).__iter__().__next__, None))):
        time.sleep(0.02)


def library():
    """Its update() has a loop of its own, which cannot be read either."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'site-packages'))
    from library_layers import update
    countdown = iter(range(100000, 0, -1)).__next__
    while countdown():
        update()


def launcher():
    """Its loop is no training."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'site-packages'))
    from library_agent import watch
    watch()


def waiting():
    thread = threading.Thread(target=native, daemon=True)
    thread.start()
    thread.join()


def untrained():
    """A function of PyTorch, by its file, in a loop that can be counted."""
    names = {'sleep': time.sleep}
    exec(compile('def relu(x):\n    sleep(0.02)', '/lib/site-packages/torch/nn/functional.py', 'exec'), names)
    for number in range(100000):
        names['relu'](number)


if __name__ == '__main__':
    sys.setrecursionlimit(10000)
    {'recursion': recursion, 'native': native, 'unreadable': unreadable, 'layers': layers, 'brief': brief, 'library': library, 'launcher': launcher, 'waiting': waiting,
     'untrained': untrained}[sys.argv[1]]()
