"""Requests of a service: `with pmtop.request("GET /user/17")`."""
import os
import re
from typing import Any

try:
    from . import _pmtop
except ImportError:
    from . import _nothing as _pmtop  # type: ignore[no-redef]
from . import _tasks

# As request_pattern in pmtop itself: numbers, hexadecimal words and UUIDs. Names in a region are few and stay, so they are made alike here.
_VARIES = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9]+|0[xX][0-9a-fA-F]+"
    r"|(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,})(?![0-9A-Za-z])"
)
_PATTERNS_MOST = 64
_patterns: set[str] = set()


def pattern(name: str) -> str:
    """"GET /user/17" is "GET /user/*"; "other" where there are too many of them."""
    if not isinstance(name, str):
        raise TypeError("name must be a str, not %r" % type(name))
    short = _VARIES.sub("*", name)
    if short not in _patterns:
        if len(_patterns) >= _PATTERNS_MOST:
            return "other"
        _patterns.add(short)
    return short


class Request:
    """A span of mode "inference"; it failed where an exception leaves it (a cancelled task's too). Each task of asyncio has its own."""

    __slots__ = ("_span",)

    def __init__(self, name: str) -> None:
        self._span = _pmtop.span(pattern(name))

    def __enter__(self) -> "Request":
        _set_mode()
        if not _tasks.begin_request(self, self._span):
            self._span.__enter__()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if _tasks.end_request(self, kind is not None):
            return
        if kind is not None:
            now = _pmtop.now_ns()
            _pmtop.span_past("error", now, now)
        self._span.__exit__(kind, value, trace)


_mode_of = 0


def begin_anew() -> None:
    """A new region knows no mode yet."""
    global _mode_of
    _mode_of = 0


def _set_mode() -> None:
    """Once in a process and region: a service that also trains says itself what goes on, by mode()."""
    global _mode_of
    if _mode_of != os.getpid():
        _mode_of = os.getpid()
        _pmtop.mode("inference")
