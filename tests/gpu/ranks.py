#!/usr/bin/env python3
"""What pmtop says of two NCCL ranks on one GPU, with a fault that is known beforehand.

    ranks.py [--keep=FOLDER] [--gloo] [--seconds=S] [FAULT ...]      all where none is named;  PMTOP_BUILD: the folder with pmtop (build)

NCCL refuses two ranks on one GPU of one host: each rank names a host of its own (NCCL_HOSTID), and they speak over the loopback interface. For each fault
the ranks are started, rank 0 is watched, and the warnings and sentences that pmtop prints are compared with the fault. --keep keeps what pmtop printed,
its recordings, and what NCCL's RAS service answered. --gloo: the same on the CPU. Fails if a warning or a rank is not the right one."""
import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

PMTOP = str(pathlib.Path(os.environ.get("PMTOP_BUILD", "build")).resolve() / "pmtop")
STEP_S, FAULT_STEP, SLOW_S = 0.02, 100, 0.06
# The rule that must be raised in the time given, or None: nothing may be raised.
EXPECTED = {"healthy": None, "behind": "rank_behind", "stopped": "rank_behind", "mismatch": "collective_mismatch", "slow": "rank_slow"}
RULES = {"rank_behind", "rank_slow", "collective_mismatch", "collective_slow"}


def fetch(fault, rank, step):
    """What a rank does before its step."""
    if rank == 1 and fault == "slow":
        time.sleep(SLOW_S)
    if rank == 1 and step == FAULT_STEP:
        if fault == "behind":
            time.sleep(600)
        if fault == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(STEP_S)


def rank_main(fault, is_gloo):
    import torch
    import torch.distributed as dist
    rank, device = int(os.environ["RANK"]), torch.device("cpu" if is_gloo else "cuda:0")
    if is_gloo:
        dist.init_process_group("gloo")
    else:
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)
    group = dist.new_group([0, 1], group_desc="data parallel")
    x, model = torch.ones(1 << 20, device=device), torch.nn.Linear(512, 512, device=device)
    for step in range(1 << 30):
        fetch(fault, rank, step)
        if fault == "mismatch" and rank == 1 and step == FAULT_STEP:
            dist.all_gather_into_tensor(torch.empty(2 << 20, device=device), x, group=group)
        else:
            dist.all_reduce(x, group=group)
        x /= 2
        model(x.view(-1, 512)).sum().backward()
        x[0].item()


def free_port():
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


def start(fault, folder, is_gloo):
    """The two ranks."""
    port, ras = free_port(), free_port()
    common = dict(os.environ, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_ADDR="localhost", MASTER_PORT=str(port), NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1", NCCL_P2P_DISABLE="1",
                  NCCL_SHM_DISABLE="1", NCCL_RAS_ADDR=f"localhost:{ras}", NCCL_DEBUG="WARN")
    ranks = [subprocess.Popen([sys.executable, __file__, "--rank", fault, *(["--gloo"] if is_gloo else [])], env=dict(common, RANK=str(rank), LOCAL_RANK=str(rank), NCCL_HOSTID=f"host{rank}"),
                              stdout=open(folder / f"{fault}.{rank}.out", "w"), stderr=subprocess.STDOUT) for rank in (0, 1)]
    return ranks, ras


def watch(fault, folder, is_gloo, seconds):
    """pmtop's objects of rank 0's run, as they come; the time of the first collectives is 0."""
    ranks, ras = start(fault, folder, is_gloo)
    recorder = subprocess.Popen([PMTOP, "record", "-p", str(ranks[0].pid), "-o", str(folder / f"{fault}.pmtop")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    monitor = subprocess.Popen([PMTOP, "-b", "--json", "-d", "0.5", "-p", str(ranks[0].pid)], stdout=subprocess.PIPE, stderr=open(folder / f"{fault}.err", "w"), text=True)
    begin, raised, newest, first_s = time.monotonic(), {}, {}, None
    try:
        with open(folder / f"{fault}.json", "w") as kept:
            for text in monitor.stdout:
                kept.write(text)
                newest, now = json.loads(text), time.monotonic()
                groups = (newest.get("collectives") or {}).get("groups") or []
                first_s = first_s if first_s is not None or not groups else now
                for warning in newest.get("warnings") or []:
                    if warning["rule"] in RULES:
                        raised.setdefault(warning["rule"], (now - first_s if first_s else now - begin, warning.get("message") or warning.get("text") or str(warning)))
                if EXPECTED[fault] in raised and now > raised_at(raised, first_s or begin) + 3 or now - (first_s or begin) > (seconds if first_s else 60):
                    break
        if not is_gloo:
            ask_ras(ras, folder / f"{fault}.ras")
    finally:
        for process in (monitor, recorder):
            process.send_signal(signal.SIGINT)
        for process in ranks:
            process.send_signal(signal.SIGKILL)
        for process in (monitor, recorder, *ranks):
            process.wait(30)
    return newest, raised


def raised_at(raised, begin):
    return begin + min(when for when, _ in raised.values())


def ask_ras(port, path):
    """A conversation with NCCL's RAS service, kept as text."""
    try:
        with socket.create_connection(("localhost", port), timeout=5) as peer, open(path, "w") as kept:
            peer.settimeout(12)
            for line in ("CLIENT PROTOCOL 2", "TIMEOUT 5", "SET FORMAT json", "VERBOSE STATUS"):
                kept.write(f"> {line}\n")
                peer.sendall(line.encode() + b"\n")
                if line != "VERBOSE STATUS":
                    kept.write(peer.recv(4096).decode())
            while got := peer.recv(65536):
                kept.write(got.decode())
    except OSError as error:
        print(f"  RAS: {error}")


def look(fault, folder, is_gloo, seconds):
    newest, raised = watch(fault, folder, is_gloo, seconds)
    collectives = newest.get("collectives") or {}
    groups = [(group.get("name"), group.get("last_enqueued"), group.get("behind")) for group in collectives.get("groups") or []]
    print(f"{fault}: groups {groups}, step {(newest.get('batch') or {}).get('count')}")
    for rule, (when, message) in raised.items():
        print(f"  {when:5.1f} s  {rule}: {message}")
    for missing in newest.get("missing") or []:
        if "ollective" in str(missing):
            print(f"  missing: {missing}")
    right = set(raised) == ({EXPECTED[fault]} if EXPECTED[fault] else set()) and bool(groups)
    right = right and (EXPECTED[fault] is None or "rank 1" in raised[EXPECTED[fault]][1])
    print(f"  {'right' if right else 'WRONG'}", flush=True)
    return right


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--keep")
    options.add_argument("--gloo", action="store_true")
    options.add_argument("--seconds", type=float, default=40, help="how long a run is watched from its first collectives on (%(default)s)")
    options.add_argument("--rank", help=argparse.SUPPRESS)
    options.add_argument("faults", nargs="*", metavar="FAULT")
    given = options.parse_args()
    if given.rank:
        return rank_main(given.rank, given.gloo)
    folder = pathlib.Path(given.keep or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    results = [look(fault, folder, given.gloo, given.seconds) for fault in given.faults or EXPECTED]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
