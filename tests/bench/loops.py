"""Scripts after public ones beside what they count themselves, in three runs each:

    inferred    attached to at three moments, without instrumentation
    launched    started by pmtop
    one line    instrumented by a line of their own, as tests/workloads/loops/truth.py has it

    loops.py [SCRIPT…]       a table, and a sum; fails if a cell is wrong, or if the inferred steps are exact in fewer than EXACT_MIN of all scripts

Each script is stopped (SIGSTOP) before the last comparison, so that counts are compared at rest. "unknown": pmtop shows nothing there, or no
steps within CHOICE_S. "none": the script has none, and pmtop shows none. "–": the script does not measure it.

Phases are right if the share of each differs by at most PHASE_POINTS from that by the script's own clock (sampled ones: or by three standard
errors), a loss if it is that of one of the steps at that moment."""
import collections
import concurrent.futures
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, '../workloads/loops')
BUILD = os.path.abspath(os.environ.get('PMTOP_BUILD', 'build'))
PMTOP = os.path.join(BUILD, 'pmtop')
PYTHON = os.path.join(BUILD, 'loops-venv/bin/python')
ENVIRONMENT = dict(os.environ, LC_ALL='C.UTF-8', XDG_CONFIG_HOME='/dev/null/none', OMP_NUM_THREADS='1', TOKENIZERS_PARALLELISM='false', PYTHONWARNINGS='ignore',
                   TF_NUM_INTRAOP_THREADS='1', TF_CPP_MIN_LOG_LEVEL='3', XLA_FLAGS='--xla_cpu_multi_thread_eigen=false', HF_HUB_OFFLINE='1')
MOMENTS_S = (0, 3, 8)           # of attaching, after the first step
START_S, CHOICE_S, REST_S = 120, 25, 3
WATCHED_S = 5                   # of pmtop's objects, once it counts
PHASE_POINTS, PHASE_ERRORS, LOSS_ERROR = 0.04, 3, 1e-4
EXACT_MIN = 22
LAG_S, BUFFERED_S = 2.5, 0.7    # of what pmtop prints of a running script; of what it has not emitted of a stopped one
POSITION_S = 0.3
JOBS = int(os.environ.get('PMTOP_LOOPS_JOBS', '1'))

# What a script has: steps of an epoch (or of all, without epochs), epochs, the package that it needs, batches fetched ahead, pmtop's line for it, the epochs of
# an earlier run, which its loop's range skips: only the loop shows them. What instrument() counts is defined by PyTorch's calls: the optimizer's updates
# in a step of the script, and the batches of a pass over the loader, if the script's epochs are no passes; it may have none, and take several in a step.
Script = collections.namedtuple('Script', 'form length epochs package ahead line before updates pass_length micro_batches', defaults=(None, None, 'torch', 0, 'torch', 0, 1, None, 1))
BENCH = {
    'while_own_batches': Script('nanoGPT', length=100001),
    'mingpt': Script('minGPT', length=625000000),
    'llmc': Script("llm.c's train_gpt2.py", length=20001),
    'mnist': Script('pytorch/examples mnist', 120, 400),
    'imagenet': Script('pytorch/examples imagenet', 110, 88, before=2),
    'recurrent': Script('pytorch/examples word_language_model', 100, 400),
    'dcgan': Script('pytorch/examples dcgan', 130, 300),
    'vae': Script('pytorch/examples vae', 140, 300),
    'episodes': Script('pytorch/examples reinforce'),
    'hf_trainer': Script('transformers Trainer', 200, 50, 'transformers', ahead=2, line='transformers'),
    'hf_accelerate': Script('Accelerate', 120, 200, 'accelerate', ahead=1),
    'lightning_fit': Script('Lightning', 110, 60, 'lightning', ahead=1, line='lightning'),
    'fabric_loop': Script('Fabric', 130, 150, 'lightning'),
    'keras_torch': Script('Keras on torch', 113, 40, 'keras', line='keras'),
    'keras_jax': Script('Keras on jax', 113, 40, 'keras', line='keras'),
    'keras_tensorflow': Script('Keras on tensorflow', 113, 40, 'tensorflow', line='keras'),
    'tf_function': Script("TensorFlow's quickstart", 113, 400, 'tensorflow', line=None),
    'flax_nnx': Script('flax', 100, 200, 'flax', line='jax'),
    'optax_loop': Script('optax', length=30000, package='optax', line='jax'),
    'xgb': Script('XGBoost', length=5000, package='xgboost', line=None),
    'lgbm': Script('LightGBM', length=5000, package='lightgbm', line=None),
    'ultralytics_like': Script('ultralytics', 120, 120, 'tqdm'),
    'timm_like': Script('timm', 115, 300, ahead=1),
    'sbert': Script('sentence-transformers', 150, 100, 'sentence_transformers', pass_length=100),
    'ddpm': Script('diffusers', 100, 100, 'diffusers', ahead=1),
    'ddp': Script('DDP, two ranks', 120, 100),
    'policy': Script('CleanRL ppo.py', length=19999, updates=16),
    'index_epochs': Script('tutorials: minibatches by index', 100, 400),
    'generator': Script('tutorials: a generator of batches, in a thread', 150, 299),
    'rollouts': Script('stable-baselines3 PPO', 200, 300),
    'cycled': Script("lucidrains' trainers", length=100000, pass_length=188, micro_batches=2),
    'boosting': Script('boosting by hand', length=5000, line=None),
    'plain': Script('no framework', length=1000000, line=None),
    'progress': Script('a progress bar around the steps', length=50000),
}
CELLS = ('steps', 'epoch', 'total', 'phases', 'loss')
WORST = ('–', 'none', 'right', 'unknown', 'wrong')
# Other names of pmtop's phases. Those that are not here belong to "other", as do those of a script.
PHASES = {'data': 'data', 'forward': 'forward', 'criterion': 'forward', 'loss': 'forward', 'backward': 'backward', 'optimizer': 'optimizer'}


def is_installed(package):
    return subprocess.run([PYTHON, '-c', f'import importlib.util, sys; sys.exit(not importlib.util.find_spec({package!r}))'], env=ENVIRONMENT).returncode == 0


def read_truth(log):
    with open(log) as file:
        return [json.loads(line) for line in file.read().splitlines() if line.endswith(']')]


class Watch:
    """pmtop's objects with the clock's time."""

    def __init__(self, *arguments):
        self.found, self.begin = [], time.monotonic()
        self.pmtop = subprocess.Popen([PMTOP, '-b', '--format=json', '-d', '0.5', *arguments], env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True, errors='replace')
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.pmtop.stdout:
            try:
                self.found.append((time.monotonic(), json.loads(line)))
            except ValueError:
                pass        # the script's own output

    def counted(self):
        return [(now, shown) for now, shown in list(self.found) if shown.get('batch', {}).get('count')]

    def is_done(self):
        counted = self.counted()
        return bool(counted) and time.monotonic() - counted[0][0] > WATCHED_S or time.monotonic() - self.begin > CHOICE_S

    def end(self):
        self.pmtop.terminate()
        self.thread.join()
        self.pmtop.wait()


def wait_for_steps(log, process):
    begin = time.monotonic()
    while not (os.path.exists(log) and os.path.getsize(log)):
        assert process.poll() is None, f'ended with {process.returncode}'
        assert time.monotonic() - begin < START_S, 'no step'
        time.sleep(0.05)
    with open(log + '.pid') as file:
        return int(file.read())


def rest(watches, pid):
    """Stops the script once all watches have their objects; its own count then is final. Returns the moment."""
    while not all(watch.is_done() for watch in watches):
        time.sleep(0.1)
    os.kill(pid, signal.SIGSTOP)
    stopped = time.monotonic()
    time.sleep(REST_S)
    return stopped


def attach(name, folder, line=None):
    log, moments = os.path.join(folder, 'attached'), MOMENTS_S[:1] if line else MOMENTS_S
    environment = dict(ENVIRONMENT, PMTOP_LOOPS_LINE=line) if line else ENVIRONMENT
    script = subprocess.Popen([PYTHON, os.path.join(SCRIPTS, name + '.py'), log], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True)
    watches = []
    try:
        pid, begin = wait_for_steps(log, script), time.monotonic()
        for moment in moments:
            time.sleep(max(0.0, begin + moment - time.monotonic()))
            watches.append(Watch('-p', str(pid)))
        stopped = rest(watches, pid)
        return [(watch.counted(), read_truth(log), stopped) for watch in watches]
    finally:
        os.killpg(script.pid, signal.SIGKILL)
        script.wait()
        for watch in watches:
            watch.end()


def launch(name, folder):
    log = os.path.join(folder, 'launched')
    watch, pid = Watch('--', PYTHON, os.path.join(SCRIPTS, name + '.py'), log), None
    try:
        pid = wait_for_steps(log, watch.pmtop)
        watch.begin = time.monotonic()
        stopped = rest([watch], pid)
        return [(watch.counted(), read_truth(log), stopped)]
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
        watch.end()


def row_at(truth, moment):
    return ([row for row in truth if row[0] <= moment] or [[0, 0, 1]])[-1]


def as_shown(script, shown):
    """The script as what pmtop shows counts it, and how many of those make a step of the script."""
    if 'inferred' in shown or shown.get('epoch', {}).get('is_inferred'):
        return script._replace(updates=1, pass_length=None)
    if script.pass_length and not script.epochs:
        return script._replace(length=script.pass_length, epochs=sys.maxsize, updates=script.micro_batches)
    if script.pass_length:
        return script._replace(length=script.pass_length, epochs=script.length * script.epochs // script.pass_length)
    return script


def position(script, row):
    """Of a row of the script's log: the epoch and the step in it."""
    if script.pass_length:
        batch = row[1] * script.micro_batches
        return (batch - 1) // script.length + 1, (batch - 1) % script.length + 1
    return (row[2], row[1] - (row[2] - 1) * script.length) if script.epochs else (1, row[1] * script.updates)


def shown_position(script, shown):
    epochs = shown.get('epochs') or [{}]
    has_epochs = script.epochs and (shown.get('epochs') or 'inferred' in shown)
    count = epochs[-1].get('batches', 0) if has_epochs else shown['batch']['count']
    ordinal = shown.get('epoch', {}).get('ordinal')
    return ordinal - script.before if ordinal and counts_earlier(shown) else ordinal, count


def counts_earlier(shown):
    """Whether the epochs of an earlier run count: those of a loop that is read from outside do."""
    return 'inferred' in shown or 'total' in shown.get('epoch', {})


def is_between(script, low, at, high):
    """Whether a step lies between two; the last step of an epoch is also the beginning of the next."""
    def flat(epoch, index):
        return (epoch - 1) * script.length + index if script.epochs else index
    return flat(*low) - 1 <= flat(*at) <= flat(*high) + script.updates + script.ahead


def judge_steps(script, shown, low, high):
    """Without a known epoch: whether the step in the epoch fits."""
    ordinal, count = shown_position(script, shown)
    if not script.epochs or not (shown.get('epochs') or 'inferred' in shown):
        return 'right' if is_between(script, low, (1, count), high) else 'wrong'
    return 'right' if any(is_between(script, low, (epoch, count), high) for epoch in range(low[0], high[0] + 2)) else 'wrong'


def judge_epoch(script, shown, low, high):
    ordinal, count = shown_position(script, shown)
    if not script.epochs:
        return 'none' if ordinal in (None, 1) else 'wrong'
    if ordinal is None:
        return 'unknown'
    last = high[0] + (high[1] + 1 + script.ahead >= script.length)
    return 'right' if low[0] <= ordinal <= last else 'wrong'


def judge_total(script, shown):
    epoch, count = shown.get('epoch', {}), shown_position(script, shown)[1]
    length = count / epoch['done_ratio'] if epoch.get('done_ratio') and count >= 5 else shown['batch'].get('total')
    # The ratio is that of the position, which can be ahead of the count: by what was fetched, and by what was polled since a batch was emitted.
    late = POSITION_S / shown['batch']['mean_s'] if shown['batch'].get('mean_s') else 0
    error = 0.02 + (script.ahead + 1 + late) / count if length else 0
    epochs = script.epochs + script.before if script.epochs and counts_earlier(shown) else script.epochs
    known = [(length, script.length, error), (epoch.get('total'), epochs, 0)]
    if script.length is None:
        return 'wrong' if length or epoch.get('total') else 'none'
    if any(is_shown and (there is None or abs(is_shown - there) > there * error) for is_shown, there, error in known):
        return 'wrong'
    return 'right' if epoch.get('total') or length and not script.epochs else 'unknown'


def of_each_phase(rows):
    """The shares of (phase, seconds) by the script's names."""
    sums = collections.Counter()
    for name, seconds in rows:
        if name != 'outside':
            sums[PHASES.get(name, 'other')] += seconds
    return {name: seconds / sum(sums.values()) for name, seconds in sums.items()}


def shown_phases(shown):
    """The shares of pmtop's phases, their standard errors, and how many of the last steps they are of; None: all."""
    if shown.get('phases'):
        errors = collections.Counter()
        for row in shown['phases']:
            errors[PHASES.get(row['name'], 'other')] += row['error_ratio']
        return of_each_phase((row['name'], row['mean_s']) for row in shown['phases']), errors, shown.get('phases_steps')
    rows = [(row['name'], row.get('self_s', 0)) for row in shown.get('operations', []) if row['name'] != 'gc' and row['count']]
    return (of_each_phase(rows) if sum(seconds for _, seconds in rows) else {}), {}, None


def judge_phases(shown, truth):
    """The verdict, and both shares. The first step, in which libraries are imported, is not compared: pmtop attaches after it, or has no span around it."""
    if not truth or not truth[-1][3]:
        return '–', ''
    shares, errors, steps = shown_phases(shown)
    if not shares:
        return 'unknown', ''
    before = dict(truth[-steps - 1][3]) if steps and len(truth) > steps else {} if steps else dict(truth[0][3])
    own = of_each_phase((name, seconds - before.get(name, 0)) for name, seconds in truth[-1][3])
    compared = [(name, shares.get(name, 0), own.get(name, 0)) for name in ('data', 'forward', 'backward', 'optimizer')]
    is_right = all(abs(share - mine) <= max(PHASE_POINTS, PHASE_ERRORS * errors.get(name, 0)) for name, share, mine in compared)
    return 'right' if is_right else 'wrong', ', '.join(f'{name} {share:.1%} (own {mine:.1%})' for name, share, mine in compared)


def judge_loss(script, shown, rows):
    own = [loss for row in rows if row[4] is not None for loss in (row[4] if isinstance(row[4], list) else [row[4]])]
    if not own:
        return '–'
    loss = shown['batch'].get('loss')
    if loss is None:
        return 'unknown'
    return 'right' if any(abs(loss - mine) <= LOSS_ERROR * max(1, abs(mine)) for mine in own) else 'wrong'


def rows_around(script, truth, first_s, last_s):
    """The rows between two moments, and those next to them that pmtop may show."""
    near = 2 + script.ahead
    first = sum(row[0] <= first_s for row in truth)
    last = sum(row[0] <= last_s for row in truth)
    return truth[max(0, first - near):last + near]


def judge(whole, counted, truth, stopped):
    """The worst of each cell, and what was shown where it was wrong."""
    cells, why = dict.fromkeys(CELLS, 'unknown'), ''
    for number, (now, shown) in enumerate(counted):
        script = as_shown(whole, shown)
        is_last = number == len(counted) - 1
        low = row_at(truth, min(now - LAG_S, stopped - BUFFERED_S))
        low, high = (position(script, row) for row in (low, truth[-1] if is_last else row_at(truth, now + 0.5)))
        found = {'steps': judge_steps(script, shown, low, high), 'epoch': judge_epoch(script, shown, low, high), 'total': judge_total(script, shown),
                 'loss': judge_loss(script, shown, rows_around(script, truth, min(now - LAG_S, stopped - BUFFERED_S), now + 0.5))}
        shares = ''
        if is_last:
            found['phases'], shares = judge_phases(shown, truth)
        if 'wrong' in found.values() and not why:
            what = [f'{key} {shown_position(script, shown)}' for key, cell in found.items() if cell == 'wrong' and key in CELLS[:3]]
            what += [f'phases {shares}'] * (found.get('phases') == 'wrong') + [f'loss {shown["batch"].get("loss")}'] * (found['loss'] == 'wrong')
            why = f'{", ".join(what)}, epoch {shown.get("epoch")}, script at {low} to {high}; {shown.get("inferred", {}).get("what", "published")}'
        is_later = number > 0 and 'total' in found and found['total'] == 'unknown' and cells['total'] == 'right'
        for key, cell in found.items():
            is_worse = number == 0 or key == 'phases' or WORST.index(cell) > WORST.index(cells[key])
            if is_worse and not (key == 'total' and is_later) or (cells[key] == 'unknown' and cell == 'right'):
                cells[key] = cell
    return cells, why


def worst(results):
    return {key: max((cells[key] for cells, _ in results), key=WORST.index) for key in CELLS}


def runs_of(script):
    runs = {'inferred': attach, 'launched': launch}
    if script.line:
        runs['one line'] = functools.partial(attach, line=script.line)
    return runs


def try_script(name):
    """Returns the cells of each run, and its notes; a string: why it did not run."""
    script, found = BENCH[name], {}
    for run, how in runs_of(script).items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                watched = how(name, folder)
            except AssertionError as error:
                found[run] = f'did not run: {error}', []
                continue
        results = [judge(script, *each) for each in watched]
        notes = [f'{run}{f" at {moment} s" if run == "inferred" else ""}: {why}' for moment, (_, why) in zip(MOMENTS_S, results) if why]
        notes += [f'{run} at {moment} s: no steps' for moment, (counted, _, _) in zip(MOMENTS_S, watched) if not counted]
        found[run] = worst(results), notes
    return found


def show(name, found):
    for run, (cells, notes) in found.items():
        columns = cells if isinstance(cells, str) else ' '.join(f'{cells[key]:8}' for key in CELLS)
        print(f'{name:18} {BENCH[name].form:38} {run:9} {columns}', *(f'    {note}' for note in notes), sep='\n', flush=True)


def main():
    names = sys.argv[1:] or list(BENCH)
    packages = {package: is_installed(package) for package in {BENCH[name].package for name in names}}
    there = [name for name in names if packages[BENCH[name].package]]
    tally, exact = collections.Counter(), 0
    print(f'{"script":18} {"after":38} {"run":9} ' + ' '.join(f'{key:8}' for key in CELLS))
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for name, found in zip(there, pool.map(try_script, there)):
            show(name, found)
            verdicts = [verdict for cells, _ in found.values() for verdict in (['wrong'] if isinstance(cells, str) else cells.values())]
            tally.update(verdicts)
            exact += isinstance(found['inferred'][0], dict) and found['inferred'][0]['steps'] == 'right'
    for name in names:
        if name not in there:
            show(name, {'–': (f'not installed: {BENCH[name].package}', [])})
    print(f'cells: {tally["right"]} right, {tally["none"]} none, {tally["unknown"]} unknown, {tally["wrong"]} wrong; not installed: {len(names) - len(there)}')
    print(f'inferred steps: exact in {exact} of {len(there)}')
    return tally['wrong'] > 0 or (len(names) == len(BENCH) and exact < EXACT_MIN)


if __name__ == '__main__':
    sys.exit(main())
