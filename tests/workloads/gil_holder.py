"""Steps of about 30 ms; beside every 20th a thread, worker-1, computes in Python for 0.3 s and holds the GIL most of the time."""
import sys
import threading
import time

wanted = threading.Semaphore(0)


def hold(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        sum(x * x for x in range(20000))


def work():
    while True:
        wanted.acquire()
        hold(0.3)


def main():
    sys.setswitchinterval(0.05)
    threading.Thread(target=work, name='worker-1', daemon=True).start()
    print('ready', flush=True)
    for step in range(100000):
        if step % 20 == 19:
            wanted.release()
        time.sleep(0.01)
        for _ in range(5):
            sum(x * x for x in range(30000))
            time.sleep(0.001)


main()
