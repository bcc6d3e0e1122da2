"""Real ranks: torchrun, gloo and DistributedDataParallel, instrumented by pmtop.torch, rank 1 with a slow data set."""
import json
import os
import pathlib
import signal

import pytest

import watching

pytest.importorskip("torch")

# Rank 0 says whether there is another epoch; at the end each rank says what it did, and stays until it may go.
SCRIPT = """
import json, os, sys, time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

import pmtop.torch

pmtop.torch.instrument()
torch.set_num_threads(1)
dist.init_process_group("gloo")
folder, rank = sys.argv[1], dist.get_rank()


class Digits(Dataset):
    def __len__(self):
        return 160

    def __getitem__(self, i):
        time.sleep(0.002 if rank == 1 else 0.0001)
        return torch.full((32,), i / 160), i % 4


def goes_on():
    flag = torch.tensor([0 if os.path.exists(folder + "/stop") else 1])
    dist.broadcast(flag, 0)
    return bool(flag)


torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader, batches, epochs = DataLoader(Digits(), batch_size=8), 0, 0
while goes_on():
    epochs += 1
    for inputs, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        batches += 1
with open("%s/truth.%d" % (folder, rank), "w") as file:
    json.dump({"rank": rank, "pid": os.getpid(), "batches": batches, "epochs": epochs}, file)
os.rename("%s/truth.%d" % (folder, rank), "%s/did.%d" % (folder, rank))
while not os.path.exists(folder + "/go"):
    time.sleep(0.02)
dist.destroy_process_group()
"""


class Launched:
    """Two ranks under one launcher, watched by a pmtop on the launcher."""

    def __init__(self, folder):
        self.folder = folder
        script = folder / "train.py"
        script.write_text(SCRIPT)
        self.script = watching.start(["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(script), str(folder)],
                                     env={"OMP_NUM_THREADS": 1})
        self.monitor = watching.Monitor("-p", self.script.pid)

    def reported(self, condition, what, seconds=90):
        """The first object since now of which `condition` is true."""
        seen = len(self.monitor.objects())

        def found():
            assert not self.script.has_ended(), self.script.err()[-2000:]
            return next((reported for reported in self.monitor.objects()[max(seen - 1, 0):] if condition(reported)), None)
        return watching.wait_for(found, seconds, what)

    def truth(self):
        watching.wait_for(lambda: all((self.folder / f"did.{rank}").exists() for rank in (0, 1)), 60, "that both ranks end")
        return [json.loads((self.folder / f"did.{rank}").read_text()) for rank in (0, 1)]

    def say(self, what):
        (self.folder / what).touch()

    def close(self):
        pids = {rank["pid"] for reported in self.monitor.objects() for rank in reported.get("ranks", [])}
        self.monitor.close()
        self.script.close()
        for path in (path for pid in pids for path in watching.region_files(pid)):
            os.unlink(path)


@pytest.fixture
def launched(tmp_path):
    launched = Launched(pathlib.Path(tmp_path))
    yield launched
    launched.close()


def test_both_ranks_are_one_run_and_the_slow_one_is_named_with_its_phase(launched):
    def has_slowest(reported):
        return "slowest" in reported and reported["slowest"].get("others_wait_in")
    reported = launched.reported(has_slowest, "that a slowest is named")
    assert reported["pid"] == launched.script.pid
    assert (reported["rank"], reported["world_size"]) == (0, 2)
    assert [rank["rank"] for rank in reported["ranks"]] == [0, 1]
    assert (reported["slowest"]["rank"], reported["slowest"]["phase"], reported["slowest"]["others_wait_in"]) == (1, "data", "backward")
    assert reported["slowest"]["phase_s"] > 0.016 > reported["slowest"]["phase_others_s"]
    # They keep one pace, so the step does not distinguish them.
    steps = [rank["step_s"] for rank in reported["ranks"]]
    assert max(steps) < 1.1 * min(steps)
    assert reported["ranks"][1]["own_s"] > 1.5 * reported["ranks"][0]["own_s"]

    # Asked for by itself, a rank knows the other too; whose memory is not in its tree.
    pids = [rank["pid"] for rank in reported["ranks"]]
    with watching.Monitor("-p", pids[1]) as beside:
        alone = watching.wait_for(lambda: next((o for o in beside.objects() if "slowest" in o), None), 60, "that the other rank is compared")
        assert (alone["rank"], alone["pid"]) == (1, pids[1])
        assert [rank["pid"] for rank in alone["ranks"]] == pids
        assert (alone["slowest"]["rank"], alone["slowest"]["phase"]) == (1, "data")
        assert alone["memory"]["tree_rss_bytes"] < 1.5 * alone["ranks"][1]["rss_bytes"]
        assert alone["ranks"][0]["rss_bytes"] > 50e6
        assert any(warning["rule"] == "slowest_rank" for warning in launched.reported(
            lambda reported: any(warning["rule"] == "slowest_rank" for warning in reported["warnings"]), "the warning")["warnings"])
        assert "rank 1 is slowest: data" in watching.once(pids[0])

        rows = [row for row in json.loads(watching.pmtop("list", "--json")) if row["pid"] in pids]
        assert [row["rank"] for row in rows] == ["0/2", "1/2"]
        assert rows[0]["run_id"] == rows[1]["run_id"] and rows[1].get("is_slowest") and not rows[0].get("is_slowest")

        launched.say("stop")
        truth = launched.truth()
        assert [did["pid"] for did in truth] == pids
        counts = [did["batches"] for did in truth]
        for monitor in (launched.monitor, beside):
            watching.wait_for(lambda: [rank["batches"] for rank in monitor.objects()[-1]["ranks"]] == counts, 20, f"that {counts} batches are reported")
    launched.say("go")
    assert launched.script.finish() == 0
    last = launched.monitor.finish()[-1]
    assert [rank["state"] for rank in last["ranks"]] == ["ended", "ended"]
    assert [rank["batches"] for rank in last["ranks"]] == counts
    assert last["batch"]["count"] == counts[0]
    assert (last["slowest"]["rank"], last["slowest"]["phase"]) == (1, "data")


def test_the_rank_that_is_stopped_is_named_while_the_other_waits_in_backward(launched):
    reported = launched.reported(lambda reported: len(reported.get("ranks", [])) == 2 and reported["ranks"][1]["batches"] > 15, "that both train")
    stopped = reported["ranks"][1]["pid"]
    os.kill(stopped, signal.SIGSTOP)
    reported = launched.reported(lambda reported: "still" in reported and reported["ranks"][0]["state"] == "waiting", "that the stopped rank is named")
    assert (reported["still"]["rank"], reported["still"]["state"]) == (1, "stopped")
    assert reported["ranks"][0]["state"] == "waiting" and reported["still"]["others_wait_in"]
    assert reported["still"]["message"].startswith("rank 1 is stopped, for ")
    os.kill(stopped, signal.SIGCONT)
    launched.reported(lambda reported: "still" not in reported and reported["ranks"][1]["state"] == "running", "that it goes on")


def test_the_rank_that_is_killed_is_named(launched):
    reported = launched.reported(lambda reported: len(reported.get("ranks", [])) == 2 and reported["ranks"][1]["batches"] > 15, "that both train")
    os.kill(reported["ranks"][1]["pid"], signal.SIGKILL)
    assert launched.script.finish() != 0
    objects = launched.monitor.finish()
    assert objects[-1]["ranks"][1]["state"] == "killed"
    assert objects[-1]["ranks"][1]["batches"] >= reported["ranks"][1]["batches"]
