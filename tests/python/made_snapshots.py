"""Memory snapshots as torch.cuda.memory._dump_snapshot() writes them, of an invented allocator, and what it knows to be true of them.

The fields are those of torch 2.13 (torch/csrc/cuda/Module.cpp): frames are dictionaries and lists that many events share, entries have no frames where no
stack was recorded, and "frames" comes last in an event.

    made_snapshots.py FILE [EVENTS] [PROTOCOL]     writes FILE, and prints the truth as JSON
"""
import json
import pickle
import random
import sys

SEGMENT = 20 << 20
BASE = 0x7F4E_0000_0000


def stacks():
    """Stacks that share frames, innermost first; the one of backward is empty, for the thread of autograd runs no Python."""
    torch = "/venv/lib/python3.11/site-packages/torch/nn/modules"

    def frame(filename, line, name):
        return {"name": name, "filename": filename, "line": line}

    main, linear, module = frame("/home/u/train.py", 80, "main"), frame(f"{torch}/linear.py", 125, "forward"), frame(f"{torch}/module.py", 1751, "_call_impl")
    return {"/home/u/model.py:21": [linear, module, frame("/home/u/model.py", 21, "forward"), module, main],
            "/home/u/model.py:30": [linear, module, frame("/home/u/model.py", 30, "forward"), module, main],
            "/home/u/train.py:44": [frame("/home/u/train.py", 44, "load \u00e9"), main],
            "": []}


class Allocator:
    """Segments of 20 MiB, blocks from the first gap, and the history of the last `max_entries` events."""

    def __init__(self, max_entries=10**9, records_from=0, seed=7):
        self.random = random.Random(seed)
        self.stacks = stacks()
        self.lines = list(self.stacks)
        self.segments, self.live, self.history = [], {}, []
        self.max_entries, self.records_from = max_entries, records_from
        self.count, self.live_bytes, self.time_us = 0, 0, 1_700_000_000_000_000
        self.states = []

    def _note(self, action, address, size, line=None, **more):
        self.count += 1
        self.time_us += 10
        entry = {"action": action, "device_free" if action == "oom" else "addr": address, "size": size, "stream": 0, "time_us": self.time_us,
                 "compile_context": "N/A", "user_metadata": "", "pool_id": (0, 0), **more}
        if line is not None:
            entry["frames"] = self.stacks[line]
        if self.count > self.records_from:
            self.history.append(entry)
            self.states.append((self.live_bytes, dict(self._by_line())))

    def _by_line(self):
        sums = {}
        for _, requested, line in self.live.values():
            sums[line] = sums.get(line, 0) + requested
        return sums

    def _place(self, size):
        for start in self.segments:
            at = start
            for address in sorted(a for a in self.live if start <= a < start + SEGMENT):
                if address - at >= size:
                    return at
                at = address + self.live[address][0]
            if start + SEGMENT - at >= size:
                return at
        start = BASE + len(self.segments) * 2 * SEGMENT
        self.segments.append(start)
        self._note("segment_alloc", start, SEGMENT, self.random.choice(self.lines))
        return start

    def allocate(self, requested, line):
        size = (requested + 511) // 512 * 512
        address = self._place(size)
        # The stack of what is allocated before the recording is unknown.
        self.live[address] = (size, requested, line if self.count >= self.records_from else "")
        self.live_bytes += requested
        self._note("alloc", address, requested, line)

    def free(self, address):
        _, requested, line = self.live.pop(address)
        self._note("free_requested", address, requested, line)
        self.live_bytes -= requested
        self._note("free_completed", address, requested, line)

    def run_out(self, requested, line):
        self._note("oom", 123 << 20, requested, line)

    def churn(self, events):
        while self.count < events:
            if self.live and self.random.random() < 0.48:
                self.free(self.random.choice(sorted(self.live)))
            else:
                self.allocate(self.random.randrange(1, 3 << 20), self.random.choice(self.lines))

    def _blocks(self, start):
        blocks, at = [], start
        for address in sorted(a for a in self.live if start <= a < start + SEGMENT):
            size, requested, line = self.live[address]
            if address > at:
                blocks.append(self._block(at, address - at, 0, "inactive", ""))
            blocks.append(self._block(address, size, requested, "active_allocated", line))
            at = address + size
        if at < start + SEGMENT:
            blocks.append(self._block(at, start + SEGMENT - at, 0, "inactive", ""))
        return blocks

    def _block(self, address, size, requested, state, line):
        return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": self.stacks[line]}

    def snapshot(self):
        segments = []
        for start in self.segments:
            blocks = self._blocks(start)
            active = sum(block["size"] for block in blocks if block["state"] != "inactive")
            segments.append({"device": 0, "address": start, "total_size": SEGMENT, "allocated_size": active, "active_size": active,
                             "requested_size": sum(block["requested_size"] for block in blocks), "stream": 0, "segment_type": "large",
                             "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": blocks})
        return {"segments": segments, "device_traces": [self.history[-self.max_entries:], []],
                "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                                       "expandable_segments": False, "roundup_power2_divisions": {"1": 0, "2": 0}},
                "external_annotations": []}

    def truth(self):
        """What pmtop must find: sums of the blocks, and the peak among the states after each event."""
        kept = self.states[-self.max_entries:]
        peak = max(range(len(kept)), key=lambda i: kept[i][0])
        return {"requested_bytes": self.live_bytes, "reserved_bytes": len(self.segments) * SEGMENT, "lines": self._by_line(), "peak_event": peak + 1,
                "peak_bytes": kept[peak][0], "peak_lines": kept[peak][1], "events": len(kept)}


def write(path, allocator, protocol=pickle.DEFAULT_PROTOCOL):
    with open(path, "wb") as file:
        pickle.dump(allocator.snapshot(), file, protocol)


def main():
    allocator = Allocator()
    events = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    allocator.churn(events)
    allocator.run_out(5 << 30, "/home/u/model.py:30")
    write(sys.argv[1], allocator, int(sys.argv[3]) if len(sys.argv) > 3 else pickle.DEFAULT_PROTOCOL)
    print(json.dumps(allocator.truth()))


if __name__ == "__main__":
    main()
