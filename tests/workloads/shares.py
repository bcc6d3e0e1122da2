"""Spends known shares of its time in known lines, for the view of Python code: a fifth waiting (line of `wait`), the rest in `work`, of which a quarter is
called by another name. Runs on CPython 3.8 and newer until it is killed."""
import time


def burn(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def wait():
    time.sleep(0.008)  # waits


def work():
    burn(0.024)


def other():
    burn(0.008)


def main():
    print("ready", flush=True)
    while True:
        wait()
        work()
        other()


main()
