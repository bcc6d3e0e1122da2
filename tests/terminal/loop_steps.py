"""Steps of scripts without a DataLoader and without instrumentation, inferred from their loops, beside what the scripts themselves count.

    loop_steps.py            the scripts of CI
    loop_steps.py --bench    all scripts, and a table"""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

from pythons import BUILD, ENVIRONMENT, PMTOP, newest_python, pythons, try_all

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, '../workloads/loops')
TORCH = os.path.join(BUILD, 'python-venv/bin/python')
CHOICE_S, WATCHED = 90, 8      # at most so long until the loop is known; objects after that
LAG_S = 2.5                    # of what pmtop prints, on a busy machine

# Script: the text that counts its steps, whether it is certain, epochs, steps of an epoch.
EXPECTED = {
    'while_own_batches': ('iter_num += 1', False, None, None),
    'index_epochs': ('for i in range(0, len(X), 64)', True, 400, 100),
    'recurrent': ('for batch, i in enumerate(range(0, train_data.size(0) - 1, bptt))', True, 400, 100),
    'generator': ('for x in batches(150)', True, 299, 150),
    'batch_sampler': ('for chosen in BatchSampler(RandomSampler(range(len(data))), 128, drop_last=False)', True, 400, 100),
    'gathers': ('for x in batches(64)', True, 400, 100),
    'own_iterator': ('for x in batches', True, 400, 100),
    'policy': ('for iteration in range(1, 20000)', True, None, None),
    'plain': ('for it in range(start, 1000000)', False, None, None),
    'gathered': ('for number, batches in enumerate(gathered(endless(), 2))', True, None, None),
    'full_batch': ('for epoch in range(1, 100001)', True, None, None),
    'cell': ('for i in range(1, 20001)', False, None, None),
    'cell_epochs': ('for i in range(150)', False, 400, 150),
    'episodes': ('for i_episode in count(1)', True, None, None),
    'one_function': ('for x, y in batches', True, 400, 100),
    'log_every': ('torch DataLoader', True, 200, 130),
    'prefetched': ('torch DataLoader', True, 400, 100),
    'site-packages/library_iterator': ('while self.iteration < self.iterations and not self.is_stopped', False, None, None),
    'site-packages/library_cycle': ('self.step += 1', False, None, None),
    'minibatches': ('for batch in minibatch(examples, size=compounding(4., 32., 1.001))', True, 400, 38),
    'progress': ('for number in tqdm(range(50000), mininterval=5)', True, None, None),
}
# Of loops that no other is around; of a while loop from the comparison that ends it.
TOTALS = {'while_own_batches': 100001, 'policy': 19999, 'plain': 1000000, 'cell': 20000, 'full_batch': 100000, 'progress': 50000, 'site-packages/library_iterator': 60000, 'site-packages/library_cycle': 60000}
# Epochs of passes.py: whether their number is known at once, from the next pass on, or never.
PASSES = {'unnamed': 'at once', 'called': 'at once', 'ranged': 'at once', 'ranged_elsewhere': 'never', 'endless': 'never', 'textless': 'at once', 'cut': 'at once', 'counter': 'at once', 'resumed': 'at once', 'resumed_at_none': 'at once',
          'counted': 'later', 'counted_after': 'later', 'uncounted': 'never', 'carried_on': 'never', 'carried_named': 'at once', 'carried_counted': 'later', 'carried_local': 'at once',
          'compared_before': 'later', 'compared_after': 'later', 'compared_elsewhere': 'never', 'compared_few': 'later', 'compared_property': 'later', 'carried_compared': 'later'}
PASS_STEPS, APART = 80, 8      # of passes.py; its steps between two polls, of which the busiest machine so far had one 120 ms late
SEPARATE = {'ranged_elsewhere', 'endless', 'textless'}   # passes that are apart, whether or not their number is known
TOTAL_KNOWN = {'carried_counted', 'carried_named', 'compared_before', 'compared_after'}
HANDED_ON = 60                 # objects at most, until there are three epochs
VALIDATED = 120                # objects at most, until some of several validation passes were sampled
JOINED_S = 5                   # attached so late: in the third pass or later
FROM_START = {'carried_on'}    # attached at once
CHOSEN_STEPS = 8
EPOCH_STEPS = 100              # of an epoch of held.py, handed_on.py, tf_calls.py, train_accuracy.py, ignite_accuracy.py and lightning_iterable.py
WHOLE_STEPS = 400               # of whole.py
LOADERS_STEPS = 60             # of an epoch of two_loaders.py
OPAQUE_STEPS = 50              # of an epoch of opaque.py
EPOCHS_TO_KNOW = {'around': 9, 'within': 9, 'accumulated': 9, 'epochs': 3}   # before, more epochs are planned than the run has, or more batches of one
WORKFLOW_STEPS = 100000        # planned in workflow.py
NEXT_S = 2                     # after which the loop that follows another one is counted
# What unseen.py does, and why it has no steps.
UNSEEN = {
    'recursion': r'recursion\(\) calls itself: recursion has no loop to count',
    'native': r'unseen.py:\d+ runs native code: no Python loop to count',
    'unreadable': r'the loop at unseen.py:\d+ counts in an object that pmtop cannot read',
    'layers': r'the loop at unseen.py:\d+ counts in an object that pmtop cannot read',
    'brief': r'nothing counts the steps at unseen.py:\d+, which are too short to watch',
    'library': r'the loop at unseen.py:\d+ counts in an object that pmtop cannot read',
    'launcher': r'the loop at library_agent.py:\d+ counts in an object that pmtop cannot read',
    'untrained': r'no backward pass was seen: key s or --loop chooses a loop',
    'waiting': r'unseen.py:\d+ waits: other threads or processes do the work',
}
WHY_S = 30
# So many at a time: scripts that take a whole CPU, with less right to it than pmtop and other tests have; and those that mostly sleep.
BUSY, SLEEPING = threading.Semaphore(2), threading.Semaphore(3)
NICE = ['nice', '-n', '5']
IN_CI = ['while_own_batches', 'index_epochs', 'recurrent', 'generator', 'policy', 'plain', 'one_function', 'log_every', 'prefetched', 'full_batch', 'gathered', 'site-packages/library_iterator', 'site-packages/library_cycle', 'own_iterator']
VALIDATES = {'one_function'}   # with the same line


def read_truth(path):
    with open(path) as file:
        return [json.loads(line) for line in file.read().splitlines() if line.endswith(']')]


def watch(python, script, wait_s, *arguments, objects=WATCHED, until=None):
    """What pmtop prints from when it knows the loop: pairs of the clock's time and the object; and the script's own log. So many objects, or fewer if
    the last one is as wanted."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, 'truth')
        program = subprocess.Popen([*NICE, python, os.path.join(SCRIPTS, script + '.py'), log, *arguments], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not (os.path.exists(log) and os.path.getsize(log)):
                assert program.poll() is None, program.returncode
                time.sleep(0.1)
            time.sleep(wait_s)
            begin, found = time.monotonic(), []
            with subprocess.Popen([PMTOP, '-p', str(program.pid), '-b', '--format=json', '-d', '0.5'], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True) as pmtop:
                for line in pmtop.stdout:
                    now, reported = time.monotonic(), json.loads(line)
                    if reported.get('batch', {}).get('count'):
                        found.append((now, reported))
                    is_wanted = until and len(found) >= WATCHED and until(found[-1][1])
                    if len(found) == objects or is_wanted or (not found and now - begin > CHOICE_S):
                        break
                pmtop.terminate()
            return found, read_truth(log), (found[0][0] - begin if found else None)
        finally:
            program.kill()
            program.wait()


def between(truth, now):
    """The script's step and epoch at least, and at most, at the moment that pmtop shows."""
    before = [row for row in truth if row[0] <= now - LAG_S] or [[0, 0, 0]]
    until = [row for row in truth if row[0] <= now + 0.5] or [[0, 0, 0]]
    return before[-1], until[-1]


def agrees(python, script, wait_s=0):
    what, is_certain, epochs, length = EXPECTED[script]
    found, truth, after_s = watch(python, script, wait_s)
    assert found, 'no steps were inferred'
    for now, reported in found[1:]:
        low, high = between(truth, now)
        inferred = reported['inferred']
        assert (inferred['what'], inferred['is_certain']) == (what, is_certain), inferred
        # A DataLoader's line is known once a sample has shown it.
        assert inferred['file'].endswith(script + '.py') and (inferred.get('line', 0) > 0 or what == 'torch DataLoader'), inferred
        if epochs is None:
            assert low[1] - 1 <= reported['batch']['count'] <= high[1] + 1, (low, high, reported['batch'])
            total = TOTALS.get(script)
            assert 'epoch' not in reported and reported['batch'].get('total') == total, reported
            assert not total or abs(reported['run_done_ratio'] * total - reported['batch']['count']) <= 1, reported
            continue
        assert low[2] <= reported['epoch']['ordinal'] <= high[2], (low, high, reported['epoch'])
        assert reported['epoch']['total'] == epochs, reported['epoch']
        whole = [epoch['batches'] for epoch in reported['epochs'][:-1]]
        assert set(whole) <= {length}, reported['epochs']
        index = reported['epochs'][-1]['index'] * length + reported['epochs'][-1]['batches']
        assert low[1] - 1 <= index <= high[1] + 1, (low, high, reported['epochs'][-1])
    if script in VALIDATES:
        passed = between(truth, found[-1][0])[0][2] - between(truth, found[0][0])[1][2]
        assert passed < 3 or found[-1][1]['modes'].get('validation', {}).get('count'), (passed, found[-1][1]['modes'])
    return after_s


def an_epoch_is_right_or_unknown(python, kind):
    """Mostly attached in a later epoch: never its number since then, but the program's, or none."""
    found, truth, _ = watch(python, 'passes', 0 if kind in FROM_START else JOINED_S, kind, objects=14)
    assert found, 'no steps were inferred'
    known = 0
    for now, reported in found:
        epoch = reported['epoch']
        low, high = between(truth, now)
        known += 'ordinal' in epoch
        assert ('index' in epoch) == ('ordinal' in epoch) and ('passes_seen' in epoch) != ('index' in epoch), epoch
        assert 'ordinal' not in epoch or low[2] <= epoch['ordinal'] <= high[2], (low, high, epoch)
        assert 'ordinal' not in epoch or epoch['index'] == epoch['ordinal'] - 1, epoch
        assert epoch.get('total', None if 'ordinal' in epoch and kind in TOTAL_KNOWN else 500) == 500, epoch
        if kind.startswith('carried_'):
            assert low[1] - 1 <= reported['batch']['count'] <= high[1] + 1, (low, high, reported['batch'])
    if kind.startswith('carried_') or kind in SEPARATE:
        whole = [row['batches'] for row in found[-1][1]['epochs'][1:-1]]
        assert all(abs(batches - PASS_STEPS) <= APART for batches in whole) and (whole or kind == 'carried_on'), whole
    expected = PASSES[kind]
    assert known == (len(found) if expected == 'at once' else 0) or (expected == 'later' and known), (expected, known, found[-1][1]['epoch'])


def short_epochs_are_right_or_unknown(python):
    """Some are over before pmtop has read their number, and then the loop is in the next one: none has the number of another."""
    found, _, _ = watch(python, 'short_epochs', 0, objects=24)
    assert found, 'no steps were inferred'
    epochs = found[-1][1]['epochs']
    known = [epoch['index'] for epoch in epochs if epoch.get('index') is not None]
    assert known == sorted(set(known)), known
    assert len(known) >= 3, epochs


def check_epochs(found, truth, is_from_start):
    """Each has its number, and the last one its batches. Of the first ones pmtop may have seen a part."""
    for now, reported in found:
        low, high = between(truth, now)
        numbers = [epoch.get('index') for epoch in reported['epochs']]
        ahead = {number - at for at, number in enumerate(numbers) if number is not None}
        assert len(ahead) == 1 if ahead else len(numbers) < 4, numbers
        last = reported['epochs'][-1]
        is_whole = is_from_start or len(numbers) > 2
        assert 'index' not in last or not is_whole or low[1] - 1 <= last['index'] * EPOCH_STEPS + last['batches'] <= high[1] + 1, (low, high, last)


def each_pass_of_a_held_iterator_is_an_epoch(python):
    """Where its batches are fetched is known from the pass before, so none is missed until a sample shows that."""
    found, truth, _ = watch(python, 'held', 0, objects=24)
    assert found, 'no steps were inferred'
    check_epochs(found, truth, True)


def a_pass_over_the_training_loader_may_validate(python, script):
    """It is in no epoch's batches, nor is any of its batches counted until that is known."""
    found, truth, _ = watch(python, script, 0, objects=VALIDATED, until=lambda reported: reported['modes'].get('validation', {}).get('count'))
    assert found, 'no steps were inferred'
    check_epochs(found, truth, True)
    trained = [reported['modes']['train']['count'] for _, reported in found]
    rows = [sum(epoch['batches'] for epoch in reported['epochs']) for _, reported in found]
    assert trained == rows, (trained, rows)
    assert found[-1][1]['modes'].get('validation', {}).get('count'), found[-1][1]['modes']


def a_kept_iterator_validates(python, order):
    """It is read once in four steps: its batches are in no epoch's, whether or not they are known to validate."""
    found, truth, _ = watch(python, 'kept_validation', 0, order, objects=44)
    assert found, 'no steps were inferred'
    check_epochs(found, truth, True)
    for now, reported in found:
        low, high = between(truth, now)
        assert low[1] - 1 <= reported['modes']['train']['count'] <= high[1] + 1, (low, high, reported['modes'])
        assert len(reported['epochs']) == 1, reported['epochs']


def batches_that_no_sample_finds_being_fetched_count_once(python, way):
    """That each batch is a step is known at once, but where two generators hand them on: the loop over these counts until a sample shows it."""
    found, truth, _ = watch(python, 'handed_on', 3, way, objects=HANDED_ON, until=lambda last: last['inferred']['what'] == 'torch DataLoader' and len(last['epochs']) > 2)
    by_loader = [(now, reported) for now, reported in found if reported['inferred']['what'] == 'torch DataLoader']
    assert way == 'twice' or (by_loader and len(by_loader) == len(found)), [reported['inferred'] for _, reported in found]
    check_epochs(by_loader, truth, True)
    for _, reported in by_loader:
        rows = [row['batches'] for row in reported['epochs']]
        assert set(rows[:-1]) <= {EPOCH_STEPS} and sum(rows) == reported['batch']['count'], (rows, reported['batch'])


def check_counts_of_all_epochs(found, truth):
    """Exact from the first object on."""
    assert found, 'no steps were inferred'
    for now, reported in found:
        low, high = between(truth, now)
        assert low[1] - 1 <= reported['batch']['count'] <= high[1] + 1, (low, high, reported['batch'])
        assert reported['epoch']['total'] == 400, reported['epoch']
    check_epochs(found, truth, False)


def a_loop_that_fetches_by_next_keeps_its_steps(python):
    """The iterator of the validation before may have had the address of one that next() asks."""
    found, truth, _ = watch(python, 'two_loaders', JOINED_S, objects=60)
    by_loop = [reported for _, reported in found if reported['inferred']['what'] == 'for number in range(STEPS)']
    # Before the loop is found, and while the validation runs, some objects may name that one's loader.
    assert len(by_loop) >= len(found) - 12, [reported['inferred'] for _, reported in found]
    for now, reported in found:
        low, high = between(truth, now)
        ordinal = reported.get('epoch', {}).get('ordinal', low[2])
        assert low[2] <= ordinal <= high[2] + (high[1] % LOADERS_STEPS == 0), (low, high, reported['epoch'])
        assert {row['batches'] for row in reported['epochs'][1:-1] if not row.get('is_at_least')} <= {LOADERS_STEPS}, reported['epochs']


def steps_of_lightning_without_a_dataloader(python):
    """The trainer's own count."""
    found, truth, _ = watch(python, 'lightning_iterable', 0, objects=24)
    check_counts_of_all_epochs(found, truth)


def calls_of_a_tf_function_are_steps(python):
    """Where the loop's iterator has no position. They count on through all epochs."""
    found, truth, _ = watch(python, 'tf_calls', 0, objects=24)
    check_counts_of_all_epochs(found, truth)
    for _, reported in found:
        assert reported['inferred']['what'] == 'for images in iter(take, 0)' and not reported['inferred']['is_certain'], reported['inferred']


def what_a_loop_assigns_counts_it(python, way):
    """Where nothing else does, and the steps last some polls. A lower bound, since pmtop's first sight of the loop. The iterator of the next epoch may have the
    address of this one, and takes its time to deliver the first item."""
    found, truth, _ = watch(python, 'opaque', 0, way, objects=120, until=lambda reported: len(reported['epochs']) > 2)
    assert found, 'no steps were inferred'
    first = found[0][1]['batch']['count']
    low_first, high_first = between(truth, found[0][0])
    for now, reported in found:
        low, high = between(truth, now)
        inferred, count = reported['inferred'], reported['batch']['count'] - first
        assert inferred['is_at_least'] and not inferred['is_certain'] and inferred['what'] == 'for x, y in Transformed(batches(50))', inferred
        assert low[1] - high_first[1] - 2 <= count <= high[1] - low_first[1] + 2, (low, high, low_first, high_first, count)
        # The script writes a line when a step has ended: the epoch after the last one may have begun.
        newest = high[2] + (high[1] % OPAQUE_STEPS == 0)
        assert low[2] <= reported['epoch']['ordinal'] <= newest and reported['epoch']['total'] == 400, (low, high, reported['epoch'])
        assert {(row['batches'], row['is_at_least']) for row in reported['epochs'][1:-1]} <= {(49, True), (50, True)}, reported['epochs']
    assert len(found[-1][1]['epochs']) > 2, found[-1][1]['epochs']


def kinds_of_work_are_no_epochs(python, *iterations):
    """A loop over one or two kinds of work has neither the steps nor the epochs."""
    found, truth, _ = watch(python, 'workflow', JOINED_S, *iterations, objects=40)
    assert found, 'no steps were inferred'
    first, begin = found[0][1]['batch']['count'], between(truth, found[0][0])
    for now, reported in found:
        low, high = between(truth, now)
        assert low[1] - begin[1][1] - 2 <= reported['batch']['count'] - first <= high[1] - begin[0][1] + 2, (low, high, begin, first, reported['batch'])
        assert not {'ordinal', 'total'} & set(reported.get('epoch', {})), reported['epoch']
        assert low[1] - 10 <= reported.get('run_done_ratio', high[1] / WORKFLOW_STEPS) * WORKFLOW_STEPS <= high[1] + 2, (low, high, reported['run_done_ratio'])


def the_end_of_the_run_is_known(python, way):
    """By the int that counts its steps, also where pmtop counts other ones; or, where that begins anew with each epoch, by the epochs, which end early."""
    found, truth, _ = watch(python, 'whole', JOINED_S, way, objects=60, until=lambda last: len(last['epochs']) > EPOCHS_TO_KNOW.get(way, 0) and 'run_done_ratio' in last)
    assert found and 'run_done_ratio' in found[-1][1], found and found[-1][1]
    for now, reported in found:
        low, high = between(truth, now)
        done = reported.get('run_done_ratio', high[1] / WHOLE_STEPS) * WHOLE_STEPS
        assert done <= high[1] + 3, (low, high, reported['run_done_ratio'])
        assert reported['batch'].get('total', WHOLE_STEPS) == WHOLE_STEPS, reported['batch']
    assert done >= low[1] - 3, (low, done)
    known = ['run_done_ratio' in reported for _, reported in found]
    assert all(known[known.index(True):]), known


def mini_epochs_are_not_the_epochs_of_the_run(python):
    found, _, _ = watch(python, 'mini_epochs', JOINED_S, objects=24)
    assert found, 'no steps were inferred'
    for _, reported in found:
        assert not {'ordinal', 'total'} & set(reported.get('epoch', {})) and 'run_done_ratio' not in reported, reported


def keras_without_a_line_of_code():
    """fit() on jax: epoch, step and their totals, from the generator in Keras' own iterator."""
    found, truth, _ = watch(TORCH, 'keras_jax', 0)
    assert len(found) > 2, 'no steps were inferred'
    for now, reported in found[1:]:
        low, high = between(truth, now)
        epoch, last = reported['epoch'], reported['epochs'][-1]
        assert low[2] <= epoch['ordinal'] <= high[2] and epoch['total'] == 40, (low, high, epoch)
        assert {row['batches'] for row in reported['epochs'][:-1]} <= {113}, reported['epochs']
        assert low[1] - 1 <= last['index'] * 113 + last['batches'] <= high[1] + 1, (low, high, last)
        assert abs(epoch['done_ratio'] - last['batches'] / 113) < 0.001, (epoch, last)


def a_chosen_loop_counts():
    """--loop: a person counts the epochs of index_epochs as steps."""
    path = os.path.join(SCRIPTS, 'index_epochs.py')
    with open(path) as file:
        line = 1 + next(number for number, text in enumerate(file) if 'for epoch' in text)
    with tempfile.TemporaryDirectory() as folder:
        program = subprocess.Popen([*NICE, TORCH, path, os.path.join(folder, 'truth')], env=ENVIRONMENT)
        try:
            with subprocess.Popen([PMTOP, '-p', str(program.pid), '-b', '--format=json', '-d', '0.5', '-n', '480', f'--loop=index_epochs.py:{line}'],
                                  env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as pmtop:
                last = next((reported for reported in map(json.loads, pmtop.stdout) if reported.get('batch', {}).get('count', 0) >= CHOSEN_STEPS), None)
                truth = read_truth(os.path.join(folder, 'truth'))
                pmtop.terminate()
        finally:
            program.kill()
            program.wait()
    assert last, f'{CHOSEN_STEPS} epochs were not counted'
    assert last['inferred']['line'] == line and last['inferred']['what'] == 'for epoch in range(400)', last['inferred']
    assert abs(last['batch']['count'] - (truth[-1][2] - 1)) <= 3, (last['batch'], truth[-1])


def the_loop_after_another_counts_soon(python):
    found, truth, _ = watch(python, 'two_loops', 0, objects=36)
    second = [(now, reported) for now, reported in found if reported['inferred']['what'] == 'for number in range(2000)']
    assert second and len(second) < len(found), [reported['inferred'] for _, reported in found]
    begin = next(now for now, _, pass_number, *_ in truth if pass_number == 2)
    assert second[0][0] - begin < NEXT_S + LAG_S, second[0][0] - begin
    for now, reported in second:
        low, high = between([row for row in truth if row[2] == 2], now)
        assert low[1] - 1 <= reported['batch']['count'] <= high[1] + 1, (low, high, reported['batch'])
        assert reported['batch']['total'] == 2000 and 'epoch' not in reported, reported
    first = [reported['batch'] for _, reported in found if reported['inferred']['what'] == 'for i in range(count)']
    assert {batch['total'] for batch in first} == {450} and max(batch['count'] for batch in first) == 450, first[-1]


def watch_from_start(python, script, *arguments):
    """Yields what pmtop prints in the first WHY_S, and the reasons why it has no steps."""
    program = subprocess.Popen([python, os.path.join(SCRIPTS, script + '.py'), *arguments], env=ENVIRONMENT)
    try:
        with subprocess.Popen([PMTOP, '-p', str(program.pid), '-b', '--format=json', '-d', '0.5', '-n', str(2 * WHY_S)], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True) as pmtop:
            try:
                for reported in map(json.loads, pmtop.stdout):
                    yield reported, [row['reason'] for row in reported['self']['missing'] if row['figure'] == 'steps']
            finally:
                pmtop.terminate()
    finally:
        program.kill()
        program.wait()


def says_why(python, kind):
    for reported, reasons in watch_from_start(python, 'unseen', kind):
        assert not reported.get('batch', {}).get('count'), reported
        if reasons:
            break
    assert len(reasons) == 1 and re.fullmatch(UNSEEN[kind], reasons[0]), reasons


def steps_that_become_too_short_are_unknown(python):
    """They were counted by what their loop assigns. That they cannot be counted any more is no stall."""
    are_known = False
    with tempfile.TemporaryDirectory() as folder:
        for reported, reasons in watch_from_start(python, 'opaque', os.path.join(folder, 'truth'), 'faster'):
            before, are_known = are_known, bool(reported.get('batch', {}).get('count'))
            if before and not are_known:
                break
    assert before and not are_known and not reported.get('batch'), reported.get('batch')
    assert len(reasons) == 1 and re.fullmatch(UNSEEN['brief'].replace('unseen', 'opaque'), reasons[0]), reasons


def bench():
    print(f'{"script":20} {"python":8} {"counted by":68} {"known after":>11}')
    wrong = 0
    for script in EXPECTED:
        for wait_s in (0, 3, 8):
            try:
                print(f'{script:20} {"torch":8} {EXPECTED[script][0]:68} {agrees(TORCH, script, wait_s):9.1f} s', flush=True)
            except AssertionError as error:
                wrong += 1
                print(f'{script:20} {"torch":8} {str(error)[:90]}', flush=True)
    return wrong


def checks():
    """{name: test}, those that mostly sleep among them."""
    found = {}

    def add(turn, name, test, *arguments):
        def take_turn():
            with turn:
                test(*arguments)
        found[name] = take_turn
    if os.path.exists(TORCH) and 'NO_TORCH' not in os.environ:
        for script in IN_CI:
            add(BUSY, script, agrees, TORCH, script)
        add(SLEEPING, 'short epochs', short_epochs_are_right_or_unknown, TORCH)
        add(BUSY, 'a held iterator', each_pass_of_a_held_iterator_is_an_epoch, TORCH)
        for script in ('train_accuracy', 'ignite_accuracy'):
            add(BUSY, script, a_pass_over_the_training_loader_may_validate, TORCH, script)
        for order in ('before', 'after'):
            add(SLEEPING, f'a kept validation iterator, {order}', a_kept_iterator_validates, TORCH, order)
        for way in ('once', 'twice', 'variable'):
            add(BUSY, f'batches handed on, {way}', batches_that_no_sample_finds_being_fetched_count_once, TORCH, way)
        add(BUSY, 'two loaders', a_loop_that_fetches_by_next_keeps_its_steps, TORCH)
        add(BUSY, 'what a loop assigns, torch', what_a_loop_assigns_counts_it, TORCH, 'torch')
        add(BUSY, 'one kind of work', kinds_of_work_are_no_epochs, TORCH, '1')
        add(BUSY, 'two kinds of work', kinds_of_work_are_no_epochs, TORCH, '50', '10')
        for way in ('around', 'within', 'accumulated', 'attribute', 'epochs'):
            add(BUSY, f'the whole run, {way}', the_end_of_the_run_is_known, TORCH, way)
        add(BUSY, 'mini-epochs', mini_epochs_are_not_the_epochs_of_the_run, TORCH)
        add(BUSY, 'Lightning without a DataLoader', steps_of_lightning_without_a_dataloader, TORCH)
        add(BUSY, '--loop', a_chosen_loop_counts)
        add(BUSY, 'keras', keras_without_a_line_of_code)
    for version, path in pythons().items():
        add(BUSY, f'plain, CPython {version}', agrees, path, 'plain')
        add(SLEEPING, f'a cell, CPython {version}', agrees, path, 'cell')
        add(SLEEPING, f'epochs of a cell, CPython {version}', agrees, path, 'cell_epochs')
    newest = newest_python()
    add(SLEEPING, 'minibatches', agrees, newest, 'minibatches')
    add(SLEEPING, 'what a loop assigns', what_a_loop_assigns_counts_it, newest, 'plain')
    add(SLEEPING, 'calls of a tf.function', calls_of_a_tf_function_are_steps, newest)
    add(SLEEPING, 'two loops', the_loop_after_another_counts_soon, newest)
    add(SLEEPING, 'steps that become too short', steps_that_become_too_short_are_unknown, newest)
    for kind in UNSEEN:
        add(SLEEPING, f'why, {kind}', says_why, newest, kind)
    for kind in PASSES:
        add(SLEEPING, f'passes, {kind}', an_epoch_is_right_or_unknown, newest, kind)
    return found


if __name__ == '__main__':
    if '--bench' in sys.argv:
        sys.exit(bool(bench()))
    found = checks()
    sys.exit(try_all(found, len(found)))
