"""As a server: the main thread waits; of its threads `busy` compute most of the time, `idle` wait for work."""
import queue
import threading
import time

work = queue.Queue()


def serve():
    while True:
        time.sleep(0.0005)
        sum(x * x for x in range(40000))


def wait():
    work.get()


threads = [threading.Thread(target=serve, name=f'busy-{i}', daemon=True) for i in range(2)]
threads += [threading.Thread(target=wait, name=f'idle-{i}', daemon=True) for i in range(3)]
for thread in threads:
    thread.start()
print('ready', flush=True)
time.sleep(100000)
