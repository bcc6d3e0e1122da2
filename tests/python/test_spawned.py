"""Spawned children read the script's module again, the line that instruments included; workers of a plain loop publish as workers too."""
import pytest
import watching

pytest.importorskip("torch")

SPAWNED = '''
import glob, json, os
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset, TensorDataset
import pmtop, pmtop.torch

pmtop.torch.instrument()

def regions(pid):
    return len(glob.glob(f"/dev/shm/pmtop.{os.getuid()}.{pid}.*"))

class Regions(Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, i):
        return torch.tensor(float(regions(os.getpid())))

def train(reported):
    before = regions(os.getpid())
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x,) in DataLoader(TensorDataset(torch.randn(20, 4)), batch_size=4):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    reported.put((before, regions(os.getpid()), pmtop.statistics()["num_batches"], pmtop.operation_time("forward") is not None))

if __name__ == "__main__":
    context = mp.get_context("spawn")
    reported = context.Queue()
    child = context.Process(target=train, args=(reported,))
    child.start()
    trained = reported.get(timeout=60)
    child.join()
    loader = DataLoader(Regions(), batch_size=4, num_workers=2, multiprocessing_context="spawn")
    workers = [float(value) for batch in loader for value in batch]
    print(json.dumps({"trained": trained, "workers": workers, "left": regions(child.pid), "batches": pmtop.statistics()["num_batches"]}))
'''

PLAIN = '''
import json, os, time
import torch
from torch.utils.data import DataLoader, Dataset
import pmtop

class Decoded(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        with pmtop.span("decode"):
            time.sleep(0.02)     # an epoch, and so its workers, lasts 0.6 s: new processes are looked for every 0.26 s
        return torch.zeros(2)

for epoch in pmtop.epochs(2):
    for batch in pmtop.batches(DataLoader(Decoded(), batch_size=4, num_workers=2)):
        time.sleep(0.005)
print(json.dumps(pmtop.statistics()))
'''


def test_a_spawned_child_publishes_when_it_trains_and_a_spawned_worker_never_does():
    with watching.Script(SPAWNED) as script:
        script.finish()
        truth = script.truth()
    assert truth["trained"] == [0, 1, 5, True]
    assert truth["workers"] == [0.0] * 12
    assert truth["left"] == 0
    assert truth["batches"] == 3


def test_workers_of_a_plain_loop_are_no_runs():
    seen = watching.watch(PLAIN)
    assert seen.last["batch"]["count"] == seen.truth["num_batches"] == 32
    assert seen.last["workers_total"]["items"] == 128
    assert "ranks" not in seen.last
    assert [row["name"] for row in seen.last["operations"] if row["name"] == "decode"] == []
