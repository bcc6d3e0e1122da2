"""DataLoader workers: each fetch is reported, exactly, as a worker's and never as the trainer's; and nothing of it stays in the user's objects."""
import json
import os
import pathlib
import signal

import pytest
import watching

pytest.importorskip("torch")

LOADING = '''
import json, os, pickle, sys, time
import multiprocessing as mp
import torch, pmtop
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from pmtop import _workers

def work(seconds):
    """Keeps a core busy."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(50))

def worker_index():
    info = get_worker_info()
    return info.id + 1 if info else 0

class Account:
    """What was really done, by worker: items, their seconds, fetches, the seconds of collating."""
    def __init__(self):
        self.items, self.seconds, self.fetches, self.collating = (mp.Array("d", 16, lock=False) for _ in range(4))
    def item(self):
        at = worker_index()
        self.items[at] += 1
        begin = time.perf_counter()
        with pmtop.span("decode"):
            work(0.005)
            item = torch.zeros(2)
        self.seconds[at] += time.perf_counter() - begin
        return item
    def collate(self, items):
        begin = time.perf_counter()
        batch = torch.stack(items)
        self.fetches[worker_index()] += 1
        self.collating[worker_index()] += time.perf_counter() - begin
        return batch
    def truth(self, **more):
        return json.dumps({name: sum(value) for name, value in vars(self).items()} | more)

class Items(Dataset):
    def __init__(self, account, count):
        self.account, self.count = account, count
    def __len__(self):
        return self.count
    def __getitem__(self, i):
        return self.account.item()

class Stream(IterableDataset):
    def __init__(self, account, count):
        self.account, self.count = account, count
    def __iter__(self):
        for _ in range(self.count):
            yield self.account.item()

def train(loader, epochs):
    """Batches that the trainer saw."""
    count = 0
    for epoch in range(epochs):
        for index, batch in enumerate(loader):
            pmtop.batch_begin(index)
            count += 1
            pmtop.batch_end()
    return count
'''

PLAIN = LOADING + '''
if __name__ == "__main__":
    kind, workers, method, persistent, epochs, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4] == "persistent", *map(int, sys.argv[5:7])
    account = Account()
    pmtop.init("loading")
    _workers.install()
    loader = DataLoader((Items if kind == "map" else Stream)(account, count), batch_size=4, num_workers=workers, collate_fn=account.collate,
                        persistent_workers=persistent, multiprocessing_context=method if workers else None)
    batches = train(loader, epochs)
    print(account.truth(batches=batches))
'''


def watch_loading(*arguments):
    seen = watching.watch(PLAIN, *arguments, seconds=120)
    assert seen.last["batch"]["count"] == seen.truth["batches"]
    return seen


def ck_work(work, truth):
    assert (work["items"], work["fetches"], work["failed"]) == (truth["items"], truth["fetches"], 0)
    mean_s = (truth["seconds"] + truth["collating"]) / truth["items"]
    assert watching.close_to(work["item_s"]["mean"], mean_s), (work["item_s"], mean_s)
    assert work["item_s"]["min"] <= work["item_s"]["p50"] <= work["item_s"]["p95"] <= work["item_s"]["max"]
    [span] = work["spans"]
    assert (span["name"], span["count"]) == ("decode", truth["items"])
    assert watching.close_to(span["mean_s"], truth["seconds"] / truth["items"])


@pytest.mark.parametrize("method, persistent, workers", [
    ("fork", "persistent", 4), ("fork", "anew", 4), ("spawn", "persistent", 4), ("spawn", "anew", 2), ("forkserver", "persistent", 2)])
def test_what_workers_fetch_is_reported_exactly(method, persistent, workers):
    seen = watch_loading("map", workers, method, persistent, 2, 300)
    total = seen.last["workers_total"]
    ck_work(total, seen.truth)
    assert total["seen"] == workers * (1 if persistent == "persistent" else 2)
    assert total["died"] == 0
    most = max(([worker["id"] for worker in reported.get("workers", []) if "id" in worker] for reported in seen.objects), key=len)
    assert most == list(range(workers))
    assert {worker["state"] for reported in seen.objects for worker in reported.get("workers", [])} <= {"busy", "idle", "sleeping", "disk"}
    busy = [worker["busy_ratio"] for reported in seen.objects for worker in reported.get("workers", []) if worker.get("items", 0) > 50]
    assert busy and max(busy) > 0.5


def test_workers_of_an_iterable_count_what_was_collated():
    seen = watch_loading("iterable", 2, "fork", "anew", 1, 150)
    assert seen.truth["items"] == 300 and seen.truth["fetches"] == 76
    ck_work(seen.last["workers_total"], seen.truth)


def test_without_workers_there_are_none():
    seen = watch_loading("map", 0, "-", "anew", 2, 100)
    assert seen.last["workers"] == [] and "workers_total" not in seen.last
    assert watching.operation(seen.last, "decode")["count"] == 200


def test_a_worker_is_in_no_list_of_runs():
    script = LOADING + '''
if __name__ == "__main__":
    account = Account()
    pmtop.init("loading")
    _workers.install()
    it = iter(DataLoader(Items(account, 10000), batch_size=4, num_workers=2))
    next(it)
    print("READY", *[worker.pid for worker in it._workers], flush=True)
    for batch in it:
        pmtop.batch_begin(0)
        pmtop.batch_end()
'''
    with watching.start(script) as running:
        workers = [int(pid) for pid in running.wait_for_line("READY").split()[1:]]
        listed = watching.pmtop("list").splitlines()
        assert [line.split()[1] for line in listed if line.startswith(f"{running.pid} ")] == ["loading"]
        assert not [line for line in listed if line.split()[0] in map(str, workers)]
        assert not [path for pid in workers for path in watching.region_files(pid)]
        reported = watching.object_of(running.pid)
        assert sorted(worker["pid"] for worker in reported["workers"]) == sorted(workers)
        assert "run 1 of" not in watching.once(running.pid)


def test_a_killed_worker_is_reported_as_gone():
    script = LOADING + '''
if __name__ == "__main__":
    account = Account()
    pmtop.init("loading")
    _workers.install()
    loader = DataLoader(Items(account, 100000), batch_size=4, num_workers=2)
    try:
        for index, batch in enumerate(loader):
            pmtop.batch_begin(index)
            pmtop.batch_end()
            if index == 20:
                print("READY", *[child.pid for child in mp.active_children()], flush=True)
    except (RuntimeError, OSError) as error:  # OSError: killed while it handed over a batch
        print("RAISED", error, flush=True)
    time.sleep(60)
'''
    with watching.start(script) as running, watching.Monitor("-p", running.pid) as monitor:
        workers = sorted(int(pid) for pid in running.wait_for_line("READY").split()[1:])
        watching.wait_for(lambda: [reported for reported in monitor.objects() if len(reported.get("workers", [])) == 2], what="both workers are seen")
        os.kill(workers[0], signal.SIGKILL)
        running.wait_for_line("RAISED")

        # The other worker may be gone, too: PyTorch terminates one that does not end within its time.
        def gone():
            reported = monitor.objects()[-1]
            return [(worker, reported) for worker in reported["workers"] if worker["pid"] == workers[0] and worker["state"] == "gone"]
        [(worker, reported)] = watching.wait_for(gone, what="the worker is gone")
        assert worker["ended"] == "killed or crashed" and worker["items"] > 0
        assert reported["workers_total"]["died"] >= 1


BESIDE = LOADING + '''
class Broken(Items):
    def __getitem__(self, i):
        raise KeyError("item %d is broken" % i)

def bad_init(worker_id):
    raise ValueError("worker %d does not like it" % worker_id)

class Init:
    def __init__(self):
        self.seen = mp.Array("i", 8, lock=False)
    def __call__(self, worker_id):
        self.seen[worker_id] += worker_id + 1

def error_of(loader):
    try:
        for batch in loader:
            pass
    except Exception as error:
        return type(error).__name__, [line for line in str(error).splitlines() if line][-1]

if __name__ == "__main__":
    account = Account()
    if sys.argv[1] == "with":
        pmtop.init("loading")
        _workers.install()
    method = sys.argv[2]
    init = Init()
    options = {"num_workers": 2, "multiprocessing_context": method}
    loader = DataLoader(range(8), shuffle=True, generator=torch.Generator().manual_seed(3), worker_init_fn=init, **options)
    said = [[batch.tolist() for batch in loader], list(init.seen), loader.worker_init_fn is init]
    options["num_workers"] = 1
    said.append(error_of(DataLoader(Broken(account, 8), **options)))
    said.append(error_of(DataLoader(Items(account, 8), worker_init_fn=bad_init, **options)))
    said.append(b"pmtop" in pickle.dumps(DataLoader([1, 2], num_workers=2)))
    print(json.dumps(said))
'''


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_loading_is_what_it_is_without(method):
    """The user's worker_init_fn and its exceptions, the dataset's exceptions, the order of items."""
    def said(how):
        return json.loads(watching.run(BESIDE, how, method, seconds=150).out().splitlines()[-1])
    reported = said("with")
    assert reported == said("without")
    assert len(reported[0]) == 8 and reported[1:3] == [[1, 2, 0, 0, 0, 0, 0, 0], True] and reported[3][0] == "KeyError" and reported[4][0] == "ValueError"
    assert reported[5] is False


def test_fifty_epochs_of_new_workers_leave_nothing_behind():
    script = LOADING + '''
def held():
    """Once the threads that feed the queues have ended, which takes them a little."""
    end = time.monotonic() + 20
    while len(os.listdir("/proc/self/task")) > 1 and time.monotonic() < end:
        time.sleep(0.02)
    regions = [name for name in os.listdir("/dev/shm") if ".%d." % os.getpid() in name]
    return {"fds": len(os.listdir("/proc/self/fd")), "regions": len(regions), "threads": len(os.listdir("/proc/self/task"))}
if __name__ == "__main__":
    torch.set_num_threads(1)
    pmtop.init("loading")
    _workers.install()
    loader = DataLoader(list(range(8)), batch_size=4, num_workers=1)
    train(loader, 2)
    before = held()
    train(loader, 48)
    print(json.dumps({"before": before, "after": held()}))
'''
    truth = watching.run(script, seconds=150).truth()
    assert truth["before"] == truth["after"] == {**truth["after"], "threads": 1}


def test_the_module_imports_no_torch():
    source = pathlib.Path(watching.ROOT, "src/python/pmtop/_workers.py").read_text(encoding="utf-8")
    assert not [line for line in source.splitlines() if line.startswith(("import torch", "from torch"))]


ATTACHED = """
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Items(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, i):
        time.sleep(0.005)
        return torch.zeros(2)

if __name__ == "__main__":
    loader = DataLoader(Items(), batch_size=4, num_workers=2, persistent_workers=True)
    for _ in range(1000):
        for batch in loader:
            pass
"""


def test_pmtop_beside_a_worker_names_the_process_that_trains():
    """In a list of processes a worker has its parent's command line."""
    with watching.Script(ATTACHED) as script:
        worker = watching.wait_for(lambda: [pid for pid in watching.processes_of(script.pid) if pid != script.pid][1:2], what="a worker")[0]
        with watching.Monitor("-p", worker) as monitor:
            def reasons():
                return [row["reason"] for reported in monitor.objects()[-1:] for row in reported["self"]["missing"] if row["figure"] == "steps"]
            assert watching.wait_for(reasons, 60) == [f"this is a DataLoader worker of process {script.pid}: pmtop -p {script.pid}"]
