"""Requests of a service: `with pmtop.request("GET /user/17")`."""
import os
import re
from typing import Any

try:
    from . import _pmtop
except ImportError:
    from . import _nothing as _pmtop  # type: ignore[no-redef]
from . import _tasks

# The same rule as request_pattern() in pmtop: numbers, hexadecimal words and UUIDs. The region's name table is small and names are never removed,
# so requests are grouped before they are published.
_VARIES = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9]+|0[xX][0-9a-fA-F]+"
    r"|(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,})(?![0-9A-Za-z])"
)
_PATTERNS_MAX = 64
_patterns: set[str] = set()


def pattern(name: str) -> str:
    """"GET /user/17" becomes "GET /user/*"; "other" if there are too many patterns."""
    if not isinstance(name, str):
        raise TypeError("name must be a str, not %r" % type(name))
    short = _VARIES.sub("*", name)
    if short not in _patterns:
        if len(_patterns) >= _PATTERNS_MAX:
            return "other"
        _patterns.add(short)
    return short


class Request:
    """A span in the mode "inference". A request that an exception leaves has failed, also by cancelling its task. Each task has its own requests."""

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


def reset_mode() -> None:
    """A new region has no mode yet."""
    global _mode_of
    _mode_of = 0


def _set_mode() -> None:
    """Sets the mode once per process and region: a service that also trains calls mode() itself."""
    global _mode_of
    if _mode_of != os.getpid():
        _mode_of = os.getpid()
        _pmtop.mode("inference")
