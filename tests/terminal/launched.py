"""Programs that pmtop started, and what it printed of them: for launch.py."""
import json
import os
import re
import subprocess
import tempfile
import threading

from pythons import BUILD, ENVIRONMENT, PMTOP

TORCH = os.path.join(BUILD, 'python-venv/bin/python')
HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCH = os.path.realpath(os.path.join(HERE, '../../src/python/launch'))
FOLDER = tempfile.mkdtemp()
FARM = threading.Lock()
PAIRS, AT_A_TIME, RUN_S = 3, 3, 240     # at most so long
# Ranks, as the environment of the tests may have some, would make these runs ranks of a job.
PLAIN = {key: value for key, value in ENVIRONMENT.items() if not re.match('PMTOP|PYTHONPATH|RANK|LOCAL_RANK|WORLD_SIZE|MASTER_', key)}
PLAIN.update(HOME=FOLDER, XDG_STATE_HOME=os.path.join(FOLDER, 'state'), PYTHONWARNINGS='ignore', PYTHONDONTWRITEBYTECODE='1')

# A program that nobody watches need not last.
UNWATCHED = dict(PLAIN, UNWATCHED='1')

TRAIN = '''
import os, sys, time
WATCHED = "UNWATCHED" not in os.environ
BEFORE = {before!r}
exec(BEFORE)
import torch
class Items(torch.utils.data.Dataset):
    def __len__(self): return 80
    def __getitem__(self, i): return torch.full((4,), i / 80)
def train(workers=0, context=None):
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(Items(), batch_size=4, shuffle=True, num_workers=workers, multiprocessing_context=context)
    {after}
    for epoch in {epochs}:
        for batch in {batches}:
            optimizer.zero_grad()
            loss = model(batch).pow(2).mean()
            loss.backward()
            optimizer.step()
            time.sleep({pause} * WATCHED)
    time.sleep(WATCHED)
    with open(sys.argv[1], 'a') as out:
        print(loss.item().hex(), [p.sum().item().hex() for p in model.parameters()], file=out)
if __name__ == "__main__":
    train({arguments})
'''


def script(name, before='', after='', epochs='range(3)', batches='loader', arguments='', pause=0.03):
    path = os.path.join(FOLDER, name + '.py')
    with open(path, 'w') as file:
        file.write(TRAIN.format(before=before, after=after, epochs=epochs, batches=batches, arguments=arguments, pause=pause))
    return path, path + '.out'


class Done:
    """A command that pmtop -b has watched: the last object, and what went to standard error. `prints`: into a file, not between the objects."""

    def __init__(self, *command, options=(), environment=None, code=0, stdin='', prints=False):
        printed = tempfile.mktemp(dir=FOLDER)
        if prints:
            command = 'sh', '-c', 'out=$0; exec "$@" > "$out"', printed, *command
        process = subprocess.run([PMTOP, '-b', '--format=json', '-d', '0.2', *options, '--', *command], env=environment or PLAIN, input=stdin,
                                 capture_output=True, text=True, timeout=RUN_S)
        assert process.returncode == code, (process.returncode, process.stderr)
        self.lines = process.stdout.splitlines()
        self.objects = [json.loads(line) for line in self.lines if line.startswith('{"')]
        # The newest of an instrumented run, else the newest.
        self.last = ([one for one in self.objects if 'batch' in one and 'counted_by' not in one['meta']] or self.objects)[-1]
        if prints:
            with open(printed) as file:
                self.printed = file.read().splitlines()
        self.said = process.stderr

    def has_trained(self):
        assert [epoch['batches'] for epoch in self.last['epochs']] == [20, 20, 20] and self.last['batch']['count'] == 60, (self.last['batch'], self.said)
        assert 'counted_by' not in self.last['meta'], self.last['meta']
        return self
