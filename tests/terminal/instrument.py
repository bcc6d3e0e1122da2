"""`pmtop instrument PID`: what it says and asks, that a running CPython 3.14 is instrumented, and what is refused.

PMTOP_TEST_PYTHON314 names a CPython 3.14 or newer (default: one of pythons()); without one only the refusals are tested. It is the program that runs
the target, so it may be a script that ends with exec; those with PyTorch need one that can import it.
"""
import glob
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time

from pythons import ENVIRONMENT, PMTOP, Running, pmtop, pythons, try_all

NEW = os.environ.get('PMTOP_TEST_PYTHON314') or next((path for version, path in pythons().items() if int(version.split('.')[1]) >= 14), None)
BUSY = 'print("ready", flush=True)\nwhile True: sum(range(100))'
ASLEEP = 'print("ready", flush=True)\nimport time; time.sleep(600); print("awake", flush=True)'
WRITES_NOTHING = 'nothing was written'

TRAIN = '''
import sys, time, torch
torch.manual_seed(1)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
data = torch.utils.data.TensorDataset(torch.arange(320.).reshape(80, 4) / 320)
loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
print("ready", flush=True)
for epoch in range(8):
    for (batch,) in loader:
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        time.sleep(0.03)
print(loss.item().hex(), [p.sum().item().hex() for p in model.parameters()], flush=True)
time.sleep(3)
'''


def refuses(arguments, code, *words):
    reported = pmtop('instrument', *arguments)
    assert reported.returncode == code, (reported.returncode, reported.stderr)
    assert reported.stderr.count('\n') == 1 and all(word in reported.stderr for word in words), reported.stderr
    return reported.stdout


def folders(pid):
    """What pmtop left in the process's own /tmp and /dev/shm."""
    return [path for folder in ('tmp', 'dev/shm') for path in glob.glob(f'/proc/{pid}/root/{folder}/pmtop-instrument-{pid}-*')]


# -- refusals, with any Python


def refuses_an_older_python():
    with Running(sys.executable, '-c', BUSY) as program:
        said = refuses(['--yes', program.pid], 1, f'process {program.pid} runs Python 3.', 'only CPython 3.14 and newer', 'pmtop -- COMMAND')
        assert not said and not folders(program.pid), said


def refuses_what_is_no_python():
    with subprocess.Popen(['sleep', '600']) as other:
        try:
            refuses(['--yes', other.pid], 1, f'process {other.pid} runs no CPython 3.8 or newer')
        finally:
            other.kill()


def refuses_other_targets():
    refuses([], 2, 'pmtop instrument PID')
    refuses([4194304], 3, 'no process 4194304 (it may have ended)')
    refuses(['a-name'], 2, 'a run with a name is instrumented already')
    refuses(['/etc/hostname'], 2, 'needs a running process, not a recording')
    refuses(['--json', 1], 2, 'text')
    reported = pmtop('--yes', '-p', os.getpid())
    assert reported.returncode == 2 and '--yes' in reported.stderr, reported.stderr


def refuses_without_rights(python):
    """As somebody else."""
    with Running(python, '-c', BUSY) as program:
        reported = subprocess.run([PMTOP, 'instrument', '--yes', str(program.pid)], env=ENVIRONMENT, capture_output=True, text=True, timeout=60, user=65534,
                                  group=65534, cwd='/')
        assert reported.returncode == 4 and 'root' in reported.stderr and reported.stderr.count('\n') == 1, reported


BY_HAND = '''
import os, sys, types
folder, site, launch, hooks = sys.argv[1:]
sys.modules["torch"] = types.ModuleType("torch")
open(os.path.join(folder, "report"), "w").close()
with open(os.path.join(folder, "pmtop_launch_hooks.py"), "w") as out:
    out.write(hooks or open(os.path.join(launch, "pmtop_launch_hooks.py")).read())
path = list(sys.path)
try:
    exec(open(os.path.join(launch, "pmtop_instrument.py")).read(), {"FOLDER": folder, "SITE": site})
    for _ in range(1000): pass
except KeyboardInterrupt:
    print("the program sees it")
print(open(os.path.join(folder, "report")).read(), sys.path == path)
'''


NAMES = '_NAMES = {"torch": "PyTorch"}\n'


def by_hand(site, hooks=''):
    launch = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src/python/launch'))
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.executable, '-I', '-S', '-c', BY_HAND, folder, site, launch, hooks], capture_output=True, text=True, timeout=60)
    assert not run.stderr, run.stderr
    return run.stdout.split('\n')


def the_script_reports_every_failure():
    """Without CPython 3.14: what the script writes, and that it leaves no trace where it fails."""
    for site in '', '/nowhere':
        assert by_hand(site) == ["failed the package pmtop is not installed: pip install pmtop in the program's environment", ' True', '']
    assert by_hand('', NAMES + 'def instrument(packages): raise ValueError("of ours")') == ['failed ValueError: of ours', ' True', '']
    interrupted = by_hand('', NAMES + 'def instrument(packages): raise KeyboardInterrupt')
    assert interrupted == ['the program sees it', 'failed it was interrupted (SIGINT)', ' True', ''], interrupted


# -- with CPython 3.14


def asks_first():
    """Says what it will do; does nothing without a yes."""
    with Running(NEW, '-c', BUSY) as program:
        said = refuses([program.pid], 2, 'standard input is no terminal', WRITES_NOTHING, '--yes')
        assert 'PEP 768' in said and 'What can go wrong' in said and f'Process {program.pid} (' in said, said
        for answer in 'n', '', 'yellow':
            code, said = answered(program.pid, answer)
            assert code == 1 and 'Continue? [y/N]' in said and 'not confirmed: nothing was written' in said, (code, said)
        code, said = answered(program.pid, 'y')
        assert code == 1 and 'the program has imported none of PyTorch, ' in said and not folders(program.pid), (code, said)


def answered(pid, answer):
    ours, theirs = pty.openpty()
    with subprocess.Popen([PMTOP, 'instrument', str(pid)], env=ENVIRONMENT, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        os.write(ours, answer.encode() + b'\n')
        said = run.communicate(timeout=60)[0]
    os.close(ours)
    os.close(theirs)
    return run.returncode, said


def refuses_where_it_is_off():
    for arguments, environment in ((['-X', 'disable-remote-debug'], {}), ([], {'PYTHON_DISABLE_REMOTE_DEBUG': '1'})):
        with subprocess.Popen([NEW, *arguments, '-c', BUSY], stdout=subprocess.PIPE, text=True, env={**ENVIRONMENT, **environment}) as program:
            program.stdout.readline()
            said = refuses(['--yes', program.pid], 1, f'remote debugging is off in process {program.pid}', 'PYTHON_DISABLE_REMOTE_DEBUG')
            program.kill()
            assert not said, said


def gives_up():
    """A main thread that sleeps is left as it was: the script does not run later, and nothing lies about."""
    with Running(NEW, '-c', ASLEEP.replace('600', '4')) as program:
        refuses(['--yes', '--for=1s', program.pid], 1, 'did not look within 1 s', 'withdrawn', 'pmtop stack')
        assert not folders(program.pid)
        assert program.process.stdout.readline() == 'awake\n'


def is_interrupted():
    with Running(NEW, '-c', ASLEEP) as program:
        with subprocess.Popen([PMTOP, 'instrument', '--yes', str(program.pid)], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:
            until = time.monotonic() + 20
            while not folders(program.pid) and time.monotonic() < until:
                time.sleep(0.05)
            assert folders(program.pid)
            time.sleep(0.3)
            refuses(['--yes', program.pid], 1, 'has not yet run the script of another debugger')
            run.send_signal(signal.SIGINT)
            _, said = run.communicate(timeout=20)
        assert run.returncode == 1 and 'interrupted: the request was withdrawn' in said, (run.returncode, said)
        assert not folders(program.pid) and program.process.poll() is None


def refuses_a_stopped_process():
    with Running(NEW, '-c', BUSY) as program:
        os.kill(program.pid, signal.SIGSTOP)
        time.sleep(0.2)
        said = refuses(['--yes', program.pid], 1, f'process {program.pid} is stopped', 'kill -CONT')
        assert not said, said


def leaves_the_program_as_it_is():
    """Signals, threads, garbage collections and an exception of the program's own go on, and its sys is as before."""
    program = '''
import gc, os, signal, sys, threading, time
caught = [0]
signal.signal(signal.SIGUSR1, lambda *_: caught.__setitem__(0, caught[0] + 1))
def work():
    while True: sum(range(1000))
threading.Thread(target=work, daemon=True).start()
gc.set_threshold(50)
before = sorted(sys.modules), list(sys.path), sys.gettrace(), list(sys.meta_path)
print("ready", flush=True)
sent = 0
until = time.monotonic() + 3
while time.monotonic() < until:
    os.kill(os.getpid(), signal.SIGUSR1)
    sent += 1
    while caught[0] < sent and time.monotonic() < until: [{} for _ in range(100)]
after = sorted(sys.modules), list(sys.path), sys.gettrace(), list(sys.meta_path)
print(sent > 100, sent - caught[0] <= 1, after == before, flush=True)
'''
    with Running(NEW, '-c', program) as running:
        for _ in range(3):
            refuses(['--yes', running.pid], 1, 'the program has imported none of PyTorch, ')
        assert running.process.stdout.readline().split() == ['True'] * 3


def has_torch():
    return NEW and subprocess.run([NEW, '-c', 'import torch'], env=ENVIRONMENT, capture_output=True).returncode == 0


def result(running):
    return running.process.stdout.readline()


def instruments_pytorch():
    """Batches count at once, epochs from the next pass over the loader; results are those of a run without pmtop."""
    with Running(NEW, '-c', TRAIN) as plain, Running(NEW, '-c', TRAIN) as run:
        said = pmtop('instrument', '--yes', run.pid)
        assert said.returncode == 0 and f'Process {run.pid} is instrumented (PyTorch, package of ' in said.stdout, (said.stdout, said.stderr)
        again = pmtop('instrument', '--yes', run.pid)
        assert again.returncode == 0 and 'is instrumented already' in again.stdout, (again.stdout, again.stderr)
        assert not folders(run.pid)
        truth = result(plain)
        assert truth and result(run) == truth
        seen = json.loads(pmtop('-b', '-n', 1, '--json', '-p', run.pid).stdout.splitlines()[-1])
        assert seen['epochs'] and all(epoch['batches'] == 20 for epoch in seen['epochs']) and 3 <= len(seen['epochs']) <= 8, seen['epochs']
        assert seen['batch']['loss'] > 0 and 0 <= seen['batch']['count'] - 20 * len(seen['epochs']) <= 20, (seen['batch'], seen['epochs'])


def main():
    tests = {'an older Python': refuses_an_older_python, 'no Python': refuses_what_is_no_python, 'other targets': refuses_other_targets,
             'the script': the_script_reports_every_failure}
    if os.geteuid() == 0:
        tests['rights'] = lambda: refuses_without_rights(NEW or sys.executable)
    if NEW:
        tests.update({'asks': asks_first, 'off': refuses_where_it_is_off, 'gives up': gives_up, 'interrupted': is_interrupted,
                      'stopped': refuses_a_stopped_process, 'as it is': leaves_the_program_as_it_is})
    else:
        print('skipped: no CPython 3.14 or newer (PMTOP_TEST_PYTHON314 names one)')
    if has_torch():
        tests['PyTorch'] = instruments_pytorch
    elif NEW:
        print(f'skipped: {NEW} has no PyTorch')
    return try_all(tests, 2)


if __name__ == '__main__':
    sys.exit(main())
