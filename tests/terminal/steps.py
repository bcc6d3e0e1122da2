"""A plain PyTorch program, watched from outside: its epochs, batches, slow batches and validation beside what it says of itself."""
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

from pythons import BUILD, ENVIRONMENT, PMTOP, try_all

SAMPLES, OBJECTS_MAX = 20, 240
AT_A_TIME = 3          # they mostly wait
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

# Passes without words that tell what they do, as main() of KIND; it says how many batches and passes each loop had.
SILENT = '''
import json, sys, time, torch
kind, workers, persists, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(1)
class Items(torch.utils.data.Dataset):
    def __init__(self, count): self.count = count
    def __len__(self): return self.count
    def __getitem__(self, i): return torch.zeros(4)
class Slow(torch.autograd.Function):
    @staticmethod
    def forward(context, x): return x.clone()
    @staticmethod
    def backward(context, gradient): time.sleep(0.01); return gradient
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.001)
counted = {}
def loader(batches):
    return torch.utils.data.DataLoader(Items(4 * batches), batch_size=4, num_workers=workers, persistent_workers=bool(persists))
def fit(x):
    y = Slow.apply(model(x)).sum()
    time.sleep(0.01)
    y.backward()
    optimizer.step()
    optimizer.zero_grad()
def count_one(name, begins):
    batches, passes = counted.get(name, (0, 0))
    counted[name] = (batches + 1, passes + begins)
def both():
    first, second = loader(40), loader(30)
    for _ in range(count):
        for i, x in enumerate(first):
            count_one("train", i == 0)
            fit(x)
        for i, x in enumerate(second):
            count_one("validation", i == 0)
            with torch.no_grad():
                model(x)
            time.sleep(0.015)
def short():
    first, second = loader(15), loader(12)
    for _ in range(count):
        for i, x in enumerate(first):
            count_one("train", i == 0)
            fit(x)
        for i, x in enumerate(second):
            count_one("validation", i == 0)
            with torch.no_grad():
                model(x)
            time.sleep(0.025)
def frozen():
    data = loader(6)
    for n in range(count):
        for i, x in enumerate(data):
            count_one("train", i == 0)
            fit(x) if n % 4 == 0 else time.sleep(0.02)
def gan():
    first, second = loader(40), loader(40)
    for _ in range(count):
        for name, data in (("train", first), ("train", second)):
            for i, x in enumerate(data):
                count_one(name, i == 0)
                fit(x)
def nested():
    first, second = loader(60), loader(12)
    for _ in range(count):
        for i, x in enumerate(first):
            count_one("train", i == 0)
            fit(x)
            if i % 20 == 19:
                for k, x in enumerate(second):
                    count_one("validation", k == 0)
                    time.sleep(0.025)
print("ready", flush=True)
sys.stdin.readline()
globals()[kind]()
print(json.dumps(counted), flush=True)
sys.stdin.readline()
'''


def wait_for_samples(pmtop):
    """Until it samples the stack: a batch before that is one that it cannot count."""
    for line in itertools.islice(pmtop.stdout, OBJECTS_MAX):
        if any(group['looks'] >= SAMPLES for group in json.loads(line).get('code', {}).get('groups', [])):
            return
    raise AssertionError('pmtop has not sampled a stack')


def watch_silent(kind, workers=0, persists=0, count=4):
    """The last object, and what the program says that it did."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'program.py')
        with open(path, 'w') as file:
            file.write(SILENT.replace('def both', 'def train_and_evaluate') if kind == 'train_and_evaluate' else SILENT)
        words = [str(word) for word in (kind, workers, persists, count)]
        program = subprocess.Popen([PYTHON, path, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        try:
            program.stdout.readline()
            pmtop = subprocess.Popen([PMTOP, '-p', str(program.pid), '-b', '--format=json', '-d', '0.25'], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, text=True)
            wait_for_samples(pmtop)
            program.stdin.write('\n')
            program.stdin.flush()
            counted = json.loads(program.stdout.readline())
            time.sleep(1)
            program.stdin.write('\n')
            program.stdin.flush()
            text, _ = pmtop.communicate(timeout=120)
        finally:
            program.kill()
            program.wait()
    return json.loads(text.splitlines()[-1]), counted


def is_as_counted(kind, **more):
    reported, counted = watch_silent(kind, **more)
    modes = {name: mode['count'] for name, mode in reported['modes'].items()}
    assert modes == {name: batches for name, (batches, _) in counted.items()}, (modes, counted, reported['epochs'])
    assert len(reported['epochs']) == counted['train'][1], (reported['epochs'], counted)


def tells_two_loops_of_a_function_apart():
    is_as_counted('both')


def believes_backward_more_than_words():
    is_as_counted('train_and_evaluate')


def takes_no_short_pass_for_validation():
    is_as_counted('frozen', count=24)


def lets_two_loaders_train():
    is_as_counted('gan', count=3)


def misses_none(kind='short', **more):
    """What the first two passes do may be unknown when they are over."""
    reported, counted = watch_silent(kind, **more)
    modes = {name: mode['count'] for name, mode in reported['modes'].items()}
    assert sum(modes.values()) == sum(batches for batches, _ in counted.values()), (modes, counted, reported['epochs'])
    assert modes['validation'] >= counted['validation'][0] - 24, (modes, counted, reported['epochs'])


def misses_no_short_pass():
    misses_none(count=8)


def misses_no_short_pass_of_workers():
    misses_none(count=5, workers=2)


def misses_no_short_pass_of_persistent_workers():
    misses_none(count=8, workers=2, persists=1)


def misses_no_pass_within_a_step():
    misses_none('nested', count=3)


def misses_no_pass_of_workers_within_a_step():
    misses_none('nested', count=2, workers=2, persists=1)


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
            if not late:
                wait_for_samples(pmtop)
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


def knows_the_length_of_a_joined_epoch():
    """Within seconds of the start, in an epoch that is the only one."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'train.py')
        with open(path, 'w') as file:
            file.write(PROGRAM)
        program = subprocess.Popen([PYTHON, path, '0.1', '0', '0', '600', '1', '0', '0', '0'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        try:
            program.stdout.readline()
            program.stdin.write('\n')
            program.stdin.flush()
            time.sleep(3)
            pmtop = subprocess.run([PMTOP, '-p', str(program.pid), '-b', '--format=json', '-d', '0.5', '-n', '20'], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                   capture_output=True, text=True, timeout=60)
        finally:
            program.kill()
            program.wait()
    known = [number for number, line in enumerate(pmtop.stdout.splitlines()) if is_joined(json.loads(line))]
    assert known and known[0] <= 12, (known, pmtop.stdout.splitlines()[-1])


def is_joined(reported):
    epoch = reported.get('epoch', {})
    return 0 < epoch.get('done_ratio', 0) < 0.5 and epoch.get('eta_s', 0) > 30


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
    'two loops without words': tells_two_loops_of_a_function_apart,
    'train_and_evaluate': believes_backward_more_than_words,
    'short passes without backward': takes_no_short_pass_for_validation,
    'two loaders of training': lets_two_loaders_train,
    'short passes': misses_no_short_pass,
    'short passes, workers': misses_no_short_pass_of_workers,
    'short passes, persistent workers': misses_no_short_pass_of_persistent_workers,
    'passes within a step': misses_no_pass_within_a_step,
    'passes within a step, workers': misses_no_pass_of_workers_within_a_step,
    'late': says_what_it_saw,
    'length of a joined epoch': knows_the_length_of_a_joined_epoch,
    'a recording': replays_as_it_was,
}
if os.path.exists(SITE):
    TESTS['published'] = leaves_published_runs_alone
if __name__ == "__main__": sys.exit(try_all(TESTS, AT_A_TIME))
