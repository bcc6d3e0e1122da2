"""Takes requests of `pmtop profile PID` for a trace and of `pmtop snapshot PID` for a memory snapshot: instrument(profile_on_request=True).

The program listens at a socket of its own (0600) in a folder of its user (0700): /run/user/UID/pmtop, else /tmp/pmtop-UID. It looks at it at the end of
a batch, at most ten times a second, and never waits. One request at a time:

    profile 1 STEPS FOLDER                      pmtop asks, in one line: for the next steps,
    profile 2 STEPS batch NUMBER EVERY FOLDER   for those from batch NUMBER on, or, if it is over, from the one EVERY later,
    profile 2 STEPS time MS 0 FOLDER            or for the first ones after a time
    step DONE STEPS                             the program answers, after each step,
    trace PATH  or  error TEXT                  and at last

    snapshot 1 FOLDER                 pmtop asks, in one line
    snapshot PATH  or  error TEXT     the program answers, at the end of this batch
    snapshot 2 FOLDER                 nobody but pmtop asks: only if memory_history() records; else the answer is
    unrecorded

Only this user and root may ask (SO_PEERCRED). If pmtop closes the connection, the trace is given up. Profiled steps have the kind "profile".
"""
from __future__ import annotations

import os
import socket
import stat
import struct
import sys
import time
from typing import Any, Optional

from .._profiling.settings import Profile
from .memory import is_recording, why_no_snapshot, write_snapshot
from .patch import Part
from .profile import ProfileRun

VARIABLE = "PMTOP_LAUNCH"
"""`pmtop -- COMMAND` sets it: such a program takes requests by default."""
STEPS_MAX = 100
_LOOK_EVERY_S = 0.1
_LINE_MAX = 2048
_CREDENTIALS = struct.Struct("3i")


class Requests:
    """The socket, and the request that is open. An error ends it, with one line on standard error."""

    def __init__(self, part: Part, out: Any) -> None:
        self.part, self.out = part, out
        self._next = 0.0
        self._client: Optional[socket.socket] = None
        self._line = b""
        self._waiting: Optional[_Request] = None
        self._run: Optional[_RequestedRun] = None
        self.path = ""
        self._listener: Optional[socket.socket] = None
        try:
            self._listener, self.path = _listen()
        except OSError as error:
            self._refuse(error)

    def batch_ends(self, trains: bool, is_profiling: bool) -> None:
        """Call before a batch ends. trains: it is a training step. is_profiling: the program profiles itself by a schedule."""
        if not self.part.is_on:
            return
        try:
            if self._run is not None:
                self._run.batch_ends(trains)
                self._look_at_run(trains)
                return
            now = time.monotonic()
            if now >= self._next:
                self._next = now + _LOOK_EVERY_S
                self._look(trains, is_profiling)
        except Exception as error:
            self.close()
            self._refuse(error)

    def close(self) -> None:
        """Training ends, or the part has failed."""
        if self._run is not None:
            self._run.give_up("training ended before the trace was complete")
        self._hang_up()
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
            try:
                os.unlink(self.path)
            except OSError:
                pass

    def forget(self) -> None:
        """In a forked child: the socket is the parent's."""
        for connection in (self._client, self._listener):
            if connection is not None:
                connection.close()
        self._client = self._listener = self._run = self._waiting = None

    def _refuse(self, error: BaseException) -> None:
        self.part.is_on = False
        try:
            sys.stderr.write(f"pmtop: profile: no requests for traces are taken: {type(error).__name__}: {error}; training continues\n")
        except (OSError, ValueError, AttributeError):
            pass

    # -- the connection

    def _look(self, trains: bool, is_profiling: bool) -> None:
        if self._client is None and not self._accept():
            return
        if self._waiting is None:
            line = self._read_line()
            if line is None:
                return
            try:
                request = _parse(line)
            except ValueError as error:
                self.answer(f"error {error}")
                return
            if not request.steps:
                self._snapshot(request)
                return
            self._waiting = request
            if is_profiling:
                self.answer("error this program profiles itself by a schedule: instrument(profile=...)")
                return
            if time.time() * 1000 < self._waiting.time_ms:
                self._send(f"step 0 {self._waiting.steps}")
        elif self._is_gone():
            self._hang_up()
            return
        request = self._waiting
        if time.time() * 1000 < request.time_ms:
            self._next = 0.0
            return
        self._waiting = None
        self._run = _RequestedRun(self, request.steps, request.folder, 1 + request.batches_left(self.out.batch_number()))
        # Profiling starts at the end of this batch, or of the first one that trains.
        self._run.batch_ends(trains)
        self._look_at_run(trains)

    def _snapshot(self, request: _Request) -> None:
        if request.is_automatic and not is_recording():
            self.answer("unrecorded")
            return
        missing = why_no_snapshot()
        try:
            self.answer(f"error {missing}" if missing else f"snapshot {write_snapshot(request.folder)}")
        except Exception as error:
            self.answer(f"error no snapshot was written: {type(error).__name__}: {error}")

    def _accept(self) -> bool:
        assert self._listener is not None
        try:
            client, _ = self._listener.accept()
        except OSError:
            return False
        client.setblocking(False)
        uid = _CREDENTIALS.unpack(client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[1]
        if uid not in (0, os.geteuid()):
            client.close()
            return False
        self._client, self._line = client, b""
        return True

    def _read_line(self) -> Optional[bytes]:
        """The request; None: it has not come, or the connection has ended."""
        assert self._client is not None
        try:
            more = self._client.recv(_LINE_MAX)
        except BlockingIOError:
            return None
        except OSError:
            more = b""
        self._line += more
        if not more or (b"\n" not in self._line and len(self._line) >= _LINE_MAX):
            self._hang_up()
            return None
        return self._line.partition(b"\n")[0] if b"\n" in self._line else None

    def _is_gone(self) -> bool:
        """Whether pmtop has closed the connection."""
        if self._client is None:
            return True
        try:
            return not self._client.recv(1)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _send(self, text: str) -> None:
        if self._client is not None:
            try:
                self._client.send(os.fsencode(text.replace("\n", " ") + "\n"), socket.MSG_NOSIGNAL)
            except OSError:
                pass

    def answer(self, text: str) -> None:
        """The last line of a request."""
        self._send(text)
        self._hang_up()

    def _hang_up(self) -> None:
        self._waiting = None
        client, self._client = self._client, None
        if client is not None:
            client.close()

    # -- the trace

    def _look_at_run(self, trains: bool) -> None:
        run = self._run
        if run is None:
            return
        if run.part.is_on and self._is_gone():
            run.give_up("pmtop has withdrawn its request")
        if not run.part.is_on:
            self._run = None
        elif trains and run.steps_taken != run.steps_said:
            run.steps_said = run.steps_taken
            self._send(f"step {run.steps_taken} {run.settings.active}")


class _Request:
    """steps: 0 for a snapshot. batch: the number of the first one in the trace, or None. every: if it is over, the one so many later. time_ms: no
    step before it. is_automatic: a snapshot that no user asked for."""

    def __init__(self, steps: int, folder: str, batch: Optional[int] = None, every: int = 0, time_ms: int = 0, is_automatic: bool = False) -> None:
        self.steps, self.folder, self.batch, self.every, self.time_ms, self.is_automatic = steps, folder, batch, every, time_ms, is_automatic

    def batches_left(self, number: int) -> int:
        """At the end of batch `number`, how many are between the earliest that a trace can begin with and the one that it shall begin with."""
        left = 0 if self.batch is None else self.batch - (number + 2)
        return left if left >= 0 else left % self.every if self.every else 0


class _RequestedRun(ProfileRun):
    """One trace, from the end of this batch, or some later. What it would say on standard error is the answer."""

    def __init__(self, requests: Requests, steps: int, folder: str, wait: int) -> None:
        self._requests = requests
        self.steps_said = -1
        settings = Profile(wait=wait, warmup=1, active=steps, repeat=1, record_shapes=True, output_dir=folder)
        super().__init__(settings, Part("traces"), requests.out, _nothing)

    def give_up(self, why: str) -> None:
        """Ends it without a trace."""
        self._say(why)
        self._abandon()

    def _folder(self) -> str:
        return os.fspath(self.settings.output_dir)

    def _wrote(self, path: str, rank: Optional[int]) -> None:
        self._requests.answer(f"trace {path}")

    def _say(self, text: str) -> None:
        self._requests.answer(f"error {text}")


def _nothing() -> None:
    pass


def _parse(line: bytes) -> _Request:
    text = os.fsdecode(line)
    if text.startswith(("snapshot 1 ", "snapshot 2 ")):
        return _Request(0, _absolute(text[len("snapshot 1 "):], "snapshot"), is_automatic=text.startswith("snapshot 2 "))
    words = text.split(" ", 6 if text.startswith("profile 2 ") else 3)
    is_timed = words[:2] == ["profile", "2"] and len(words) == 7 and words[3] in ("batch", "time") and words[4].isdigit() and words[5].isdigit()
    if not is_timed and (words[:2] != ["profile", "1"] or len(words) < 4):
        raise ValueError("the package does not know this request: use the pmtop and the package of one release")
    if not words[2].isdigit() or not 1 <= int(words[2]) <= STEPS_MAX:
        raise ValueError(f"a trace has 1 to {STEPS_MAX} steps")
    steps, folder = int(words[2]), _absolute(words[-1], "trace")
    if not is_timed:
        return _Request(steps, folder)
    number = int(words[4])
    return _Request(steps, folder, number, int(words[5])) if words[3] == "batch" else _Request(steps, folder, time_ms=number)


def _absolute(folder: str, what: str) -> str:
    if not os.path.isabs(folder):
        raise ValueError(f"the folder of a {what} is an absolute path")
    return folder


def _listen() -> tuple[socket.socket, str]:
    """A listening socket and its path. It gets its name once it listens, so a name without a listener is left over."""
    uid = os.geteuid()
    runtime = f"/run/user/{uid}"
    folder = os.path.join(runtime, "pmtop") if _is_private(runtime) else f"/tmp/pmtop-{uid}"
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    if not _is_private(folder):
        raise PermissionError(f"{folder} is not a private folder of this user: remove it")
    _remove_left_over(folder)
    path = os.path.join(folder, f"profile.{os.getpid()}")
    beside = f"{path}.{time.monotonic_ns()}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(listener.fileno(), 0o600)
        listener.bind(beside)
        listener.listen(4)
        listener.setblocking(False)
        os.rename(beside, path)
    except BaseException:
        listener.close()
        raise
    return listener, path


def _remove_left_over(folder: str) -> None:
    """Removes the sockets of killed programs. A number that is free here may be in use in another PID namespace: such a socket answers."""
    for name in os.listdir(folder):
        number = name.partition(".")[2].partition(".")[0]
        if not name.startswith("profile.") or not number.isdigit() or os.path.isdir(f"/proc/{number}"):
            continue
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
            try:
                probe.connect(os.path.join(folder, name))
            except ConnectionRefusedError:
                os.unlink(os.path.join(folder, name))
            except OSError:
                pass


def _is_private(folder: str) -> bool:
    """Whether it is a folder, and no link, of this user alone."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
