#!/usr/bin/env python3
"""What pmtop.torch.instrument() adds to a step, in instructions: a count does not depend on what else the machine does, as the times of overhead.py do.

    instructions.py [--steps=N] [--as-on-gpu] [PART...]

Runs one loop under callgrind twice, without hooks and with them but for those PARTs of instrument() ("loss"), and prints the difference for one step
and where it lies. The kernel's part of system calls is not counted. Differences of the allocator (libc) scatter by some 500: they depend on what lay
in memory before. --as-on-gpu: waits for a device are watched, and AdamW asks each parameter's step for its item() twice, as for parameters on a GPU:
16 parameters in 8 layers. Needs valgrind, its header and a C compiler.
"""
import argparse
import collections
import ctypes
import gc
import os
import re
import subprocess
import sys
import tempfile

SETTLED = 800  # steps until Python has specialized its code again
REQUESTS = """#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; }
void zero(void) { CALLGRIND_ZERO_STATS; }
void dump(void) { CALLGRIND_DUMP_STATS; }
"""


def loop(library, steps, left_out, as_on_gpu):
    """The loop, within callgrind. left_out: None for a loop without hooks."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import overhead

    overhead.torch.set_num_threads(1)
    if left_out is not None:
        overhead.pmtop.torch.instrument(**{part: False for part in left_out}, **({"sync": True} if as_on_gpu else {}))
    callgrind = ctypes.CDLL(library)
    bench = overhead.Bench("cpu", (16, 8, 8, False) if as_on_gpu else overhead.CPU["0.2 ms, AdamW"], steps)
    if as_on_gpu:
        bench.optimizer = overhead.torch.optim.AdamW(bench.model.parameters(), foreach=True)
    turns = bench.turns(SETTLED + 2 * steps + 1)
    bench.block(turns, SETTLED)
    gc.collect()
    gc.disable()
    callgrind.begin()
    bench.block(turns)
    callgrind.zero()
    bench.block(turns)
    callgrind.dump()


def counted(folder, mode, *given):
    """Instructions by the file that has them."""
    out = os.path.join(folder, mode)
    command = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}", sys.executable, __file__, "--within", mode, *given]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"})
    names, counts, file, is_call = {}, collections.Counter(), "", False
    for line in open(out + ".1", errors="replace"):
        named = re.match(r"(c?)ob=\((\d+)\)(?: (.*))?", line)
        if named:
            called, number, name = named.groups()
            names.setdefault(number, os.path.basename(name or ""))
            file = file if called else names[number]
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[-+*\d]\S* \d+$", line):
            counts[file] += 0 if is_call else int(line.split()[1])
            is_call = False
    return counts


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=50)
    options.add_argument("--as-on-gpu", action="store_true")
    options.add_argument("--within", help=argparse.SUPPRESS)
    options.add_argument("--library", help=argparse.SUPPRESS)
    options.add_argument("parts", nargs="*", metavar="PART")
    given = options.parse_args()
    if given.within:
        loop(given.library, given.steps, given.parts if given.within == "with" else None, given.as_on_gpu)
        return
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "requests.so")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, "-x", "c", "-"], input=REQUESTS, text=True, check=True)
        same = [f"--library={library}", f"--steps={given.steps}", *(["--as-on-gpu"] if given.as_on_gpu else [])]
        plain, hooked = counted(folder, "without", *same), counted(folder, "with", *same, *given.parts)
    by_file = {file: (hooked[file] - plain[file]) / given.steps for file in hooked | plain}
    print(f"{sum(by_file.values()):.0f} instructions a step: " + ", ".join(
        f"{count:.0f} {file or '?'}" for file, count in sorted(by_file.items(), key=lambda item: -item[1]) if abs(count) >= 1))


if __name__ == "__main__":
    main()
