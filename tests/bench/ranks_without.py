#!/usr/bin/env python3
"""What pmtop says a step would take without the delays of a slow rank, beside the step of the same run without that fault.

    ranks_without.py [--seeds=N] [--seconds=N]       PMTOP_BUILD: the folder with pmtop and python-venv

Each seed is run twice with DDP and twice with gradients that are reduced one by one: with a rank that sleeps in each step, and without. Goal: of each pair the
predicted step is within 10 % of the measured one. Exit: 0 it holds, 1 it does not."""
import argparse
import statistics
import sys
import time

from ranks_bench import START_S, Failed, Job, Watch

SHAPES, ERROR_MAX, SETTLE_S = ('ddp', 'reduce'), 0.1, 15


def step_of(shape, seed, fault, seconds):
    """The mean step after SETTLE_S, and what pmtop predicts; both in seconds, None: unknown."""
    job = Job('slow', seed)
    job.shape, job.world, job.fault = shape, 2 + seed % 2, fault
    job.culprit, job.watched = job.culprit % job.world, job.watched % job.world
    with job:
        deadline = time.monotonic() + START_S
        while not (pid := job.pid_of(job.watched)):
            if time.monotonic() > deadline:
                raise Failed('the ranks did not start')
            time.sleep(0.1)
        began, counts, predicted = None, [], None
        for reported, now in Watch(job).objects(pid):
            count = (reported.get('batch') or {}).get('count')
            if began is None and count:
                began = now
                job.begin()
            if began is None and now > deadline:
                raise Failed('no step was seen')
            if began is not None and now > began + SETTLE_S:
                counts.append((reported['time_ns'] * 1e-9, count))
                predicted = ((reported.get('lost_time') or {}).get('without') or {}).get('step_s')
            if began is not None and now > began + SETTLE_S + seconds:
                break
    steps = counts[-1][1] - counts[0][1]
    return (counts[-1][0] - counts[0][0]) / steps if steps else None, predicted


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--seeds', type=int, default=3)
    options.add_argument('--seconds', type=float, default=20)
    chosen = options.parse_args()
    errors = []
    print(f'{"shape":8} {"seed":>4} {"slow":>10} {"predicted":>10} {"without":>10} {"error":>7}')
    for shape in SHAPES:
        for seed in range(1, chosen.seeds + 1):
            slow_s, predicted_s = step_of(shape, seed, 'slow', chosen.seconds)
            without_s, _ = step_of(shape, seed, 'healthy', chosen.seconds)
            errors.append(predicted_s / without_s - 1 if predicted_s else float('inf'))
            shown = f'{predicted_s * 1e3:7.1f} ms' if predicted_s else 'unknown'
            print(f'{shape:8} {seed:4} {slow_s * 1e3:7.1f} ms {shown:>10} {without_s * 1e3:7.1f} ms {100 * errors[-1]:+6.1f} %', flush=True)
    worst = max(map(abs, errors))
    print(f'median error {100 * statistics.median(map(abs, errors)):.1f} %, at most {100 * worst:.1f} % (goal {100 * ERROR_MAX:.0f} %)')
    sys.exit(worst > ERROR_MAX)


if __name__ == '__main__':
    main()
