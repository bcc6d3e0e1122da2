"""Ranks of torchrun (gloo, DistributedDataParallel) without instrumentation: pmtop infers their steps and shows them as one run with ranks."""
import json
import os
import pathlib
import signal

import pytest

import watching

pytest.importorskip("torch")

# At the end each rank says what it did, and stays until it may go.
SCRIPT = """
import json, os, sys, time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
dist.init_process_group("gloo")
folder, rank, is_synchronous = sys.argv[1], dist.get_rank(), sys.argv[2] == "ddp"


class Digits(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, i):
        time.sleep(0.006 if rank == 1 else 0.002)
        return torch.full((32,), i / 1600), i % 4


torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
model = DistributedDataParallel(model) if is_synchronous else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader, batches, epochs = DataLoader(Digits(), batch_size=8), 0, 0
while not os.path.exists(folder + "/start"):
    time.sleep(0.02)
while epochs < 3:
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

    def __init__(self, folder, kind):
        self.folder = folder
        script = folder / "train.py"
        script.write_text(SCRIPT)
        self.script = watching.start(["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(script), str(folder), kind],
                                     env={"OMP_NUM_THREADS": 1, "PRIVATE_TOKEN": "wordnobodyprints"})
        self.monitors = [watching.Monitor("-p", self.script.pid)]

    def say(self, what):
        (self.folder / what).touch()

    def rank_pids(self):
        """Of the two ranks, once they exist, in their order."""
        def found():
            pids = {}
            for pid in watching.processes_of(self.script.pid):
                try:
                    variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                pids.update({int(text[5:]): pid for text in variables if text.startswith(b"RANK=")})
            return len(pids) == 2 and [pids[0], pids[1]]
        return watching.wait_for(found, 60, "that both ranks exist")

    def reported(self, monitor, condition, what, seconds=120):
        """The first object since now of which `condition` is true."""
        seen = len(monitor.objects())

        def found():
            assert not self.script.has_ended(), self.script.err()[-2000:]
            return next((reported for reported in monitor.objects()[max(seen - 1, 0):] if condition(reported)), None)
        return watching.wait_for(found, seconds, what)

    def truth(self):
        watching.wait_for(lambda: all((self.folder / f"did.{rank}").exists() for rank in (0, 1)), 60, "that both ranks end")
        return [json.loads((self.folder / f"did.{rank}").read_text()) for rank in (0, 1)]

    def close(self):
        for monitor in self.monitors:
            monitor.close()
        self.script.close()


@pytest.fixture
def launch(tmp_path):
    started = []

    def start(kind):
        started.append(Launched(pathlib.Path(tmp_path), kind))
        return started[-1]
    yield start
    for launched in started:
        launched.close()


# Nothing in the environment of these ranks says which they are. The function's own name for its rank is "who": only torch numbers its children.
SPAWN = """
import os, sys, time

import torch
import torch.multiprocessing as mp
from tqdm import tqdm


def train(who, folder):
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + folder + "/store", rank=who, world_size=2)
    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(torch.rand(4096, 256), batch_size=8)
    with open(folder + "/pid.%d" % who, "w") as file:
        file.write(str(os.getpid()))
    while not os.path.exists(folder + "/go"):
        bar = tqdm(loader, file=open(os.devnull, "w"))
        for batch in bar:
            optimizer.zero_grad()
            model(batch).pow(2).mean().backward()
            optimizer.step()
            time.sleep(0.01)
            bar.set_postfix(rank=who, loss=1000.0 + bar.n)
            stop = torch.tensor(float(os.path.exists(folder + "/go")))
            dist.all_reduce(stop)
            if stop:
                os._exit(0)


if __name__ == "__main__":
    if sys.argv[2] == "spawn":
        mp.spawn(train, (sys.argv[1],), nprocs=2)
    else:
        processes = [mp.get_context(sys.argv[2][8:]).Process(target=train, args=(who, sys.argv[1])) for who in range(2)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
"""


@pytest.mark.parametrize("how, own", [("spawn", 0), ("Process fork", 1)])
def test_ranks_that_python_spawned_are_one_run(tmp_path, how, own):
    """By their parent's pid, or by that of a rank."""
    script = tmp_path / "train.py"
    script.write_text(SPAWN)
    with watching.start([str(script), str(tmp_path), how]) as started:
        def found():
            assert not started.has_ended(), started.err()[-2000:]
            texts = [tmp_path / f"pid.{rank}" for rank in (0, 1)]
            return all(path.exists() and path.read_text() for path in texts) and [int(path.read_text()) for path in texts]
        pids = watching.wait_for(found, 60, "that both ranks train")
        monitor = watching.Monitor("-p", started.pid if own == 0 else pids[own])
        try:
            def known():
                reported = monitor.objects()[-1] if monitor.objects() else {}
                has_collectives = len(reported.get("collectives", {}).get("ranks", [])) == 2
                is_certain = reported.get("meta", {}).get("rank.certain") == "yes"  # at first those of Process are ordered by their starts
                return have_steps(reported) and has_collectives and is_certain and reported["batch"].get("loss") and reported
            reported = watching.wait_for(known, 60, "that both ranks, their collectives and a loss are known")
        finally:
            monitor.close()
        assert [(rank["rank"], rank["pid"]) for rank in reported["ranks"]] == [(0, pids[0]), (1, pids[1])]
        meta = reported["meta"]
        assert 1000 <= reported["batch"]["loss"] <= 1512  # as the bar shows it
        assert (meta["RANK"], meta["WORLD_SIZE"], meta["run_id"]) == (str(own), "2", f"spawned by process {started.pid}")
        (tmp_path / "go").touch()
        started.finish(30)


# Nothing of these but their process group says which rank they are, except of "environment"; those have no common parent.
BARE = """
import os, subprocess, sys, time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

HOW, FOLDER = sys.argv[1:3]


def follow(place, size):
    torch.set_num_threads(1)
    if HOW == "environment":
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("gloo", init_method="file://" + FOLDER + "/store", rank=size - 1 - place, world_size=size)
    with open(FOLDER + "/pid.%d" % dist.get_rank(), "w") as file:
        file.write(str(os.getpid()))
    for number in range(1000):
        if number == 40 and dist.get_rank() == 1:
            time.sleep(1000)
        dist.all_reduce(torch.ones(1000))
        time.sleep(0.02)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        follow(int(sys.argv[3]), 3)
    elif HOW == "spawn":
        mp.spawn(follow, (3,), nprocs=3)
    elif HOW == "Popen":
        for process in [subprocess.Popen([sys.executable, *sys.argv, str(place)]) for place in range(3)]:
            process.wait()
    else:
        for rank in range(3):
            variables = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT="29641", WORLD_SIZE="3", RANK=str(rank))
            command = [sys.executable, *sys.argv, str(rank)]
            subprocess.Popen(["sh", "-c", '"$@"; true', "sh", *command], env=variables)
        time.sleep(1000)
"""


@pytest.mark.parametrize("how", ["spawn", "Popen", "environment"])
def test_a_rank_without_a_loop_names_the_one_that_does_not_enter(tmp_path, how):
    script = tmp_path / "bare.py"
    script.write_text(BARE)
    texts = [tmp_path / f"pid.{rank}" for rank in range(3)]
    with watching.start([str(script), how, str(tmp_path)]) as started:
        watching.wait_for(lambda: all(path.exists() and path.read_text() for path in texts), 60, "that all ranks exist")
        pids = [int(path.read_text()) for path in texts]
        monitor = watching.Monitor("-p", pids[2])
        try:
            def named():
                reported = monitor.objects()[-1] if monitor.objects() else {}
                return "rank 1 has not entered all_reduce #41" in reported.get("collectives", {}).get("message", "") and reported
            reported = watching.wait_for(named, 60, "that the culprit is named")
        finally:
            monitor.close()
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        assert sorted((rank["rank"], rank["pid"]) for rank in reported["collectives"]["ranks"]) == list(enumerate(pids))


def have_steps(reported):
    return len(reported.get("ranks", [])) == 2 and all(rank.get("step_s") and rank.get("rss_bytes") for rank in reported["ranks"])


def header(pid):
    """The header of the screen after ten seconds."""
    return watching.pmtop("--once", "--ascii", "--size=160x40", "-n", 20, "-d", 0.5, "-p", pid, seconds=40).splitlines()[0]


@pytest.mark.parametrize("kind", ["ddp", "apart"])
def test_both_ranks_are_one_run_by_the_launchers_pid_and_by_each_ranks(launch, kind):
    launched = launch(kind)
    pids = launched.rank_pids()
    launched.monitors += [watching.Monitor("-p", pid) for pid in pids]
    for monitor in launched.monitors:
        watching.wait_for(monitor.objects, 20, "a first object")
    launched.say("start")
    for monitor, pid, own in zip(launched.monitors, [launched.script.pid, *pids], [0, 0, 1]):
        reported = launched.reported(monitor, have_steps, f"that both ranks are known to the pmtop on {pid}")
        assert (reported["pid"], reported["rank"], reported["world_size"]) == (pid, own, 2)
        assert [(rank["rank"], rank["pid"]) for rank in reported["ranks"]] == [(0, pids[0]), (1, pids[1])]
        assert reported["inferred"]["what"] and reported["meta"]["RANK"] == str(own) and reported["meta"]["run_id"]
        # The process of the other rank is in no figure of the tree.
        if pid != launched.script.pid:
            assert reported["memory"]["tree_rss_bytes"] < 1.5 * reported["ranks"][own]["rss_bytes"]
            assert reported["ranks"][1 - own]["rss_bytes"] > 50e6
        if kind == "ddp":
            # They keep one pace; without phases, which of them waits for the other is unknown.
            assert "slowest" not in reported and all(rank.get("own_s") is None for rank in reported["ranks"]), reported["ranks"]
        else:
            reported = launched.reported(monitor, lambda reported: "slowest" in reported, "that a slowest is named")
            assert reported["slowest"]["rank"] == 1 and reported["slowest"].get("phase") is None, reported["slowest"]
            assert 0.04 < reported["slowest"]["own_s"] < 0.2, reported["slowest"]
    assert "rank 0/2" in header(launched.script.pid)
    assert "rank 1/2" in header(pids[1])

    truth = launched.truth()
    assert [did["pid"] for did in truth] == pids
    counts = [did["batches"] for did in truth]
    for monitor in launched.monitors:
        counted = lambda: [rank["batches"] for rank in monitor.objects()[-1]["ranks"]]
        try:
            watching.wait_for(lambda: counted() == counts, 20)
        except AssertionError:
            assert counted() == counts, [epoch["batches"] for epoch in monitor.objects()[-1]["epochs"]]
        assert "wordnobodyprints" not in json.dumps(monitor.objects())
    launched.say("go")
    assert launched.script.finish() == 0
    last = launched.monitors[0].finish()[-1]
    assert [(rank["state"], rank["batches"]) for rank in last["ranks"]] == [("ended", count) for count in counts]


def is_waited_for(reported):
    return any(group.get("waited_s", 0) > 1 for group in reported.get("collectives", {}).get("groups", []))


def test_the_rank_that_is_stopped_is_named_by_the_other(launch):
    launched = launch("ddp")
    pids = launched.rank_pids()
    monitor = watching.Monitor("-p", pids[0])
    launched.monitors.append(monitor)
    launched.say("start")
    launched.reported(monitor, have_steps, "that both ranks are known")
    os.kill(pids[1], signal.SIGSTOP)
    reported = launched.reported(monitor, lambda reported: "still" in reported, "that the stopped rank is named")
    assert (reported["still"]["rank"], reported["still"]["state"]) == (1, "stopped"), reported["still"]
    # PyTorch's own record says what the other waits for.
    group = launched.reported(monitor, is_waited_for, "that a collective is waited for")["collectives"]["groups"][0]
    assert (group["behind"], group["collective"], group["size"]) == ([1], "all_reduce", 2), group
    assert group["last_enqueued"] == group["sequence"] == group["last_completed"] + 1, group
    os.kill(pids[1], signal.SIGCONT)
    launched.reported(monitor, lambda reported: "still" not in reported and reported["ranks"][1]["state"] == "running", "that it goes on")
