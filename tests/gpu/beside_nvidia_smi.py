#!/usr/bin/env python3
"""pmtop's figures of a real GPU beside nvidia-smi's and NVML's own, while a real training runs on it.

    beside_nvidia_smi.py [KIND ...]        kinds of train.py; all where none is named
        PMTOP_BUILD     the folder with pmtop (build);  GPU_SECONDS  how long each is looked at (20);  GPU_KEEP  a folder for recordings and texts

Each kind is trained for a while; over the same seconds pmtop says its figures four times a second, nvidia-smi its own five times a second, and NVML is
asked once a second for what nvidia-smi does not print. A table is printed for each: mean, least and most of both, and what pmtop warned of.
"""
import csv
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PMTOP = str(pathlib.Path(os.environ.get("PMTOP_BUILD", "build")).resolve() / "pmtop")
SECONDS = float(os.environ.get("GPU_SECONDS", "20"))
KINDS = ["full", "starved", "launches", "leak", "fragmented", "copies", "waits", "bursts", "compiled", "checkpoints", "accumulate"]

# nvidia-smi's name, factor to pmtop's unit, pmtop's key, the unit shown and its divisor
FIGURES = [
    ("utilization.gpu", 0.01, "utilisation_ratio", "%", 0.01), ("utilization.memory", 0.01, "memory_controller_ratio", "%", 0.01),
    ("memory.used", 1 << 20, "memory_used_bytes", "MiB", 1 << 20), ("memory.reserved", 1 << 20, "memory_reserved_bytes", "MiB", 1 << 20),
    ("memory.total", 1 << 20, "memory_total_bytes", "MiB", 1 << 20),
    ("power.draw.instant", 1, "power_w", "W", 1), ("power.draw.average", 1, "power_w", "W", 1), ("enforced.power.limit", 1, "power_limit_w", "W", 1),
    ("temperature.gpu", 1, "temperature_c", "C", 1), ("temperature.memory", 1, "memory_temperature_c", "C", 1),
    ("clocks.current.sm", 1e6, "clock_hz", "MHz", 1e6), ("clocks.max.sm", 1e6, "clock_max_hz", "MHz", 1e6), ("clocks.current.memory", 1e6, "memory_clock_hz", "MHz", 1e6),
    ("pcie.link.gen.current", 1, "pcie.generation", "", 1), ("pcie.link.width.current", 1, "pcie.width", "", 1),
]
# `nvidia-smi dmon`: column, factor, key
DMON = [("rxpci", 1 << 20, "pcie.received_bytes_per_s", "MiB/s", 1 << 20), ("txpci", 1 << 20, "pcie.sent_bytes_per_s", "MiB/s", 1 << 20)]
# dmon --gpm-metrics: SM activity, occupancy, tensor, DRAM
GPM = [(2, "sm_active_ratio"), (3, "sm_occupancy_ratio"), (5, "tensor_active_ratio"), (10, "dram_active_ratio")]


def figure(gpu, key):
    for part in key.split("."):
        gpu = gpu.get(part) if gpu else None
    return gpu


def spread(values, unit):
    return f"{statistics.mean(values) / unit:10.1f} ({min(values) / unit:.0f}..{max(values) / unit:.0f})" if values else f"{'–':>10}"


def numbers(rows, key, factor):
    found = []
    for row in rows:
        try:
            found.append(float(row[key]) * factor)
        except (KeyError, TypeError, ValueError):
            pass
    return found


def table(objects, smi, dmon, gpm):
    gpus = [reported["gpu"][0] for reported in objects if reported.get("gpu")]
    print(f"  {'figure':26} {'pmtop':>24} {'nvidia-smi':>26}")
    def line(name, reported, said, unit, scale):
        ratio = f"{statistics.mean(reported) / statistics.mean(said):.3f}" if reported and said and statistics.mean(said) else ""
        print(f"  {name:26} {spread(reported, scale):>24} {spread(said, scale):>26} {unit:6} {ratio}")
    for name, factor, key, unit, scale in FIGURES:
        line(name, [value for gpu in gpus if (value := figure(gpu, key)) is not None], numbers(smi, name, factor), unit, scale)
    for name, factor, key, unit, scale in DMON:
        line(name, [value for gpu in gpus if (value := figure(gpu, key)) is not None], numbers(dmon, name, factor), unit, scale)
    for number, key in GPM:
        line(key, [value for gpu in gpus if (value := figure(gpu, key)) is not None], numbers(gpm, key, 0.01), "%", 0.01)


def read_dmon(path, names=None):
    rows, header = [], names
    for text in pathlib.Path(path).read_text().splitlines():
        if text.startswith("#"):
            if header is None or names is None:
                header = header or text.lstrip("# ").split()
            continue
        rows.append(dict(zip(header, text.split())))
    return rows


def look(kind, folder):
    train = subprocess.Popen([sys.executable, str(HERE / "train.py"), kind, f"--seconds={SECONDS + 8}"], stdout=subprocess.PIPE, stderr=open(folder / "train.err", "w"), text=True)
    started, lines = time.monotonic(), []
    while not lines or "trains" not in lines[-1]:
        text = train.stdout.readline()
        if not text:
            print(f"{kind}: ended before it trained: {(folder / 'train.err').read_text()[-1500:]}")
            return
        lines.append(text)
    print(f"\n== {kind}: trains after {time.monotonic() - started:.1f} s, pid {train.pid}")
    time.sleep(3)
    names = [name for name, *_ in FIGURES]
    files = {name: open(folder / name, "w") for name in ("smi", "dmon", "gpm", "pmtop", "pmtop.err")}
    watchers = [
        subprocess.Popen(["nvidia-smi", "--query-gpu=" + ",".join(names), "--format=csv,noheader,nounits", "-lms", "200"], stdout=files["smi"], stderr=subprocess.STDOUT),
        subprocess.Popen(["nvidia-smi", "dmon", "-s", "t", "-d", "1"], stdout=files["dmon"], stderr=subprocess.STDOUT),
        subprocess.Popen(["nvidia-smi", "dmon", "-s", "u", "--gpm-metrics=" + ",".join(str(number) for number, _ in GPM), "-d", "1"], stdout=files["gpm"], stderr=subprocess.STDOUT),
        subprocess.Popen([PMTOP, "record", "-p", str(train.pid), "-d", "0.25", "-o", str(folder / f"{kind}.pmtop")], stdout=subprocess.DEVNULL, stderr=files["pmtop.err"]),
        subprocess.Popen([PMTOP, "-b", "--format=json", "-d", "0.25", "-p", str(train.pid)], stdout=files["pmtop"], stderr=files["pmtop.err"]),
    ]
    time.sleep(SECONDS)
    shots = {view: subprocess.run([PMTOP, "--once", f"--view={view}", "--size=120x40", "-n", "4", "-p", str(train.pid)], capture_output=True, text=True).stdout for view in ("overview", "gpu")}
    users = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory,name", "--format=csv,noheader"], capture_output=True, text=True).stdout
    for watcher in watchers:
        watcher.terminate()
    for watcher in watchers:
        watcher.wait()
    for view, text in shots.items():
        (folder / f"{kind}.{view}.txt").write_text(text)
    objects = [json.loads(text) for text in (folder / "pmtop").read_text().splitlines() if text.startswith("{") and text.endswith("}")]
    smi = [dict(zip(names, [value.strip() for value in row])) for row in csv.reader((folder / "smi").read_text().splitlines())]
    gpm = read_dmon(folder / "gpm", None)
    # Its own columns, in the order in which they were asked for, come last.
    gpm = [dict(row, **dict(zip([key for _, key in GPM], list(row.values())[-len(GPM):]))) for row in gpm if row]
    table(objects[4:], smi, read_dmon(folder / "dmon"), gpm)
    last = objects[-1]
    print("  processes: pmtop", [(row["pid"], round((row.get("memory_bytes") or 0) / 2**20), row.get("utilisation_ratio")) for row in last["gpu"][0].get("processes", [])],
          "nvidia-smi", users.strip())
    print("  allocator:", json.dumps(last["gpu"][0].get("runs")), "verdict", json.dumps(last["gpu"][0].get("memory")))
    print("  throttle:", last["gpu"][0].get("throttle"), last["gpu"][0].get("totals", {}).get("reasons"), "reading", last["gpu"][0].get("reading_ratio"))
    batch = last.get("batch", {})
    print("  batch:", {key: batch.get(key) for key in ("count", "mean_s", "p50_s", "p95_s")}, "operations:",
          {row["name"]: round(row["mean_s"], 5) for row in last.get("operations", []) if "mean_s" in row})
    print("  figures:", {key: value for key, value in batch.items() if key.startswith("gpu") or key == "figures"})
    print("  flagged:", json.dumps(last.get("flagged", [])[-3:])[:1500])
    print("  warnings:", *[f"\n    {row.get('rule') or row.get('name')}: {row.get('message') or row.get('text')}" for row in last.get("warnings", [])])
    print("  said on stderr:", (folder / "train.err").read_text()[-600:].strip(), (folder / "pmtop.err").read_text()[-400:].strip())
    out, _ = train.communicate(timeout=120)
    print("  itself:", out.strip().splitlines()[-1] if out.strip() else f"exit {train.returncode}: {(folder / 'train.err').read_text()[-1500:]}")
    sys.stdout.flush()


def main():
    kept = os.environ.get("GPU_KEEP")
    folder = pathlib.Path(kept or tempfile.mkdtemp(prefix="pmtop-gpu-"))
    folder.mkdir(parents=True, exist_ok=True)
    if not shutil.which("nvidia-smi"):
        sys.exit("pmtop: no nvidia-smi here, which is what is compared with")
    for kind in sys.argv[1:] or KINDS:
        look(kind, folder)
    if not kept:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
