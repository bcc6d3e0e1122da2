#!/usr/bin/env python3
"""pmtop's figures of a real memory snapshot beside those of PyTorch's allocator, on a real GPU.

    memory_by_line.py         PMTOP_BUILD: the folder with pmtop (build)

Tensors of known sizes are allocated on known lines, the allocator is fragmented, and memory runs out once. Fails with the first figure that differs."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pmtop.torch
import torch

PMTOP = str(pathlib.Path(os.environ.get("PMTOP_BUILD", "build")).resolve() / "pmtop")
MIB = 1 << 20


def shown(*arguments):
    return json.loads(subprocess.run([PMTOP, *arguments, "--json"], capture_output=True, text=True, check=True).stdout)


def same(what, ours, theirs):
    print(f"{what:42} {ours!s:>16} {theirs!s:>16}")
    if ours != theirs:
        sys.exit(f"memory_by_line: {what} differs")


def own(rows, key="bytes"):
    return {row["line_number"]: row[key] for row in rows if row.get("file", "").endswith(os.path.basename(__file__))}


def line():
    return sys._getframe(1).f_lineno


def run_out(folder):
    """An allocation that no GPU has room for: on_oom writes a snapshot."""
    try:
        torch.empty(1 << 44, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        pass
    return next(str(path) for path in pathlib.Path(folder).glob("*.snapshot.pickle"))


def main():
    folder = tempfile.mkdtemp()
    early = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    with pmtop.torch.memory_history(on_oom=True, output_dir=folder) as history:
        torch.cuda.reset_peak_memory_stats()
        kept, kept_line = torch.empty(48 * MIB, dtype=torch.uint8, device="cuda"), line()
        held, held_line = [torch.empty(3 * MIB, dtype=torch.uint8, device="cuda") for _ in range(40)], line()
        weight = torch.nn.Linear(512, 512, device="cuda")
        weight(torch.ones(64, 512, device="cuda")).sum().backward()
        torch.cuda.synchronize()
        before = history.dump(os.path.join(folder, "before.pickle"))
        del held[::2]
        grown, grown_line = torch.empty(200 * MIB, dtype=torch.uint8, device="cuda"), line()
        after = history.dump(os.path.join(folder, "after.pickle"))
        stats = torch.cuda.memory_stats()
        found = shown("trace", after)
        device = found["devices"][torch.cuda.current_device()]
        oom = shown("trace", run_out(folder))["devices"][torch.cuda.current_device()]["history"]
    print(f"{'':42} {'pmtop':>16} {'PyTorch':>16}")
    for ours, theirs in (("reserved", "reserved_bytes"), ("allocated", "allocated_bytes"), ("requested", "requested_bytes"), ("active", "active_bytes"),
                         ("inactive_split", "inactive_split_bytes")):
        same(theirs, device[f"{ours}_bytes"], stats[f"{theirs}.all.current"])
    same("peak of requested bytes", device["history"]["peak"]["live_bytes"], stats["requested_bytes.all.peak"])
    same("allocated before the recording", device["history"]["is_partial"], True)
    lines = own(found["lines"])
    same("bytes by line: kept", lines.get(kept_line), kept.numel())
    same("bytes by line: held", lines.get(held_line), sum(tensor.numel() for tensor in held))
    growth = own(shown("diff", before, after)["lines"], "change_bytes")
    same("growth: a new line", growth.get(grown_line), grown.numel())
    same("growth: a line that freed", growth.get(held_line), -20 * 3 * MIB)
    same("out of memory: requested", oom["out_of_memory"][-1]["requested_bytes"], 1 << 44)
    same("out of memory: live lines", own(oom["last_out_of_memory_lines"]).get(kept_line), kept.numel())
    del early


if __name__ == "__main__":
    main()
