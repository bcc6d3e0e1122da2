"""Phases of steps that are inferred, by stack samples, beside the clocks of the scripts themselves.

    step_phases.py [SCRIPT …]

pmtop samples within a CPU budget, so on a busy machine there are fewer samples in the same time: a share may then differ by three of its standard errors."""
import json
import os
import subprocess
import sys
import tempfile
import time

from loop_steps import SCRIPTS, TORCH, read_truth
from pythons import ENVIRONMENT, PMTOP

WATCHED_S, WATCHED_MAX_S, WAITED_S = 20, 40, 90
POINTS, ERRORS = 0.04, 3
IN_CI = ['phases_loader', 'phases_nanogpt', 'phases_validation']


def watch(script, folder):
    """When pmtop first showed phases, what it showed WATCHED_S later (or, until the shares are exact enough, WATCHED_MAX_S later), and the script's log."""
    log, first_s, reported = os.path.join(folder, 'truth'), None, {}
    os.mkdir(os.path.join(folder, 'pmtop'))
    with open(os.path.join(folder, 'pmtop/pmtop.yaml'), 'w') as file:
        file.write('stacks:\n  looks_per_second: 100\n')
    program = subprocess.Popen([TORCH, os.path.join(SCRIPTS, script + '.py'), log], env=ENVIRONMENT)
    try:
        with subprocess.Popen([PMTOP, '-p', str(program.pid), '-b', '--format=json', '-d', '1'], env=dict(ENVIRONMENT, XDG_CONFIG_HOME=folder),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as pmtop:
            begin_s = time.monotonic()
            for line in pmtop.stdout:
                now_s, reported = time.monotonic(), json.loads(line)
                if first_s is None and reported.get('phases'):
                    first_s = now_s
                watched_s = now_s - first_s if first_s is not None else 0
                is_exact = all(ERRORS * row['error_ratio'] <= POINTS for row in reported.get('phases', []))
                if now_s - begin_s > WAITED_S or watched_s > (WATCHED_S if is_exact else WATCHED_MAX_S):
                    break
            pmtop.terminate()
        return first_s, reported, read_truth(log)
    finally:
        program.kill()
        program.wait()


def shares_of(truth, first_s):
    """The script's own shares of the time in training steps from first_s on."""
    rows = [row for row in truth if row[0] >= first_s]
    before, after = dict(rows[0][3]), dict(rows[-1][3])
    spent = {phase: seconds - before.get(phase, 0) for phase, seconds in after.items() if phase != 'outside'}
    return {phase: seconds / sum(spent.values()) for phase, seconds in spent.items()}


def agrees(script):
    with tempfile.TemporaryDirectory() as folder:
        first_s, reported, truth = watch(script, folder)
    assert first_s, f'no phases: {reported.get("batch")}'
    sampled = {row['name']: row for row in reported['phases']}
    own = shares_of(truth, first_s)
    table = [(name, own.get(name, 0), sampled.get(name, {}).get('share_ratio', 0), sampled.get(name, {}).get('error_ratio', 0))
             for name in sorted(own.keys() | sampled.keys())]
    text = ', '.join(f'{name} {share:.1%} ± {2 * error:.1%} (own {truth:.1%})' for name, truth, share, error in table)
    print(f'{script}: {reported["phases_steps"]} steps, {reported["phases_samples"]} samples: {text}', flush=True)
    assert abs(sum(row['share_ratio'] for row in sampled.values()) - 1) < 1e-6, sampled
    assert all(row['is_sampled'] and 0 < row['error_ratio'] < 0.1 for row in sampled.values()), sampled
    assert all(abs(share - truth) <= max(POINTS, ERRORS * error) for _, truth, share, error in table), text


def main():
    if not os.path.exists(TORCH) or 'NO_TORCH' in os.environ:
        print('no torch\n0 passed, 0 failed')
        return 0
    scripts, failed = sys.argv[1:] or IN_CI, 0
    for script in scripts:
        try:
            agrees(script)
        except Exception as error:
            failed += 1
            print(f'FAIL {script}: {type(error).__name__}: {error}', flush=True)
    print(f'{len(scripts) - failed} passed, {failed} failed')
    return failed


if __name__ == '__main__':
    sys.exit(bool(main()))
