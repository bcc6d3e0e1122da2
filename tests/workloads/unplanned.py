"""Causes that pmtop has no detector of its own for, as they happen in real loops; used by faults.py. Each is a class with hooks that faults.py calls:
`item` while an item is loaded, `forward` and `after` in a batch that is due, `always` in every batch. One that cannot be planted raises NotHere.
"""
import atexit
import ctypes
import hashlib
import logging
import os
import signal
import stat
import struct
import sys
import tempfile
import threading
import time

import torch
from torch import nn

LIBC = ctypes.CDLL(None, use_errno=True)
# sys.getsizeof(0.5) is 24, and Python's allocator hands out multiples of 16.
FLOAT_BYTES = 32
CLONE_NEWNS, MS_REC, MS_PRIVATE, MS_NOSUID_NODEV = 0x20000, 0x4000, 1 << 18, 6


class NotHere(Exception):
    pass


def apart(work):
    """Runs work() in a process that is no child of this one, as other people's programs are. It ends with this one."""
    ends, mine = os.pipe()
    os.set_inheritable(mine, False)
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.close(mine)
        threading.Thread(target=lambda: (os.read(ends, 1), os._exit(0)), daemon=True).start()
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(ends)


def private_mounts():
    if LIBC.unshare(CLONE_NEWNS) or LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
        raise NotHere("no right to mount")


def hash_times(times):
    for _ in range(times):
        hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 3000)


def hash_for(ms):
    end = time.monotonic() + ms / 1000
    while time.monotonic() < end:
        hash_times(1)


class Unplanned:
    def __init__(self, fault):
        self.fault, self.ms, self.mb = fault, fault.ms, fault.mb
        self.kept_bytes = 0

    def item(self):
        pass

    def forward(self):
        pass

    def after(self, model):
        pass

    def always(self, model, number):
        pass


class Pinned(Unplanned):
    """Two threads work on each batch; one that is due shares one CPU with another program."""

    def __init__(self, fault):
        super().__init__(fault)
        self.cpus = os.sched_getaffinity(0)
        if len(self.cpus) < 2:
            raise NotHere("one CPU")
        apart(self.compute)

    def compute(self):
        os.sched_setaffinity(0, {min(self.cpus)})
        while True:
            hash_for(1000)

    def always(self, model, number):
        is_due = self.fault.is_due(number)
        helper = threading.Thread(target=hash_times, args=(4,))
        if is_due:
            os.sched_setaffinity(0, {min(self.cpus)})
        helper.start()
        hash_times(4)
        helper.join()
        os.sched_setaffinity(0, self.cpus)


class LogBlocks(Unplanned):
    """The log goes to a pipe whose reader is slow."""

    def __init__(self, fault):
        super().__init__(fault)
        reader, writer = os.pipe()

        def read_slowly():
            while os.read(reader, 1 << 16):
                time.sleep(fault.ms / 3000)
        apart(read_slowly)
        os.close(reader)
        self.log = logging.getLogger("train")
        self.log.addHandler(logging.StreamHandler(os.fdopen(writer, "w")))
        self.log.propagate = False

    def after(self, model):
        self.log.warning("x" * (4 << 16))


class TokenizerThreads(Unplanned):
    """A tokenizer computes in eight threads, and the loop waits for them."""

    def item(self):
        threads = [threading.Thread(target=hash_for, args=(self.ms,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class ThreadsBeside(Unplanned):
    """Eight threads compute beside the loop, without the GIL."""

    def forward(self):
        for _ in range(8):
            threading.Thread(target=hash_for, args=(self.ms,)).start()


class TmpfsFills(Unplanned):
    """The loop writes files into a tmpfs of its own, and keeps none of them open."""

    def __init__(self, fault):
        super().__init__(fault)
        private_mounts()
        self.folder = tempfile.mkdtemp(prefix="pmtop-faults.")
        atexit.register(lambda: (LIBC.umount2(self.folder.encode(), 2), os.rmdir(self.folder)))
        if LIBC.mount(b"cache", self.folder.encode(), b"tmpfs", MS_NOSUID_NODEV, b"size=2g"):
            raise NotHere("no right to mount")
        self.count = 0

    def after(self, model):
        with open(os.path.join(self.folder, str(self.count)), "wb") as file:
            file.write(b"\1" * int(self.mb * 1e6))
        self.count += 1
        self.kept_bytes += int(self.mb * 1e6)


class OtherTmpfs(Unplanned):
    """Another program writes files into /dev/shm."""

    def __init__(self, fault):
        super().__init__(fault)
        folder = tempfile.TemporaryDirectory(dir="/dev/shm", prefix="pmtop-faults.")
        self.folder = folder

        def write():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            for count in range(400):
                try:
                    with open(os.path.join(folder.name, str(count)), "wb") as file:
                        file.write(b"\1" * int(fault.mb * 1e6))
                except OSError:
                    return
                time.sleep(0.05)
        apart(write)


class L3Neighbour(Unplanned):
    """Each batch walks through a table that fits into the shared cache; from then on another program fills that cache."""

    def __init__(self, fault):
        super().__init__(fault)
        reader, self.start = os.pipe()
        self.table = torch.randperm(2 << 20)

        def disturb():
            torch.set_num_threads(1)
            mine = torch.zeros(64 << 20, dtype=torch.uint8)
            os.read(reader, 1)
            while True:
                mine.add_(1)
        apart(disturb)
        os.close(reader)

    def always(self, model, number):
        if number == int(self.fault.start):
            os.write(self.start, b"1")
        at = self.table[:1 << 16]
        for _ in range(8):
            at = self.table[at]


class ListGrows(Unplanned):
    """history.append() of Python's own objects in every batch."""

    def __init__(self, fault):
        super().__init__(fault)
        self.history = []

    def after(self, model):
        values = [float(i) + 0.5 for i in range(int(self.mb * 1e6 / 32))]
        self.kept_bytes += sys.getsizeof(values) + len(values) * FLOAT_BYTES
        self.history.append(values)


class FuseRead(Unplanned):
    """The data lies on a FUSE file system, whose server is slow to answer when an item is due."""

    def __init__(self, fault):
        super().__init__(fault)
        if not os.path.exists("/dev/fuse"):
            raise NotHere("no /dev/fuse")
        private_mounts()
        device = os.open("/dev/fuse", os.O_RDWR)
        file = tempfile.NamedTemporaryFile(prefix="pmtop-faults.", delete=False)
        file.close()
        atexit.register(lambda: (LIBC.umount2(file.name.encode(), 2), os.unlink(file.name)))
        if LIBC.mount(b"slow", file.name.encode(), b"fuse", MS_NOSUID_NODEV, f"fd={device},rootmode=100000,user_id=0,group_id=0".encode()):
            raise NotHere("no right to mount")
        apart(lambda: serve(device, fault.ms))
        os.close(device)
        self.file = os.open(file.name, os.O_RDONLY)

    def item(self):
        os.pread(self.file, 4096, 1 << 20)

    def always(self, model, number):
        os.pread(self.file, 4096, 0)


def serve(device, ms):
    """The requests that FuseRead makes: attributes, open, read. A read beyond the first megabyte takes ms."""
    getattr_, open_, read_, init = 3, 14, 15, 26
    while True:
        request = os.read(device, 1 << 17)
        _, opcode, unique = struct.unpack_from("<IIQ", request)
        reply, error = b"", 0
        if opcode == init:
            major, minor, read_ahead = struct.unpack_from("<III", request, 40)
            reply = struct.pack("<IIIIHHIIHHI28x", major, min(minor, 31), read_ahead, 0, 12, 9, 1 << 16, 1, 0, 0, 0)
        elif opcode == getattr_:
            reply = struct.pack("<QII6Q10I", 0, 0, 0, 1, 1 << 30, 8, 0, 0, 0, 0, 0, 0, stat.S_IFREG | 0o666, 1, 0, 0, 0, 4096, 0)
        elif opcode == open_:
            reply = struct.pack("<QII", 1, 1, 0)    # FOPEN_DIRECT_IO
        elif opcode == read_:
            offset, size = struct.unpack_from("<QI", request, 48)
            time.sleep(ms / 1000 if offset else 0)
            reply = bytes(size)
        else:
            error = -38
        if opcode not in (2, 42, 36):    # FORGET, BATCH_FORGET, INTERRUPT have no answer
            os.write(device, struct.pack("<IiQ", 16 + len(reply), error, unique) + reply)


class Validation(Unplanned):
    """A validation every so many steps, within the loop, without gradients."""

    def after(self, model):
        model.eval()
        with torch.no_grad():
            for _ in range(12):
                model(torch.randn(32, 128))
        model.train()


class Schedule(Unplanned):
    """Layers that were frozen are trained from then on: backward takes longer."""

    def __init__(self, fault):
        super().__init__(fault)
        self.layers = nn.Sequential(*[nn.Linear(384, 384) for _ in range(5)])
        self.x = torch.randn(64, 384)
        for parameter in self.layers.parameters():
            parameter.requires_grad_(False)

    def always(self, model, number):
        if number == int(self.fault.start):
            for parameter in self.layers.parameters():
                parameter.requires_grad_(True)
        loss = self.layers(self.x).sum() + next(model.parameters()).sum() * 0
        loss.backward()


class Lock(Unplanned):
    """Another thread holds a lock that the loop needs."""

    def __init__(self, fault):
        super().__init__(fault)
        self.lock, self.wanted, self.held = threading.Lock(), threading.Event(), threading.Event()
        threading.Thread(target=self.hold, daemon=True).start()

    def hold(self):
        while True:
            self.wanted.wait()
            self.wanted.clear()
            with self.lock:
                self.held.set()
                time.sleep(self.ms / 1000)

    def forward(self):
        self.held.clear()
        self.wanted.set()
        self.held.wait()
        with self.lock:
            pass


class Gil(Unplanned):
    """Another thread computes in a call that keeps the GIL."""

    def __init__(self, fault):
        super().__init__(fault)
        self.numbers, self.wanted = list(range(200_000)), threading.Event()
        threading.Thread(target=self.hold, daemon=True, name="statistics").start()

    def hold(self):
        while True:
            self.wanted.wait()
            self.wanted.clear()
            end = time.monotonic() + self.ms / 1000
            while time.monotonic() < end:
                sum(self.numbers)
                sorted(self.numbers, key=int.__neg__)

    def forward(self):
        self.wanted.set()
        time.sleep(0)


UNPLANNED = {
    "pinned": (0, 0, Pinned, "two threads share one CPU"),
    "log-blocks": (150, 0, LogBlocks, "a line of the log waits for ms for the reader of a pipe"),
    "tokenizer-threads": (30, 0, TokenizerThreads, "the loop waits for eight threads that compute for ms"),
    "threads-beside": (60, 0, ThreadsBeside, "eight threads compute for ms beside the loop"),
    "tmpfs-fills": (0, 0.4, TmpfsFills, "the loop writes a file of mb into a tmpfs"),
    "other-tmpfs": (0, 0.4, OtherTmpfs, "another program writes files of mb into /dev/shm"),
    "l3-neighbour": (0, 0, L3Neighbour, "another program uses the shared cache from then on"),
    "list-grows": (0, 0.4, ListGrows, "the loop keeps a list of numbers of mb"),
    "fuse-read": (60, 0, FuseRead, "a read from a FUSE file system takes ms"),
    "validation": (0, 0, Validation, "a validation of twelve batches within the loop"),
    "schedule": (0, 0, Schedule, "more layers are trained from then on"),
    "lock": (150, 0, Lock, "another thread holds a lock for ms"),
    "gil": (150, 0, Gil, "another thread keeps the GIL for ms"),
}
