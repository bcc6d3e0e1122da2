"""What a region says beyond pmtop's JSON object, read from the file as pmtop-region(7) has it: counters, gauges, meta, the last events.

    region = Region(os.getpid())
    region.counters["optimizer.steps"]; region.meta["batch_size"]; region.batches() ...

The process must not publish meanwhile."""
import math
import struct
from collections import namedtuple

import watching

LANES, SLOTS, NAMES, NAME_BYTES, _, META, GAUGES, COUNTERS = range(1, 9)
EPOCH_BEGIN, EPOCH_END, BATCH_BEGIN, BATCH_END, EVIDENCE, SPAN, GAUGE, MARK, MODE, FIGURE = range(1, 11)
UNKNOWN = 2**64 - 1

Event = namedtuple("Event", "type time_ns name mode payload")
Batch = namedtuple("Batch", "index epoch number kind mode loss samples begin_ns end_ns")


def _number(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


class Region:
    def __init__(self, pid):
        (path,) = watching.region_files(pid)
        with open(path, "rb") as file:
            self.data = file.read()
        count = struct.unpack_from("<I", self.data, 116)[0]
        sections = [struct.unpack_from("<IIQQQ", self.data, 240 + 32 * i) for i in range(count)]
        self.sections = {kind: (offset, entry, number) for kind, entry, offset, _, number in sections}
        self.counters = {self.name(name): value for name, _, value in self.entries(COUNTERS, "<IIQ") if name}
        self.gauges = {self.name(name): _number(value) for name, _, value in self.entries(GAUGES, "<IIQ") if name}
        self.meta = {key[:a].decode(): value[:b].decode() for _, a, b, key, value in self.entries(META, "<IHH56s192s") if a}
        self.events = sorted((event for event in map(self._event, self.entries(SLOTS, "<IIQQ5Q")) if event), key=lambda event: event.time_ns)

    def entries(self, kind, layout):
        offset, size, count = self.sections[kind]
        return [struct.unpack_from(layout, self.data, offset + size * i) for i in range(count)]

    def name(self, number):
        if not number:
            return None
        offset, size, _ = self.sections[NAMES]
        at, length = struct.unpack_from("<II", self.data, offset + size * (number - 1))
        at += self.sections[NAME_BYTES][0]
        return self.data[at:at + length].decode()

    def _event(self, slot):
        sequence, kind, time_ns, name_mode, *payload = slot
        if not sequence:
            return None
        kind, length = kind & 0xFFFF, kind >> 16
        name = self.name(name_mode & 0xFFFFFFFF)
        if kind == MARK and name is None:
            name = struct.pack("<5Q", *payload)[:length].decode()
        return Event(kind, time_ns, name, self.name(name_mode >> 32), payload[:length // 8] + [UNKNOWN] * (5 - length // 8))

    def of(self, kind, name=None):
        """The events of a type (and name), oldest first."""
        return [event for event in self.events if event.type == kind and name in (None, event.name)]

    def batches(self):
        """The finished batches, oldest first. samples, loss: None where unknown; the mode of training is "train"."""
        samples = {event.time_ns: event.payload[4] >> 32 for event in self.of(EVIDENCE)}
        found = []
        for event in self.of(BATCH_END):
            index, epoch, number, loss, begin_ns = event.payload
            loss = None if loss == UNKNOWN or math.isnan(_number(loss)) else _number(loss)
            found.append(Batch(index, epoch >> 32, number, event.name, event.mode or "train", loss, samples.get(event.time_ns) or None, begin_ns, event.time_ns))
        return found

    def figures(self):
        """(number of the batch, name): value."""
        return {(event.payload[1], event.name): _number(event.payload[0]) for event in self.of(FIGURE)}

    def marks(self):
        return [event.name for event in self.of(MARK)]
