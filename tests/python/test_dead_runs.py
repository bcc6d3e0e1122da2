"""What killed runs leave in a container's 64 MB of /dev/shm does not take the training's own shared memory."""
import subprocess

import pytest
import watching

KILLED = """
import os, signal, pmtop
pmtop.init("killed")
for i in range(5):
    pmtop.batch_begin(i)
    with pmtop.span("forward"):
        pass
    pmtop.batch_end(1.0)
os.kill(os.getpid(), signal.SIGKILL)
"""

FORKED = """
import os, pmtop
pmtop.init("forks")
for _ in range(100):
    pid = os.fork()
    if not pid:
        with pmtop.span("helper"):
            pass
        os._exit(0)
    os.waitpid(pid, 0)
"""

SHARED = """
import os
from multiprocessing import shared_memory
memory = shared_memory.SharedMemory(create=True, size=40 << 20)
os.posix_fallocate(memory._fd, 0, 40 << 20)
memory.close()
memory.unlink()
"""

LOADED = """
import torch
from torch.utils.data import DataLoader
import pmtop.torch
pmtop.torch.instrument()
if __name__ == "__main__":
    items = [torch.ones(512, 1024) for _ in range(32)]
    assert sum(batch.sum().item() for batch in DataLoader(items, batch_size=4, num_workers=2)) == 32 * 512 * 1024
"""

# Each script in turn, in a /dev/shm of their own; what stands before the last may be killed.
IN_64_MB = """
mount --make-rprivate / && mount -t tmpfs -o size=64m tmpfs /dev/shm || exit 3
python=$1 first=$2 times=$3 second=$4
for _ in $(seq "$times"); do "$python" -c "$first"; done
used=$(df --block-size=1 --output=used /dev/shm | tail -n 1)
echo "used $used"
exec "$python" -c "$second"
"""


def run_in_64_mb(first, times, second):
    """The bytes of /dev/shm that `first`, run so often, left; `second` must work beside them."""
    done = subprocess.run(["unshare", "--mount", "sh", "-c", IN_64_MB, "sh", watching.PYTHON, first, str(times), second],
                          env=watching.environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.split("used ", 1)[1].split()[0])


def test_killed_runs_leave_room_for_shared_memory():
    assert run_in_64_mb(KILLED, 26, SHARED) <= 6.4 * (1 << 20)


def test_forked_children_leave_room_for_shared_memory():
    assert run_in_64_mb(FORKED, 1, SHARED) <= 6.4 * (1 << 20)


def test_a_loader_with_workers_works_after_killed_runs():
    pytest.importorskip("torch")
    assert run_in_64_mb(KILLED, 26, LOADED) <= 6.4 * (1 << 20)
