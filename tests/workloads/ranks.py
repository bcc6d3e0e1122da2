"""A rank of a distributed run (gloo) that trains, with a fault that is known beforehand: ranks.py SHAPE FAULT CULPRIT FOLDER SEED, started by torchrun or by
the environment. The fault begins with the culprit's first step after FOLDER/go exists; then FOLDER/began is written."""
import os
import pathlib
import random
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

SHAPE, FAULT, CULPRIT, FOLDER, SEED = sys.argv[1], sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4]), int(sys.argv[5])
DICE = random.Random(SEED)
COMPUTE_S, SLOW_S, FILE_BYTES = DICE.uniform(0.03, 0.06), DICE.uniform(0.03, 0.08), 48 << 20
CHECKPOINT_S, CHECKPOINT_EVERY, FIRST_S = 8, 150, 12
WIDTH = 256
lock = threading.Lock()


def has_begun():
    if RANK != CULPRIT or not (FOLDER / 'go').exists():
        return False
    if not (FOLDER / 'began').exists():
        (FOLDER / 'began').touch()
    return True


def read_file():
    """From the disk, not from the page cache."""
    with open(FOLDER / 'shard', 'rb') as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while file.read(1 << 20):
            pass


def hold(held):
    with lock:
        held.set()
        time.sleep(3600)


def take_lock():
    """Another thread holds it, for ever."""
    held = threading.Event()
    threading.Thread(target=hold, args=(held,), daemon=True).start()
    held.wait()
    with lock:
        pass


# What the culprit does before a step once its fault has begun; what happens in the loader, and what the bench does from outside, is not here.
BEFORE_STEP = {
    'sleeps': lambda: time.sleep(3600),
    'deadlock': take_lock,
    'stopped': lambda: os.kill(os.getpid(), signal.SIGSTOP),
    'killed': lambda: os.kill(os.getpid(), signal.SIGKILL),
    'slow': lambda: time.sleep(SLOW_S),
    'slow-disk': read_file,
}


class Samples(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        if FAULT == 'slow-loader' and has_begun():
            time.sleep(SLOW_S / 8)
        return torch.full((WIDTH,), index % 97 / 97.0)


def save_checkpoint(model):
    torch.save(model.state_dict(), FOLDER / f'checkpoint.{RANK}')
    time.sleep(CHECKPOINT_S)


def validate(model):
    until = time.monotonic() + CHECKPOINT_S / 2
    with torch.no_grad():
        while time.monotonic() < until:
            model(torch.ones(8, WIDTH))
            time.sleep(0.01)


def before_step(step, model):
    if FAULT == 'jitter':
        time.sleep(COMPUTE_S * random.random() * 0.3)
    if FAULT == 'first-batches' and RANK == CULPRIT and step < 2:
        time.sleep(FIRST_S / 2)
    if RANK == 0 and step % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1:
        if FAULT == 'checkpoints':
            save_checkpoint(model)
        if FAULT == 'validates':
            validate(model)
    if FAULT in BEFORE_STEP and has_begun():
        BEFORE_STEP[FAULT]()


def reduce_all(model, group):
    """The gradients' mean; the culprit of a mismatch calls another collective instead."""
    for parameter in model.parameters():
        flat = parameter.grad.view(-1)
        if FAULT == 'mismatch' and has_begun():
            dist.all_gather_into_tensor(torch.empty(flat.numel() * dist.get_world_size(group)), flat, group=group)
        dist.all_reduce(flat, group=group)
        flat /= dist.get_world_size(group)


def groups_of_stages():
    """Ranks 0 1 | 2 3 | … work on one stage, 0 2 4 … and 1 3 5 … on one replica. The groups of this rank."""
    world = dist.get_world_size()
    stages = [dist.new_group([first, first + 1], group_desc=f'stage {first // 2}') for first in range(0, world, 2)]
    replicas = [dist.new_group(list(range(first, world, 2)), group_desc=f'replica {first}') for first in (0, 1)]
    return stages[RANK // 2], replicas[RANK % 2]


def train_reduce(model, optimizer, loader):
    for step, x in enumerate(loader):
        before_step(step, model)
        optimizer.zero_grad()
        loss = model(x).square().mean()
        time.sleep(COMPUTE_S)
        loss.backward()
        reduce_all(model, None)
        optimizer.step()


def train_ddp(model, optimizer, loader):
    model = DistributedDataParallel(model)
    for step, x in enumerate(loader):
        before_step(step, model)
        if FAULT == 'mismatch' and has_begun():
            dist.all_gather_into_tensor(torch.empty(64 * dist.get_world_size()), torch.ones(64))
        optimizer.zero_grad()
        loss = model(x).square().mean()
        time.sleep(COMPUTE_S)
        loss.backward()
        optimizer.step()


def train_pipeline(model, optimizer, loader):
    stage, replica = groups_of_stages()
    for step, x in enumerate(loader):
        before_step(step, model)
        optimizer.zero_grad()
        hidden = model(x)
        dist.all_reduce(hidden.detach().sum(), group=stage)
        time.sleep(COMPUTE_S)
        hidden.square().mean().backward()
        reduce_all(model, replica)
        optimizer.step()


TRAIN = {'ddp': train_ddp, 'reduce': train_reduce, 'pipeline': train_pipeline}


def main():
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    dist.init_process_group('gloo')
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 8))
    try:
        TRAIN[SHAPE](model, torch.optim.SGD(model.parameters(), lr=0.01), DataLoader(Samples(), batch_size=8))
    except RuntimeError as error:
        # As the other ranks of a killed one do with NCCL: they wait.
        print(error, file=sys.stderr, flush=True)
        time.sleep(3600)


RANK = int(os.environ['RANK'])
main()
