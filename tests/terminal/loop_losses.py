"""Losses of scripts without instrumentation, read of their variables, lists, sums and tensors, beside the scripts' own."""
import os
import sys

from loop_steps import TORCH, between, watch
from pythons import newest_python, try_all

AT_A_TIME = 3                  # they mostly sleep
MEANS_MAX = 100                # steps between two readings of a sum, on the busiest machine


def a_loss_is_read_where_it_is_a_float(python):
    """losses.py sets it in each tenth step."""
    found, truth, _ = watch(python, 'losses', 0, 'assigned')
    known = 0
    for now, reported in found:
        low, high = between(truth, now)
        possible = [8.0 / (1 + number / 100) for number in range(max(0, low[1] // 10 * 10 - 30), high[1] + 10, 10)]
        loss = reported['batch'].get('loss')
        known += loss is not None
        assert loss is None or min(abs(loss - value) for value in possible) < 1e-6, (loss, possible)
    assert known >= len(found) - 3, (known, len(found))


def losses_are_those_of_the_program(python, way, newest, script='losses'):
    """That of a step, or the mean of the newest ones."""
    found, truth, _ = watch(python, script, 0, way, objects=40)
    known = set()
    for now, reported in found:
        value, last = reported['batch'].get('loss'), between(truth, now)[1][1]
        if value is None:
            continue
        losses = [row[4] for row in truth if last - 200 <= row[1] <= last + 1]
        means = [sum(losses[i:i + n]) / n for n in range(1, newest + 1) for i in range(len(losses) - n + 1)]
        assert min(abs(value - mean) for mean in means) < 1e-9, (value, losses)
        known.add(value)
    assert len(known) >= 8, (known, len(found))


def a_tensor_that_may_be_no_loss_of_a_step_is_not_read(python, way):
    found, _, _ = watch(python, 'tensors', 0, way, objects=16)
    assert found, 'no steps were inferred'
    assert not [reported['batch'] for _, reported in found if 'loss' in reported['batch']], found[-1][1]['batch']


def loaders_of_one_epoch_have_its_number_and_losses(python):
    """No sample need find training or a batch being fetched: the loop's function calls backward, and its loop holds the loader's iterator."""
    found, truth, _ = watch(python, 'loaders_anew', 0, objects=40)
    numbered = 0
    for now, reported in found:
        low, high = between(truth, now)
        epoch, loss = reported['epoch'], reported['batch'].get('loss')
        numbered += 'ordinal' in epoch
        assert low[2] <= epoch.get('ordinal', low[2]) <= high[2] and epoch.get('total', 400) == 400, (low, high, epoch)
        assert loss is None or min(abs(loss - row[4]) for row in truth if row[1] <= high[1] + 1) < 1e-6, (loss, high)
    assert numbered >= len(found) - 8, (numbered, len(found))
    assert len({reported['batch'].get('loss') for _, reported in found}) >= 10, [reported['batch'].get('loss') for _, reported in found]


def checks():
    """{name: test}"""
    found = {'loss': lambda: a_loss_is_read_where_it_is_a_float(sys.executable)}

    def add(name, test, *arguments):
        found[name] = lambda: test(*arguments)
    for way, steps in (('listed', 1), ('summed', MEANS_MAX), ('reset', MEANS_MAX)):
        add(f'losses, {way}', losses_are_those_of_the_program, newest_python(), way, steps)
    if os.path.exists(TORCH) and 'NO_TORCH' not in os.environ:
        for way in ('plain', 'double', 'resized'):
            add(f'a tensor, {way}', losses_are_those_of_the_program, TORCH, way, 1, 'tensors')
        for way in ('divided', 'scaled', 'again', 'validated'):
            add(f'a tensor, {way}', a_tensor_that_may_be_no_loss_of_a_step_is_not_read, TORCH, way)
        found['loaders anew'] = lambda: loaders_of_one_epoch_have_its_number_and_losses(TORCH)
    return found


if __name__ == '__main__':
    sys.exit(try_all(checks(), AT_A_TIME))
