"""Spends known shares of its time in known lines, for the view of Python code: a fifth waiting (line of `wait`), the rest in `work`, of which a quarter is
called by another name. To pmtop these two are forwards of a PyTorch module, the one by another name without gradients. Runs on CPython 3.8 and newer until it is
killed."""
import time

FUNCTIONS = {}
exec(compile('def _call_impl(forward):\n    forward()\n', '/lib/site-packages/torch/nn/modules/module.py', 'exec'), FUNCTIONS)
call = FUNCTIONS['_call_impl']


class no_grad:
    def __enter__(self):
        return self

    def __exit__(self, *arguments):
        pass


def burn(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def wait():
    time.sleep(0.008)  # waits


def work():
    call(lambda: burn(0.024))


def other():
    with no_grad():
        call(lambda: burn(0.008))


def main():
    print("ready", flush=True)
    while True:
        wait()
        work()
        other()


main()
