#!/usr/bin/env python3
"""A real training loop with torch in which something goes wrong: the loop of any script, with pmtop.torch.instrument() as its only line for pmtop.

    faults.py --fault NAME,every=40[,ms=60][,mb=64][,from=0] | odds=0.05   which batches, and how much; --help lists the names
    faults.py --truth FILE                                                 writes what really happened, as the C trainer does

Exit: 0 ended, 2 usage, 77 the fault cannot be planted here.
"""
import argparse
import gc
import json
import mmap
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

import pmtop.torch
from unplanned import UNPLANNED, NotHere, Unplanned

FEATURES, CLASSES, NOT_HERE = 128, 10, 77
FAULTS = {
    "slow-item": (60, 0, "one item of the batch waits for ms"),
    "busy-item": (60, 0, "one item of the batch works for ms"),
    "slow-worker": (60, 0, "each batch of the second worker waits for ms"),
    "cold-read": (60, 96, "reads of a file of mb that is not in the page cache, for ms"),
    "gc": (60, 0, "garbage of many small things, collected in forward"),
    "sleep": (60, 0, "forward waits for ms"),
    "busy": (60, 0, "forward works for ms longer"),
    "allocate": (0, 256, "forward takes and touches a tensor of mb"),
    "compile": (0, 0, "starts a C compiler and waits for it"),
    "checkpoint": (0, 16, "torch.save of mb, and fsync"),
    "bigger": (0, 0, "the batch has eight times the samples"),
    "leak": (0, 0.4, "the loop keeps a tensor of mb"),
    "worker-leak": (0, 0.4, "the dataset keeps a tensor of mb, in whichever process loads"),
    "shm-leak": (0, 0.4, "the loop keeps a tensor of mb in shared memory"),
    "bigger-later": (0, 0, "from then on each batch has three times the samples"),
    **{name: (ms, mb, what) for name, (ms, mb, _, what) in UNPLANNED.items()},
}
TIMES_SAMPLES = {"bigger": 8, "bigger-later": 3}
# Of a change for good, the batches before the baseline is half of new ones.
NEW_MAX = 60
# In these the item that waits is in the step before: see write_truth().
OF_ITEMS = ("slow-item", "busy-item", "slow-worker", "cold-read", "tokenizer-threads", "fuse-read")


def work_for(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        pass


KEPT_MAX = 4 << 30


class Fault:
    """One of FAULTS, and in which batches it happens."""

    def __init__(self, text, seed):
        self.name, *options = text.split(",")
        if self.name not in FAULTS:
            sys.exit(f"faults.py: no fault is named {self.name}: one of {', '.join(FAULTS)}")
        self.ms, self.mb, _ = FAULTS[self.name]
        self.every, self.odds, self.start, self.seed = 40, 0.0, 0, seed
        for word in options:
            key, _, value = word.partition("=")
            if key not in ("every", "odds", "from", "ms", "mb"):
                sys.exit(f"faults.py: {word}: not understood (--help)")
            setattr(self, {"from": "start"}.get(key, key), float(value))
        self.kept = []
        self.room = None
        self.unplanned = UNPLANNED[self.name][2](self) if self.name in UNPLANNED else Unplanned(self)

    def keep(self):
        """More and more of one large tensor that is there from the start: what grows is what is kept. Of many small ones a third more grew, for what the
        heap had between them was not used again."""
        if self.room is None:
            self.room = torch.empty(KEPT_MAX, dtype=torch.uint8)
        begin = len(self.kept) * int(self.mb * 1e6)
        self.kept.append(self.room[begin:begin + int(self.mb * 1e6)].fill_(1))

    def is_due(self, batch):
        if batch < self.start:
            return False
        if self.odds:
            return random.Random(self.seed * 1000003 + batch).random() < self.odds
        return (batch + 1) % int(self.every) == 0


class ColdFile:
    """A file on a disk of which nothing is in memory when it is read."""

    def __init__(self, mb):
        self.file = tempfile.TemporaryFile(dir=os.environ.get("TMPDIR") or "/var/tmp")
        self.size = int(mb) << 20
        for _ in range(int(mb)):
            self.file.write(os.urandom(1 << 20))
        self.file.flush()
        os.fsync(self.file.fileno())
        os.posix_fadvise(self.file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        before = self.blocks()
        self.read(5)
        if self.blocks() == before:
            sys.stderr.write("faults.py: cold-read: not here: no disk is behind TMPDIR\n")
            sys.exit(NOT_HERE)

    @staticmethod
    def blocks():
        with open("/proc/self/io") as file:
            return next(line for line in file if line.startswith("read_bytes"))

    def read(self, ms):
        number = self.file.fileno()
        os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
        end = time.monotonic() + ms / 1000
        while time.monotonic() < end:
            os.pread(number, 16384, random.randrange(self.size // 16384) * 16384)


class Points(Dataset):
    """Noisy points about one centre for each class; an item is (features, label)."""

    def __init__(self, sizes, fault, cold):
        self.first_of = {}
        self.count = 0
        for batch, size in enumerate(sizes):
            self.first_of[self.count] = batch
            self.count += size
        self.fault, self.cold = fault, cold
        self.centres = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.fault and index in self.first_of:
            self.go_wrong(self.first_of[index])
        label = index % CLASSES
        dice = torch.Generator().manual_seed(index)
        return self.centres[label] + torch.randn(FEATURES, generator=dice), label

    def go_wrong(self, batch):
        fault, worker = self.fault, get_worker_info()
        if fault.name == "slow-worker":
            if worker and worker.id == 1:
                time.sleep(fault.ms / 1000)
        elif fault.is_due(batch):
            if fault.name == "slow-item":
                time.sleep(fault.ms / 1000)
            elif fault.name == "busy-item":
                work_for(fault.ms)
            elif fault.name == "cold-read":
                self.cold.read(fault.ms)
            elif fault.name == "worker-leak":
                fault.keep()
            else:
                fault.unplanned.item()


class Model(nn.Module):
    def __init__(self, step_ms):
        super().__init__()
        self.work_s = step_ms * 0.4 / 1000
        self.layers = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, CLASSES))
        self.go_wrong = None

    def forward(self, x):
        if self.go_wrong:
            self.go_wrong()
        y, end = self.layers(x), time.thread_time() + self.work_s * len(x) / 32
        while time.thread_time() < end:
            y = self.layers(x)
        return y


def compiler():
    return shutil.which("cc") or shutil.which("gcc")


def run_compiler():
    source = "".join(f"double f{i}(double *a, int n) {{ double s = {i}; for (int i = 0; i < n; i++) {{ s += a[i] * {i}; a[i] = s; }} return s; }}\n" for i in range(60))
    subprocess.run([compiler(), "-O2", "-c", "-x", "c", "-o", "/dev/null", "-"], input=source.encode(), check=False)


def collect_garbage(ms):
    # Cycles, so that only the collector frees them; about so many a millisecond.
    for _ in range(int(ms * 1000)):
        ring = []
        ring.append(ring)
    gc.collect()


def keep_in_shm(fault):
    file = tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="pmtop-faults.")
    os.ftruncate(file.fileno(), int(fault.mb * 1e6))
    with mmap.mmap(file.fileno(), 0) as memory:
        memory.write(b"\1" * len(memory))
    fault.kept.append(file)


def go_wrong_in_forward(fault):
    if fault.name == "gc":
        collect_garbage(fault.ms)
    elif fault.name == "sleep":
        time.sleep(fault.ms / 1000)
    elif fault.name == "busy":
        work_for(fault.ms)
    elif fault.name == "allocate":
        torch.ones(int(fault.mb * 1e6 / 4))
    elif fault.name == "compile":
        run_compiler()
    else:
        fault.unplanned.forward()


def go_wrong_after(fault, model, folder):
    if fault.name == "checkpoint":
        path = os.path.join(folder, "last.pt")
        with open(path, "wb") as file:
            torch.save({"model": model.state_dict(), "optimizer": torch.zeros(int(fault.mb * 1e6 / 4))}, file)
            file.flush()
            os.fsync(file.fileno())
    elif fault.name == "leak":
        fault.keep()
    elif fault.name == "shm-leak":
        keep_in_shm(fault)
    else:
        fault.unplanned.after(model)


def options():
    listed = "\n".join(f"  {name:14} {what} (ms={ms:g}, mb={mb:g})" for name, (ms, mb, what) in FAULTS.items())
    parser = argparse.ArgumentParser(description=__doc__ + "\n" + listed, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fault", metavar="NAME[,KEY=VALUE]")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batches", type=int, default=400, help="of an epoch")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--step-ms", type=float, default=5, help="a batch's work is repeated until it took about so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--truth", metavar="FILE")
    parser.add_argument("--wait-for-enter", action="store_true", help='say "ready", then wait for a line')
    return parser.parse_args()


def queued_s():
    """How long this thread has waited for a CPU; 0 if the kernel does not report it."""
    try:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def write_truth(path, chosen, fault, seconds, queued, planted):
    truth = {"pid": os.getpid(), "ended": "finished", "batches": len(seconds), "batches_per_epoch": chosen.batches, "total_s": sum(seconds),
             "median_s": statistics.median(seconds), "seconds": [round(value, 6) for value in seconds], "leaked_bytes": 0, "faults": []}
    if fault:
        kept = len(planted) * fault.mb * 1e6 if fault.name in ("leak", "worker-leak", "shm-leak") else fault.unplanned.kept_bytes
        # A step goes from a batch's begin to the next one's, and a loader's batch begins when its data is there: the wait for it is in the step before.
        before = 1 if fault.name in OF_ITEMS else 0
        planted = [batch for batch in planted if batch >= before][:NEW_MAX if fault.name == "bigger-later" else None]
        truth["faults"] = [{"name": fault.name, "every": fault.every, "odds": fault.odds, "from": fault.start, "kept_bytes": kept, "batches": [batch - before for batch in planted],
                            "took_s": [0.0] * len(planted), "batch_s": [seconds[batch] for batch in planted], "queue_s": [queued[batch] for batch in planted]}]
    with open(path, "w") as file:
        json.dump(truth, file)


def main():
    chosen = options()
    torch.set_num_threads(1)
    try:
        fault = Fault(chosen.fault, chosen.seed) if chosen.fault else None
    except NotHere as why:
        sys.stderr.write(f"faults.py: {chosen.fault}: not here: {why}\n")
        sys.exit(NOT_HERE)
    if fault and fault.name == "compile" and not compiler():
        sys.stderr.write("faults.py: compile: not here: no C compiler\n")
        sys.exit(NOT_HERE)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    torch.manual_seed(chosen.seed)
    total = chosen.epochs * chosen.batches
    sizes = [chosen.batch_size * (TIMES_SAMPLES.get(fault.name, 1) if fault and fault.is_due(batch) else 1) for batch in range(chosen.batches)]
    cold = ColdFile(fault.mb) if fault and fault.name == "cold-read" else None
    dataset = Points(sizes, fault, cold)
    indices = iter(range(dataset.count))
    batches = [[next(indices) for _ in range(size)] for size in sizes]
    pmtop.torch.instrument(epochs=chosen.epochs)
    loader = DataLoader(dataset, batch_sampler=batches, num_workers=chosen.workers)
    model = Model(chosen.step_ms)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    if chosen.wait_for_enter:
        print("ready", flush=True)
        sys.stdin.readline()
    seconds, queued, planted = [], [], []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR") or "/var/tmp") as folder:
        for _ in range(chosen.epochs):
            iterator = iter(loader)
            while len(seconds) < total:
                begin, begin_queued, number = time.monotonic(), queued_s(), len(seconds)
                try:
                    inputs, labels = next(iterator)
                except StopIteration:
                    break
                is_due = bool(fault) and fault.is_due(number % chosen.batches)
                model.go_wrong = (lambda: go_wrong_in_forward(fault)) if is_due else None
                loss = loss_of(model(inputs), labels)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                if fault:
                    fault.unplanned.always(model, number % chosen.batches)
                if is_due:
                    go_wrong_after(fault, model, folder)
                if is_due or (fault and fault.name == "slow-worker" and number % max(1, chosen.workers) == 1):
                    planted.append(number)
                seconds.append(time.monotonic() - begin)
                queued.append(queued_s() - begin_queued)
            del iterator
    if chosen.truth:
        write_truth(chosen.truth, chosen, fault, seconds, queued, planted)


if __name__ == "__main__":
    main()
