"""Ranks and the GPUs that they are on, by a driver that the fake NVML stands for: which lists their processes, or sees none of them."""
import json
import os
import re

import pytest

import watching

UUIDS = ["GPU-3a5c1f00-8d1e-4b7a-9c55-00000000000%d" % number for number in (1, 2)]
LIBRARY = watching.BUILD / "tests" / "fake_nvml" / "libnvidia-ml.so.1"

# Trains until it is killed, and says once that it does. What it holds on a GPU, it is reported.
SCRIPT = """
import os, time
import pmtop

pmtop.init("ranks")
for key, value in os.environ.items():
    if key.startswith("META_"):
        pmtop.meta(key[5:].replace("_", ".", 1), value)
pmtop.epoch_begin(0)
for number in range(1000000):
    pmtop.batch_begin(number)
    with pmtop.span("forward"):
        time.sleep(0.01)
    pmtop.gauge("cuda.allocated_bytes", 1e9)
    pmtop.gauge("cuda.reserved_bytes", 2e9)
    pmtop.batch_end()
    if number == 3:
        print("trains", flush=True)
"""

DDP = """
import os, sys, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
import pmtop.torch

pmtop.torch.instrument()
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.randn(400000, 8)), batch_size=8)
for (x,) in loader:
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    time.sleep(0.01)
"""


class Node:
    """Two GPUs. lists: of each the pids that its driver names, with what they hold."""

    def __init__(self, folder):
        self.path = folder / "node.script"
        self.says()

    def says(self, *lists):
        text = ["driver 580.82.07"]
        for number, uuid in enumerate(UUIDS):
            text += ["gpu NVIDIA H100 80GB HBM3", "uuid " + uuid, "busy 90", "memory 80Gi", "used 10Gi", "power 300", "temperature 60"]
            text += ["process %d compute %gGi" % process for process in (lists[number] if lists else [(4194300 + number, 7)])]
        new = self.path.with_suffix(".new")
        new.write_text("\n".join(text) + "\n")
        os.rename(new, self.path)


@pytest.fixture
def node(tmp_path, monkeypatch):
    if not LIBRARY.exists():
        pytest.fail(f"{LIBRARY} is not built")
    monkeypatch.setenv("PMTOP_NVML", str(LIBRARY))
    node = Node(tmp_path)
    monkeypatch.setenv("FAKE_NVML", str(node.path))
    return node


def runs_of(reported):
    """Which ranks stand at each GPU."""
    return [[run["rank"] for run in gpu["runs"]] for gpu in reported.get("gpu", [])]


def until(monitor, condition, what, seconds=15):
    """The first object since now of which it is true."""
    seen = len(monitor.objects())

    def found():
        return next((reported for reported in monitor.objects()[max(seen - 1, 0):] if condition(reported)), None)
    try:
        return watching.wait_for(found, seconds, what)
    except AssertionError as error:
        raise AssertionError(f"{error}: {json.dumps(monitor.objects()[-1].get('gpu'))}") from None


# What each of the two ranks has in its environment, and the ranks that stand at each GPU.
PLACEMENTS = {
    "LOCAL_RANK alone": ({}, {}, [[0], [1]]),
    "in another order": ({"CUDA_VISIBLE_DEVICES": "1,0"}, {"CUDA_VISIBLE_DEVICES": "1,0"}, [[1], [0]]),
    "one each": ({"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}, [[0], [1]]),
    "one each, by UUIDs": ({"CUDA_VISIBLE_DEVICES": UUIDS[1]}, {"CUDA_VISIBLE_DEVICES": UUIDS[0]}, [[1], [0]]),
    "both on one": ({"CUDA_VISIBLE_DEVICES": "1"}, {"CUDA_VISIBLE_DEVICES": "1"}, [[], [0, 1]]),
    "elsewhere, as they publish": ({"META_gpu_uuid": UUIDS[1][4:]}, {"META_gpu_uuid": UUIDS[0][4:]}, [[1], [0]]),
}


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_ranks_that_the_driver_does_not_list_are_found_by_their_placement(node, placement):
    *environments, expected = PLACEMENTS[placement]
    scripts = []
    try:
        for rank, more in enumerate(environments):
            env = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": "here", "MASTER_PORT": os.getpid(), "CUDA_VISIBLE_DEVICES": None, **more}
            scripts.append(watching.start(SCRIPT, env=env))
        for script in scripts:
            script.wait_for_line("trains")
        with watching.Monitor("-p", scripts[0].pid) as monitor:
            reported = until(monitor, lambda reported: runs_of(reported) == expected, f"that the ranks stand at {expected}")
        for gpu, ranks in zip(reported["gpu"], expected):
            assert gpu["is_ours"] == bool(ranks)
            assert [run["pid"] for run in gpu["runs"]] == [scripts[rank].pid for rank in ranks]
            assert all(run["allocated_bytes"] == 1e9 and "process_memory_bytes" not in run for run in gpu["runs"])
    finally:
        for script in scripts:
            script.close()


def test_real_ranks_are_found_by_the_processes_that_the_driver_lists(node, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(DDP)
    with watching.start(["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(tmp_path / "train.py")],
                        env={"OMP_NUM_THREADS": 1, "CUDA_VISIBLE_DEVICES": "1,0"}) as script, watching.Monitor("-p", script.pid) as monitor:
        reported = until(monitor, lambda reported: len(reported.get("ranks", [])) == 2 and reported["ranks"][1]["batches"] > 3, "that both train", 90)
        pids = [rank["pid"] for rank in reported["ranks"]]
        # On the CPU, so the environment does not put them on GPUs that the driver says others use.
        assert runs_of(reported) == [[], []]
        node.says([(pids[1], 3), (4194300, 2)], [(pids[0], 5)])
        reported = until(monitor, lambda reported: runs_of(reported) == [[1], [0]], "that the ranks stand at their GPUs")
        assert [gpu["runs"][0]["pid"] for gpu in reported["gpu"]] == [pids[1], pids[0]]
        assert [gpu["runs"][0]["process_memory_bytes"] for gpu in reported["gpu"]] == [3 * 2**30, 5 * 2**30]
        assert reported["meta"]["torch.precision"] == "32-true"

        screen = watching.once(script.pid, "gpu", "160x50")
        rows = (r"GPU NAME +USED BY .*\n\| +0 NVIDIA H100 80GB HBM3 +rank 1 .* 3\.22 GB .*\n"
                r"\| +1 NVIDIA H100 80GB HBM3 +rank 0 .* 5\.37 GB ")
        assert re.search(rows, screen), screen
