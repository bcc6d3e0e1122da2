"""A thread that calls functions at their intervals while blocks are open. It sleeps otherwise, and ends when no block has begun for a while."""
import os
import sys
import threading
from time import monotonic
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

_IDLE_S = 1.0

IGNORED = (os.path.dirname(os.path.abspath(__file__)) + os.sep,)
"""Folders of code that no line profile names: pmtop's own."""


class Sampler:
    """tasks: pairs of an interval (s) and a function. An error of a function ends its calls, with one line on standard error."""

    def __init__(self, tasks: List[Tuple[float, Callable[[], None]]]) -> None:
        self._tasks = list(tasks)
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._open = 0
        self._thread: Optional[threading.Thread] = None
        self._process = os.getpid()

    def begin(self) -> None:
        """A block begins."""
        if self._process != os.getpid():
            self._reset()
        if not self._tasks:
            return
        with self._changed:
            self._open += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="pmtop-sampler", daemon=True)
                self._thread.start()
            elif self._open == 1:
                self._changed.notify()

    def end(self) -> None:
        """A block ends."""
        if self._tasks and self._process == os.getpid():
            with self._changed:
                self._open = max(0, self._open - 1)

    def _run(self) -> None:
        due = [monotonic() + interval_s for interval_s, _ in self._tasks]
        while True:
            with self._changed:
                if not self._open and not self._changed.wait_for(lambda: self._open, _IDLE_S):
                    self._thread = None
                    return
                self._changed.wait(max(0.0, min(due) - monotonic()) if due else _IDLE_S)
                if not self._open:
                    continue
            now = monotonic()
            for index, (interval_s, task) in enumerate(self._tasks):
                if now >= due[index]:
                    due[index] = max(due[index] + interval_s, now)
                    self._call(task)

    def _call(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception as error:
            self._tasks = [pair for pair in self._tasks if pair[1] is not task]
            print(f"pmtop: sampling stopped: {type(error).__name__}: {error}; the program continues", file=sys.stderr)


class LineTime(NamedTuple):
    """A line of the program, and the time in it and in what it called."""

    file: str
    line_number: int
    function: str
    time_s: float
    time_percent: float
    """Of the time of all lines."""


class Lines:
    """Times by line, from samples of the stacks of threads: each sample counts for the time since the one before.

    A sample counts for the innermost line of the program itself: not in Python's library, in installed packages or in pmtop."""

    LINES_MAX = 10_000

    def __init__(self) -> None:
        self._times: Dict[Tuple[str, int, str], float] = {}
        self._last: Dict[int, float] = {}

    def sample(self, threads: List[int], longest_s: float) -> None:
        """longest_s: a sample counts for at most this time."""
        now, frames = monotonic(), sys._current_frames()
        frames.pop(threading.get_ident(), None)  # this frame would hold itself, and the local variables of all threads
        for thread in threads:
            before = self._last.get(thread)
            key = _line_of(frames.get(thread))
            if before is not None and key is not None and (key in self._times or len(self._times) < self.LINES_MAX):
                self._times[key] = self._times.get(key, 0.0) + min(now - before, longest_s)
        self._last = dict.fromkeys(threads, now)

    def forget_threads(self) -> None:
        """No block is open: the time to the next sample counts for no line."""
        self._last = {}

    def report(self) -> List[LineTime]:
        """The lines, longest first."""
        times = sorted(self._times.copy().items(), key=lambda pair: -pair[1])
        total = sum(seconds for _, seconds in times)
        return [LineTime(*key, seconds, 100 * seconds / total) for key, seconds in times if total]


_LIBRARIES = tuple(folder + os.sep for folder in {os.path.dirname(os.path.abspath(os.__file__)), os.path.dirname(os.path.realpath(os.__file__))})
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)


def _is_own(file: str) -> bool:
    """Whether a file is the program's, not a library's."""
    return not (file.startswith((*_LIBRARIES, *IGNORED, "<frozen", "<string>")) or any(part in file for part in _PACKAGES))


def _line_of(frame: object) -> Optional[Tuple[str, int, str]]:
    innermost = None
    while frame is not None:
        file, line = frame.f_code.co_filename, frame.f_lineno or 0  # type: ignore[attr-defined]
        here = (file, line, frame.f_code.co_name)  # type: ignore[attr-defined]
        if _is_own(file):
            return here
        innermost = innermost or here
        frame = frame.f_back  # type: ignore[attr-defined]
    return innermost
