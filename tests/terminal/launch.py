"""Launch mode: what `pmtop -- COMMAND` instruments, what it says where it cannot, and that the command runs as it does without pmtop."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from launched import AT_A_TIME, FARM, FOLDER, HERE, LAUNCH, PAIRS, PLAIN, RUN_S, TORCH, UNWATCHED, Done, script
from pythons import PMTOP, pythons, try_all


def without_package():
    """An interpreter that has torch, but not pmtop, and its environment."""
    farm = os.path.join(FOLDER, 'packages')
    with FARM:
        if not os.path.exists(farm):
            os.mkdir(farm)
            site = subprocess.run([TORCH, '-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], capture_output=True, text=True).stdout.strip()
            for name in os.listdir(site):
                if not name.startswith('pmtop'):
                    os.symlink(os.path.join(site, name), os.path.join(farm, name))
    return os.path.realpath(TORCH), dict(PLAIN, PYTHONPATH=farm)


def instruments_with_its_own_package():
    python, environment = without_package()
    path, out = script('own')
    done = Done(python, path, out, environment=environment).has_trained()
    assert re.search(r'^pmtop: instrumented PyTorch in process \d+ \(package of pmtop [0-9.]+\): --no-instrument .* PMTOP_LAUNCH, PMTOP_LAUNCH_PACKAGE, .* PYTHONPATH begins with ' + re.escape(LAUNCH),
                     done.said), done.said
    assert done.said.count('\n') == 1, done.said
    assert {row['name'] for row in done.last['operations']} >= {'forward', 'backward', 'optimizer', 'data'}, done.last['operations']
    # The same numbers without pmtop, and with --no-instrument.
    subprocess.run([python, path, out], env=dict(environment, UNWATCHED='1'), check=True, timeout=RUN_S)
    bare = Done(python, path, out, environment=environment, options=['--no-instrument'])
    assert bare.said == '', bare.said
    with open(out) as file:
        results = file.read().splitlines()
    assert len(results) == 3 and len(set(results)) == 1, results


def instruments_with_the_environments_package():
    path, out = script('environment')
    done = Done(TORCH, path, out).has_trained()
    assert 'package of the environment' in done.said, done.said


def instruments_from_the_first_backward(loss_of, batches):
    done = Done(TORCH, '-c', f'import time, torch\nw, m = torch.ones(4, requires_grad=True), {loss_of}\nfor _ in range(30): m(w).sum().backward(); time.sleep(0.05)\ntorch.set_grad_enabled(False); m(w); time.sleep(0.5)')
    assert ('instrumented PyTorch' in done.said) == bool(batches) and done.last.get('batch', {}).get('count', 0) == batches, (done.said, done.last.get('batch'))


def counts_a_loader_that_is_no_dataloader(how, epochs):
    done = Done(TORCH, os.path.join(HERE, '../workloads/own_loader.py'), how)
    assert 'instrumented PyTorch' in done.said and [row['batches'] for row in done.last['epochs']] == [20] * epochs, (done.said, done.last)
    assert done.last['batch']['count'] in (57 + epochs, 60), done.last['batch']
    assert all('done_ratio' in one['epoch'] for one in done.objects if one.get('epochs') and one['epochs'][-1]['batches'] < 20), 'no length of an epoch'


def instruments_with_workers(how):
    python, environment = without_package()
    path, out = script(how, arguments=f'2, "{how}"', pause=0.1)  # workers live only in an epoch, which must span several refreshes
    done = Done(python, path, out, environment=environment).has_trained()
    assert re.fullmatch(r'pmtop: instrumented .*\n', done.said), done.said
    workers = [one.get('workers', []) for one in done.objects]
    assert any(len(rows) == 2 and all(row.get('fetches') for row in rows) for rows in workers), workers


def torchrun_has_two_ranks():
    path, out = script('ranks', before='import torch.distributed as dist; dist.init_process_group("gloo")', arguments='0, None); dist.barrier(')
    done = Done(TORCH, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', '2', path, out, options=['--all'])
    ranks = max((one.get('ranks', []) for one in done.objects), key=len)
    assert sorted(row['rank'] for row in ranks) == [0, 1] and len({row['pid'] for row in ranks}) == 2, ranks
    assert done.last['world_size'] == 2 and [row['batches'] for row in done.last['ranks']] == [60, 60], done.last['ranks']


def leaves_alone_what_instruments_itself():
    plan = 'import pmtop.torch; pmtop.torch.instrument(epochs=3)'
    path, out = script('itself', before=plan)
    done = Done(TORCH, path, out).has_trained()
    assert done.said == '' and done.last['epoch']['total'] == 3, (done.said, done.last['epoch'])
    path, out = script('later', after=plan)
    assert Done(TORCH, path, out).has_trained().last['epoch']['total'] == 3


def leaves_alone_own_epochs():
    path, out = script('epochs', before='import pmtop', epochs='pmtop.epochs(3)', batches='pmtop.batches(loader)')
    done = Done(TORCH, path, out).has_trained()
    assert done.said == '', done.said
    path, out = script('epochs_later', after='import pmtop', epochs='pmtop.epochs(3)', batches='pmtop.batches(loader)')
    Done(TORCH, path, out).has_trained()


LIGHTNING = '''
import sys, time, torch, lightning
if len(sys.argv) > 1:
    from pmtop.lightning import PmtopCallback
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        time.sleep(0.03)
        return self.layer(batch).pow(2).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.001)
loader = torch.utils.data.DataLoader(torch.rand(80, 4), batch_size=4)
lightning.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                  callbacks=[PmtopCallback()] if len(sys.argv) > 1 else []).fit(Model(), loader)
time.sleep(1)
'''


def counts_lightning_once():
    """With its callback, and without."""
    path = os.path.join(FOLDER, 'lit.py')
    with open(path, 'w') as file:
        file.write(LIGHTNING)
    done = Done(TORCH, path, 'callback', prints=True).has_trained()
    assert done.last['run'] == 'Model' and 'pmtop: instrumented' not in done.said, (done.last['run'], done.said)
    done = Done(TORCH, path, prints=True).has_trained()
    assert done.last['run'] == 'lit' and 'pmtop: instrumented Lightning in' in done.said, (done.last['run'], done.said)
    # What only the callback knows.
    assert (done.last['epoch']['total'], done.last['meta']['model'], done.last['meta']['instrumented']) == (3, 'Model', 'PyTorch and Lightning'), done.last


KERAS = '''
import os, sys, time, numpy, keras
WATCHED = "UNWATCHED" not in os.environ
if "callback" in sys.argv:
    from pmtop.keras import PmtopCallback
class Slow(keras.callbacks.Callback):
    async_safe = True
    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(0.03 * WATCHED)
keras.utils.set_random_seed(1)
x = numpy.random.default_rng(0).normal(size=(80, 3)).astype("float32")
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
callbacks = [Slow()] + ([PmtopCallback()] if "callback" in sys.argv else [])
history = model.fit(x, x[:, :1], batch_size=4, epochs=3, verbose=0, callbacks=callbacks, validation_data=(x[:8], x[:8, :1]))
with open(sys.argv[1], "a") as out:
    print(history.history, model.evaluate(x, x[:, :1], verbose=0, batch_size=8), [w.tolist() for w in model.get_weights()], numpy.random.random(), file=out)
time.sleep(WATCHED)
'''


def counts_keras_once(backend, instrumented):
    """Its callback's and without it; and on PyTorch the batches are Keras', not the loader's. The results are those without pmtop."""
    path, environment = os.path.join(FOLDER, f'keras_{backend}.py'), dict(PLAIN, KERAS_BACKEND=backend)
    with open(path, 'w') as file:
        file.write(KERAS)
    done = Done(TORCH, path, path + '.out', environment=environment, prints=True).has_trained()
    counts = {mode: row['count'] for mode, row in done.last['modes'].items()}
    assert counts == {'train': 60, 'validation': 6, 'test': 10} and done.last['epoch']['total'] == 3, (counts, done.last['epoch'])
    assert done.last['meta']['framework'].endswith('on ' + backend) and done.last['batch']['loss'], done.last['meta']
    assert done.last['meta']['instrumented'] == instrumented and 'Keras in process' in done.said, (done.last['meta'], done.said)
    done = Done(TORCH, path, path + '.out', 'callback', environment=environment, prints=True).has_trained()
    assert done.said == '' and 'instrumented' not in done.last['meta'], (done.said, done.last['meta'])
    subprocess.run([TORCH, path, path + '.out'], env=dict(environment, UNWATCHED='1'), check=True, timeout=RUN_S)
    with open(path + '.out') as file:
        results = file.read().splitlines()
    assert len(results) == 3 and len(set(results)) == 1, results


JAX = '''
import os, time, jax, jax.numpy as jnp
WATCHED = "UNWATCHED" not in os.environ
@jax.jit
def train_step(w, x):
    loss, gradient = jax.value_and_grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * gradient, loss
w, x = jnp.zeros((4, 1)), jnp.ones((8, 4))
for epoch in range(3):
    for step in range(100):
        w, loss = train_step(w, x)
        time.sleep(0.03 * WATCHED)
print(w.tolist(), flush=True)
time.sleep(WATCHED / 2)
'''


def leaves_the_steps_of_jax_inferred():
    """Its compilations are published, without the spans for which pmtop would infer no steps."""
    path = os.path.join(FOLDER, 'jax_loop.py')
    with open(path, 'w') as file:
        file.write(JAX)
    done = Done(TORCH, path, prints=True)
    assert 'pmtop: instrumented JAX in process' in done.said and 'steps are inferred' in done.said, done.said
    last = done.objects[-1]
    assert last['meta']['instrumented'] == 'JAX' and last['meta']['framework'].startswith('jax '), last['meta']
    assert last['inferred']['what'] == 'for step in range(100)' and last['batch']['count'] >= 100, last['inferred']
    bare = subprocess.run([TORCH, path], env=UNWATCHED, check=True, timeout=RUN_S, capture_output=True, text=True)
    assert done.printed == bare.stdout.splitlines(), (done.printed, bare.stdout)


def has_the_ranks_that_torch_spawns():
    """Their environment does not say which they are."""
    path, out = script('spawned', before='def rank(i, folder):\n    torch.distributed.init_process_group("gloo", init_method="file://" + folder, rank=i, world_size=2)\n'
                                         '    train()', arguments='0, None) if 0 else torch.multiprocessing.spawn(rank, (sys.argv[1] + ".store",), 2')
    done = Done(TORCH, path, out, options=['--all'])
    assert done.last['world_size'] == 2 and [(row['rank'], row['batches']) for row in done.last['ranks']] == [(0, 60), (1, 60)], done.last['ranks']


def ends_by_interrupt():
    """As without pmtop: the program sees SIGINT, and its status comes back."""
    use = 'import signal, sys, time, torch\ntorch.optim.SGD([torch.zeros(1, requires_grad=True)])\n' \
          'try: print("ready", flush=True); time.sleep(60)\nexcept KeyboardInterrupt: sys.exit(9)'
    process = subprocess.Popen([PMTOP, '-b', '--', TORCH, '-c', use], env=PLAIN, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    for line in process.stdout:
        if line == 'ready\n':
            break
    child = int(subprocess.run(['pgrep', '-P', str(process.pid), '-f', 'KeyboardInterrupt'], capture_output=True, text=True).stdout.split()[0])
    os.kill(child, signal.SIGINT)
    process.communicate(timeout=RUN_S)
    assert process.returncode == 9, process.returncode


SITE = '''
import sys
print("site", __name__, __file__ == sys.modules["sitecustomize"].__file__, sys.path[:2], [type(f).__name__ for f in sys.meta_path if type(f).__name__ != "_Watch"])
{more}
'''


def chain(python, more):
    """What a sitecustomize and a usercustomize of the user print, without pmtop and below it."""
    folder = tempfile.mkdtemp(dir=FOLDER)
    for name, text in (('sitecustomize', SITE.format(more=more)), ('usercustomize', 'print("user", flush=True)')):
        with open(os.path.join(folder, name + '.py'), 'w') as file:
            file.write(text)
    end = 'import sys, time; print(sys.path, "sitecustomize" in sys.modules, flush=True); time.sleep(0.5); sys.exit(7)'
    environment = dict(PLAIN, PYTHONPATH=folder)
    alone = subprocess.run([python, '-c', end], env=environment, capture_output=True, text=True, timeout=RUN_S)
    below = Done(python, '-c', end, environment=environment, code=7, prints=True)
    assert below.printed == alone.stdout.splitlines() and len(below.printed) >= 2, (below.printed, alone.stdout)
    assert below.said == alone.stderr, (below.said, alone.stderr)
    return below


def chains_to_the_next_sitecustomize(python):
    assert 'user' in chain(python, '').printed
    assert 'Error in sitecustomize' in chain(python, 'raise ValueError("mine")').said
    chain(python, 'import nothing_of_this_name')


def keeps_the_environment():
    end = 'import os, sys, time; print(sorted(os.environ.items()), flush=True); time.sleep(0.5)'
    alone = subprocess.run([TORCH, '-c', end], env=PLAIN, capture_output=True, text=True, timeout=RUN_S)
    assert Done(TORCH, '-c', end, options=['--no-instrument'], prints=True).printed == alone.stdout.splitlines()
    launched = dict(eval(Done(TORCH, '-c', end, prints=True).printed[0]))
    added = {key: value for key, value in launched.items() if (key, value) not in eval(alone.stdout)}
    assert set(added) == {'PYTHONPATH', 'PMTOP_LAUNCH', 'PMTOP_LAUNCH_PACKAGE'} and added['PYTHONPATH'] == LAUNCH, added
    assert not os.path.exists(added['PMTOP_LAUNCH']), added
    path = dict(eval(Done(TORCH, '-c', end, environment=dict(PLAIN, PYTHONPATH='/a:/b'), prints=True).printed[0]))['PYTHONPATH']
    assert path == LAUNCH + ':/a:/b', path


def says_where_it_cannot():
    for option, what in (('-I', 'PYTHONPATH'), ('-uE', 'PYTHONPATH'), ('-S', 'sitecustomize')):
        done = Done(TORCH, option, '-c', 'import time; time.sleep(0.5)')
        assert re.fullmatch(rf'pmtop: python -{option[-1]} ignores {what}: pmtop cannot instrument it .*\n', done.said), done.said
    for words in (['-c', 'import time; time.sleep(0.5)', '-I'], ['-W', 'ignore', '-c', 'import time; time.sleep(0.5)'], ['-X', 'E', '-c', 'pass;' * 3 + 'import time; time.sleep(0.5)']):
        assert Done(TORCH, *words).said == '', words


def says_that_no_python_started():
    done = Done('sleep', '11')
    assert done.said == 'pmtop: sleep has started no Python that reads PYTHONPATH: pmtop cannot instrument it\n', done.said


def says_nothing_of_a_python_that_started_later():
    done = Done('sh', '-c', f'sleep 0.2; {TORCH} -c "import time; time.sleep(11)"')
    assert done.said == '', done.said


def stand_in(torch):
    """A package torch with these two modules."""
    folder = tempfile.mkdtemp(dir=FOLDER)
    for path, text in {'torch/utils/data/dataloader.py': torch, 'torch/optim/optimizer.py': 'class Optimizer: pass'}.items():
        os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(folder, path), 'w') as file:
            file.write(text)
    for package in ('torch', 'torch/utils', 'torch/utils/data', 'torch/optim'):
        with open(os.path.join(folder, package, '__init__.py'), 'w'):
            pass
    return dict(PLAIN, PYTHONPATH=folder)


LOADER = 'class DataLoader:\n    def __init__(self, items): self.items = items'


def says_that_no_package_fits(version, python):
    use = 'import time, torch.utils.data.dataloader as d; print(d.DataLoader([7]).items, flush=True); time.sleep(0.5)'
    done = Done(python, '-c', use, environment=stand_in(LOADER), prints=True)
    assert done.printed == ['[7]'], done.printed
    short = '.'.join(version.split('.')[:2])
    assert re.fullmatch(rf'pmtop: pmtop cannot instrument process \d+ .* has no compiled part for cpython {re.escape(short)}: .*\n', done.said), done.said


def leaves_a_failing_import_alone(python):
    """The second attempt succeeds, as without pmtop; another package that is named pmtop is left alone."""
    torch = 'import os\nif not os.environ.pop("SECOND", ""): raise ImportError("no such library")\n' + LOADER
    use = ('import os, time\ntry: import torch.utils.data.dataloader\nexcept ImportError as error: print(error)\nos.environ["SECOND"] = "1"\n'
           'import torch.utils.data.dataloader as d; print(d.DataLoader([7]).items, d.__loader__.__dict__.keys() - {"name", "path"}, flush=True); time.sleep(0.5)')
    environment = stand_in(torch)
    with open(os.path.join(environment['PYTHONPATH'], 'pmtop.py'), 'w') as file:
        file.write('raise SystemExit("imported")')
    done = Done(python, '-c', use, environment=environment, prints=True)
    assert done.printed == ['no such library', '[7] set()'], done.printed
    assert 'is named pmtop, but is another package' in done.said, done.said


def imports_nothing_by_itself():
    use = 'import sys, time; print([name for name in sys.modules if name.split(".")[0] in ("torch", "pmtop")], flush=True); time.sleep(0.3)'
    assert Done(TORCH, '-c', use, prints=True).printed == ['[]']
    use = 'import torch, sys, time; print([name for name in sys.modules if name.split(".")[0] == "pmtop"], sys.meta_path[0], flush=True); time.sleep(0.3)'
    done = Done(TORCH, '-c', use, prints=True)
    assert done.printed[0].startswith('[]') and done.said == '', (done.printed, done.said)
    use = 'import sys, time; ' + '; '.join(f'import {name}' for name in ('jax', 'keras')) + '; print([n for n in sys.modules if n.split(".")[0] == "pmtop"]); time.sleep(0.3)'
    done = Done(TORCH, '-c', use, environment=dict(PLAIN, KERAS_BACKEND='jax'), prints=True)
    assert done.printed == ['[]'] and done.said == '', (done.printed, done.said)


def passes_on_input_and_status():
    done = Done(TORCH, '-c', 'import sys, time, torch; torch.optim.SGD([torch.zeros(1, requires_grad=True)]); print(input(), flush=True); time.sleep(0.3); sys.exit(5)',
                stdin='typed\n', code=5, prints=True)
    assert done.printed == ['typed'], done.printed


def reads_a_pipe_beside_the_screen():
    """Standard input is a pipe, standard output a terminal: the command reads the pipe, the screen the terminal. Of a terminal it reads nothing."""
    for how in ('pipe', 'terminal'):
        out = tempfile.mktemp(dir=FOLDER)
        read = f'import sys, time; open({out!r}, "w").write(repr(sys.stdin.read()) + str(sys.stdin.isatty())); time.sleep(1)'
        pid, terminal = pty.fork()
        if pid == 0:
            if how == 'pipe':
                ours, theirs = os.pipe()
                os.write(theirs, b'piped\n')
                os.close(theirs)
                os.dup2(ours, 0)
            os.execve(PMTOP, [PMTOP, '--', TORCH, '-c', read], dict(PLAIN, TERM='xterm-256color', COLUMNS='100', LINES='30'))
        seen, end, has_quit = b'', time.monotonic() + RUN_S, False
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    seen += os.read(terminal, 65536)
                except OSError:
                    break
            if not has_quit and seen and os.path.exists(out):
                has_quit = os.write(terminal, b'q') > 0  # a key is pmtop's
        _, status = os.waitpid(pid, 0)
        with open(out) as file:
            assert (has_quit, status, file.read()) == (True, 0, "'piped\\n'False" if how == 'pipe' else "''False"), (how, status, seen[-300:])


def reads_a_pipe_beside_a_stream():
    """`collect` too leaves standard input to the command."""
    out = tempfile.mktemp(dir=FOLDER)
    read = f'import sys, time; open({out!r}, "w").write(sys.stdin.read()); time.sleep(0.5)'
    subprocess.run([PMTOP, 'collect', '--', TORCH, '-c', read], env=PLAIN, input=b'piped', stdout=subprocess.DEVNULL, check=True, timeout=RUN_S)
    with open(out) as file:
        assert file.read() == 'piped'


PACE = '''
import sys, time, torch
torch.manual_seed(1)
torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
loader = torch.utils.data.DataLoader(torch.rand(400, 64), batch_size=4, shuffle=True)
times, last = [], time.perf_counter()
for batch in loader:
    optimizer.zero_grad()
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    time.sleep(0.01)
    now = time.perf_counter()
    times.append(now - last)
    last = now
times.sort()
with open(sys.argv[1], "a") as out:
    print(times[len(times) // 2], loss.item().hex(), *(p.sum().item().hex() for p in model.parameters()), file=out)
'''


def trains_as_fast_as_without():
    """Steps of 10 ms, launched with and without pmtop in turn: the medians, and the same results."""
    path, out = os.path.join(FOLDER, 'pace.py'), os.path.join(FOLDER, 'pace.out')
    with open(path, 'w') as file:
        file.write(PACE)
    for _ in range(PAIRS):
        subprocess.run([TORCH, path, out], env=PLAIN, check=True, timeout=RUN_S)
        Done(TORCH, path, out)
    with open(out) as file:
        rows = [line.split() for line in file]
    ratios = sorted(float(launched[0]) / float(alone[0]) for alone, launched in zip(rows[::2], rows[1::2]))
    print(f'step with pmtop / without, {PAIRS} pairs: median {ratios[PAIRS // 2]:.3f}, {ratios[0]:.3f} to {ratios[-1]:.3f}', flush=True)
    assert len({tuple(row[1:]) for row in rows}) == 1, rows
    assert len(rows) == 2 * PAIRS and ratios[PAIRS // 2] < 1.1, ratios


def says_so_on_the_screen():
    """And after q, waits for the command."""
    path, out = script('screen', epochs='range(6)')
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(PMTOP, [PMTOP, '--', TORCH, path, out], dict(PLAIN, TERM='xterm-256color', COLUMNS='160', LINES='40'))
    seen, end = b'', time.monotonic() + RUN_S
    has_quit = False
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
        if not has_quit and b'instrumented PyTorch' in seen:
            has_quit = os.write(terminal, b'q') > 0
    _, status = os.waitpid(pid, 0)
    assert has_quit and status == 0 and os.path.exists(out), (has_quit, status, seen[-300:])


def costs_other_programs_nothing():
    """CPU time of a Python that does nothing, in turn, once the compiled sitecustomize is there."""
    def cost(environment):
        pid = os.posix_spawn(os.path.realpath(TORCH), [TORCH, '-c', 'pass'], environment)
        used = os.wait4(pid, 0)[2]
        return used.ru_utime + used.ru_stime
    report = os.path.join(FOLDER, 'report')
    with open(report, 'w') as file:
        file.write('started\n')
    launched = dict(PLAIN, PYTHONPATH=os.path.join(FOLDER, 'launch'), PMTOP_LAUNCH=report)
    shutil.copytree(LAUNCH, launched['PYTHONPATH'])
    launched.pop('PYTHONDONTWRITEBYTECODE')
    costs = [(cost(PLAIN), cost(launched)) for _ in range(60)]
    # The least that each has taken: other programs on the machine add to the rest.
    plain, more = map(min, zip(*costs))
    assert more - plain < 0.001, (plain, more)


if not os.path.exists(TORCH) or subprocess.run([TORCH, '-c', 'import torch'], capture_output=True).returncode != 0:
    print('skipped: no PyTorch in', os.path.dirname(TORCH))
    print('0 passed, 0 failed')
    sys.exit(0)
# The long ones first.
TESTS = {
    'pace': trains_as_fast_as_without,
    'keras on torch': lambda: counts_keras_once('torch', 'PyTorch and Keras'),
    'keras on jax': lambda: counts_keras_once('jax', 'Keras and JAX'),
    'workers, spawn': lambda: instruments_with_workers('spawn'),
    'jax alone': leaves_the_steps_of_jax_inferred,
    'lightning': counts_lightning_once,
    'its own package': instruments_with_its_own_package,
    'where it cannot': says_where_it_cannot,
    'no Python': says_that_no_python_started,
    'a later Python': says_nothing_of_a_python_that_started_later,
    "the environment's package": instruments_with_the_environments_package,
    'workers, fork': lambda: instruments_with_workers('fork'),
    'first backward': lambda: instruments_from_the_first_backward('torch.nn.Linear(4, 1)', 30),
    'backward without modules': lambda: instruments_from_the_first_backward('torch.exp', 0),
    'own loader': lambda: counts_a_loader_that_is_no_dataloader('', 3),
    'wrapped iterator': lambda: counts_a_loader_that_is_no_dataloader('wrapped', 2),  # its first pass has begun before
    'torchrun': torchrun_has_two_ranks,
    'instruments itself': leaves_alone_what_instruments_itself,
    'spawned ranks': has_the_ranks_that_torch_spawns,
    'interrupt': ends_by_interrupt,
    'own epochs': leaves_alone_own_epochs,
    'environment': keeps_the_environment,
    'failing import': lambda: leaves_a_failing_import_alone(sys.executable),
    'imports nothing': imports_nothing_by_itself,
    'input and status': passes_on_input_and_status,
    'a pipe and the screen': reads_a_pipe_beside_the_screen,
    'a pipe and a stream': reads_a_pipe_beside_a_stream,
    'screen': says_so_on_the_screen,
    'other programs': costs_other_programs_nothing,
}
for version, path in pythons().items():
    TESTS[f'sitecustomize, {version}'] = lambda path=path: chains_to_the_next_sitecustomize(path)
    if int(version.split('.')[1]) < 10:
        TESTS[f'no package fits {version}'] = lambda version=version, path=path: says_that_no_package_fits(version, path)
if len(sys.argv) > 1:
    TESTS = {name: test for name, test in TESTS.items() if sys.argv[1] in name}
if __name__ == '__main__':
    failed = try_all(TESTS, AT_A_TIME, alone=['pace', 'other programs'])
    shutil.rmtree(FOLDER)
    sys.exit(failed)
