"""A plain PyTorch program, watched from outside: its epochs, batches, slow batches and validation beside what it says of itself."""
import json
import os
import subprocess
import sys
import tempfile
import time

from pythons import BUILD, ENVIRONMENT, PMTOP, try_all

PYTHON, SITE = os.path.join(BUILD, 'python-venv/bin/python'), os.path.join(BUILD, 'python/site')

PROGRAM = '''
import sys, time, torch
STEP, SLOW, EACH, BATCHES, EPOCHS, WORKERS, VALIDATES, PUBLISHES = (float(word) for word in sys.argv[1:9])
class Items(torch.utils.data.Dataset):
    def __init__(self, count): self.count = count
    def __len__(self): return self.count
    def __getitem__(self, i): return torch.zeros(4), i
def validate(model, val_loader):
    for x, y in val_loader:
        time.sleep(STEP / 2)
def train():
    if PUBLISHES:
        import pmtop.torch
        pmtop.torch.instrument()
    model = torch.nn.Linear(4, 1)
    loader = torch.utils.data.DataLoader(Items(4 * int(BATCHES)), batch_size=4, num_workers=int(WORKERS))
    val_loader = torch.utils.data.DataLoader(Items(4 * 12), batch_size=4)
    print("ready", flush=True)
    sys.stdin.readline()
    for epoch in range(int(EPOCHS)):
        for i, (x, y) in enumerate(loader):
            model(x).sum().backward()
            time.sleep(SLOW if EACH and i % EACH == EACH - 1 else STEP)
        if VALIDATES:
            validate(model, val_loader)
if __name__ == "__main__":
    train()
'''


def watch(step=0.05, slow=0, each=0, batches=20, epochs=2, workers=0, validates=0, publishes=0, recording=None, late=0):
    """The last object; pmtop is there before the first batch, or comes so many seconds after it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'train.py')
        with open(path, 'w') as file:
            file.write(PROGRAM)
        words = [str(word) for word in (step, slow, each, batches, epochs, workers, validates, publishes)]
        environment = dict(ENVIRONMENT, PYTHONPATH=SITE) if publishes else ENVIRONMENT
        program = subprocess.Popen([PYTHON, path, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            program.stdout.readline()
            if late:
                program.stdin.write('\n')
                program.stdin.flush()
                time.sleep(late)
            pmtop = subprocess.Popen([PMTOP, '-p', str(program.pid), '-b', '--format=json', '-d', '0.25', *(['-w', recording] if recording else [])], env=ENVIRONMENT,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            pmtop.stdout.readline()
            if not late:
                time.sleep(1.5)
                program.stdin.write('\n')
                program.stdin.flush()
            text, _ = pmtop.communicate(timeout=120)
        finally:
            program.kill()
            program.wait()
    return json.loads(text.splitlines()[-1])


def counts_epochs_and_batches():
    reported = watch(step=0.05, batches=30, epochs=3)
    assert reported['meta'] == {'counted_by': 'torch DataLoader'}, reported['meta']
    assert [epoch['batches'] for epoch in reported['epochs']] == [30, 30, 30], reported['epochs']
    assert reported['batch']['count'] == 90, reported['batch']
    assert 0.045 < reported['step']['mean_s'] < 0.06, reported['step']
    assert 0.045 < reported['recent']['mean_s'] < 0.06, reported['recent']


def counts_with_workers():
    reported = watch(step=0.02, batches=60, epochs=2, workers=2)
    assert [epoch['batches'] for epoch in reported['epochs']] == [60, 60], reported['epochs']


def finds_the_slow_ones():
    reported = watch(step=0.15, slow=0.45, each=10, batches=60, epochs=1)
    assert reported['batch']['count'] == 60, reported['batch']
    slow = [batch['batch'] for batch in reported['flagged']]
    assert slow and all(index % 10 == 9 for index in slow), slow
    assert set(slow) >= {39, 49}, slow          # how long the very last one took is not seen
    assert all(2.4 < batch['ratio'] < 3.6 for batch in reported['flagged']), reported['flagged']


def says_what_it_saw():
    reported = watch(step=0.15, batches=40, epochs=2, late=2)
    first, second = reported['epochs']
    assert (first['batches'], second['batches'], reported['batch']['count']) == (40, 40, 80), reported['epochs']
    assert 'total_s' not in first and 'mean_s' not in first and second['total_s'] > 5, reported['epochs']
    assert 'total_s' not in reported['step'] and 0.14 < reported['step']['mean_s'] < 0.17 and 0.14 < reported['step']['p50_s'] < 0.17, reported['step']
    assert reported['recent']['count'] < 75, reported['recent']


def distinguishes_validation():
    reported = watch(step=0.06, batches=20, epochs=3, validates=1)
    assert reported['batch']['count'] == 60 and [epoch['batches'] for epoch in reported['epochs']] == [20, 20, 20], reported['epochs']
    assert reported['modes']['validation']['count'] == 36, reported['modes']
    assert reported['recent']['max_s'] < 0.2, reported['recent']


def leaves_published_runs_alone():
    reported = watch(step=0.05, batches=30, epochs=2, publishes=1)
    assert 'counted_by' not in reported['meta'] and reported['batch']['count'] == 60, reported['meta']


def replays_as_it_was():
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, 'run.pmtop')
        live = watch(step=0.05, batches=20, epochs=2, recording=recording)
        played = subprocess.run([PMTOP, '-r', recording, '-b', '--format=json'], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
        reported = json.loads(played.stdout.splitlines()[-1])
        for key in ('batch', 'epochs', 'recent', 'code', 'meta'):
            assert reported[key] == live[key], (key, reported[key], live[key])


if not os.path.exists(PYTHON) or subprocess.run([PYTHON, '-c', 'import torch'], capture_output=True).returncode != 0:
    print('skipped: no PyTorch in', os.path.dirname(PYTHON))
    print('0 passed, 0 failed')
    sys.exit(0)
TESTS = {
    'epochs and batches': counts_epochs_and_batches,
    'workers': counts_with_workers,
    'slow batches': finds_the_slow_ones,
    'validation': distinguishes_validation,
    'late': says_what_it_saw,
    'a recording': replays_as_it_was,
}
if os.path.exists(SITE):
    TESTS['published'] = leaves_published_runs_alone
if __name__ == "__main__": sys.exit(try_all(TESTS, 2))
