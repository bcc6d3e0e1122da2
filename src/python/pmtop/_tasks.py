"""Spans and requests of coroutines, each in its own task.

Tasks share a thread and interleave while their spans are open, so their spans do not nest on the thread's stack of spans. Here each context (of a
task, or of a thread that asyncio.to_thread() runs) has its innermost open span, and a span is published when it is over, with its own begin, end
and parent. While it nests correctly on the thread's stack it is on that stack, too, so that pmtop shows the open spans.

The compiled part calls begin() and end() only if an event loop runs, or if a span of a task is open in the context.
"""
import contextvars
import os
import sys
import threading
from time import monotonic_ns
from typing import Any, Dict, List, Optional

try:
    from . import _pmtop
except ImportError:
    from . import _nothing as _pmtop  # type: ignore[no-redef]

STACK_MAX = 16
_BY_WITH, _BY_CALL, _BY_HOOK, _BY_REQUEST = range(4)
_COROUTINE = 0x80 | 0x100 | 0x200  # code flags: coroutine, types.coroutine, async generator


class _Node:
    """A span of a task, open or finished."""

    __slots__ = (
        "name", "how", "owner", "parent", "depth", "begin_ns", "is_over", "has_failed", "marks_failure", "stack", "pid", "thread",
        "children", "busy_from_ns", "inner_ns", "has_children_apart",
    )  # fmt: skip


_innermost: "contextvars.ContextVar[Optional[_Node]]" = contextvars.ContextVar("pmtop_task_span", default=None)
_opened: Dict[int, List[_Node]] = {}  # by owner, for ends in another context (a generator that is closed elsewhere)
_pid = os.getpid()


class _Stack(threading.local):
    """The nodes that are on this thread's stack in the region, outermost first."""

    def __init__(self) -> None:
        self.nodes: List[_Node] = []


_stack = _Stack()


def _after_fork_in_child() -> None:
    global _pid
    _pid = os.getpid()
    _stack.nodes.clear()
    _pmtop.tasks_opened(-sum(map(len, _opened.values())))
    _opened.clear()
    _innermost.set(None)


os.register_at_fork(after_in_child=_after_fork_in_child)


def _open(node: Optional[_Node]) -> Optional[_Node]:
    while node is not None and (node.is_over or node.pid != _pid):
        node = node.parent
    return node


def _enclosing_request(node: Optional[_Node]) -> Optional[_Node]:
    while node is not None and node.how != _BY_REQUEST:
        node = _open(node.parent)
    return node


def _begin(owner: Any, span: Any, name: str, how: int) -> _Node:
    parent = _open(_innermost.get())
    if how == _BY_REQUEST:
        parent = _enclosing_request(parent)  # A request is outermost even within a span such as "serve".
    if parent is not None:
        parent.parent = _open(parent.parent)  # Keeps the chain short if spans overlap endlessly.
    node = _Node()
    node.name, node.how, node.owner, node.parent, node.pid = name, how, owner, parent, _pid
    node.thread = threading.get_ident()
    node.is_over = node.has_failed = node.has_children_apart = False
    node.children = node.inner_ns = 0
    nodes = _stack.nodes
    if parent is not None:
        node.depth = parent.depth + 1
    elif how == _BY_REQUEST:
        node.depth = 0  # Ignores spans that enclose the event loop.
    else:
        node.depth = max(0, _pmtop.stack_depth() - len(nodes))
    node.marks_failure = name == "error" and _enclosing_request(parent) is not None
    node.stack = None
    is_next = (nodes[-1] if nodes else None) is parent and len(nodes) < STACK_MAX and not node.marks_failure
    if is_next and (how != _BY_REQUEST or parent is not None or not _pmtop.stack_depth()):
        _pmtop.stack_begin(span)
        node.stack = nodes
        nodes.append(node)
    node.begin_ns = monotonic_ns()
    if parent is not None:
        if not parent.children:
            parent.busy_from_ns = node.begin_ns
        parent.children += 1
        parent.has_children_apart |= node.stack is None
    _opened.setdefault(id(owner), []).append(node)
    _innermost.set(node)
    _pmtop.tasks_opened(1)
    return node


def _end(node: _Node) -> None:
    end_ns = monotonic_ns()
    node.is_over = True
    _pmtop.tasks_opened(-1)
    opened = _opened.get(id(node.owner))
    if opened is not None:
        opened.remove(node)
        if not opened:
            del _opened[id(node.owner)]
    innermost = _innermost.get()
    if innermost is node or (innermost is not None and innermost.is_over):
        _innermost.set(_open(node.parent if innermost is node else innermost))
    parent = node.parent
    if parent is not None and parent.children:
        parent.children -= 1
        if not parent.children:
            parent.inner_ns += max(0, end_ns - parent.busy_from_ns)
    _publish(node, end_ns)


def _publish(node: _Node, end_ns: int) -> None:
    if node.marks_failure:
        request = _enclosing_request(_open(node.parent))
        if request is not None:
            request.has_failed = True
        return
    nodes = _stack.nodes
    is_on_top = node.stack is nodes and bool(nodes) and nodes[-1] is node
    if node.has_failed:
        # Directly before the request itself, so that it belongs to no other.
        _pmtop.task_span("error", end_ns, end_ns, 0, node.name, node.depth + 1)
    if is_on_top and not node.has_children_apart:
        nodes.pop()
        _pmtop.stack_end()
    else:
        if is_on_top:
            nodes.pop()
            _pmtop.stack_drop()
        inner_ns = node.inner_ns + (end_ns - node.busy_from_ns if node.children else 0)
        parent = node.parent.name if node.parent is not None else ""
        _pmtop.task_span(node.name, node.begin_ns, end_ns, inner_ns, parent, node.depth)
    # A span that ended below others, or in another thread, leaves the stack as soon as it is on top.
    while nodes and nodes[-1].is_over:
        nodes.pop()
        _pmtop.stack_drop()


def _find(owner: Any, how: int) -> Optional[_Node]:
    """The innermost open node of this context that `owner` began; if it began in another context, the last one that it began."""
    node = _open(_innermost.get())
    while node is not None:
        if node.owner is owner if owner is not None else node.how == how:
            return node
        if how == _BY_CALL and node.how in (_BY_WITH, _BY_REQUEST):
            return None  # span_end() does not end an enclosing `with`.
        node = _open(node.parent)
    opened = _opened.get(id(owner), ()) if owner is not None else ()
    if opened and opened[-1].how == _BY_REQUEST:
        return opened[-1]
    if opened and (_pmtop.is_in_loop() or not _pmtop.stack_depth()):
        here = threading.get_ident()
        return next((node for node in reversed(opened) if node.thread == here), None)
    return None


def _end_with_open_children(node: _Node) -> None:
    """A span_begin() without span_end() inside a `with` ends with the `with`."""
    inner = _open(_innermost.get())
    left = []
    while inner is not None and inner is not node:
        left.append(inner)
        inner = _open(inner.parent)
    if inner is node:
        for one in left:
            if one.how == _BY_CALL:
                _end(one)
    _end(node)


def begin(span: Any, how: int) -> bool:
    """Returns whether the span belongs to the task; else it belongs to the thread."""
    if _open(_innermost.get()) is None and (how == _BY_CALL or not _pmtop.is_in_loop()):
        return False
    _begin(span, span, span.name, how)
    return True


def end(span: Any, how: int) -> bool:
    node = _find(span, how)
    if node is None:
        return False
    _end_with_open_children(node)
    return True


def past(name: str, begin_ns: int, end_ns: int) -> bool:
    parent = _open(_innermost.get())
    if parent is None:
        return False
    request = _enclosing_request(parent) if name == "error" else None
    if request is not None:
        request.has_failed = True  # Published with the request's end.
        return True
    end_ns = min(end_ns, monotonic_ns())
    begin_ns = max(min(begin_ns, end_ns), parent.begin_ns)
    if not parent.children:
        parent.inner_ns += max(0, end_ns - begin_ns)
    parent.has_children_apart = True
    _pmtop.task_span(name, begin_ns, max(begin_ns, end_ns), 0, parent.name, parent.depth + 1)
    return True


def begin_request(request: Any, span: Any) -> bool:
    """The same for a request, which also belongs to a task if a coroutine begins it, in any scheduler."""
    if not (_pmtop.is_in_task() or sys._getframe(2).f_code.co_flags & _COROUTINE):
        return False
    if not _pmtop.is_open():
        return False
    _begin(request, span, span.name, _BY_REQUEST)
    return True


def end_request(request: Any, has_failed: bool) -> bool:
    if id(request) not in _opened:
        return False
    node = _find(request, _BY_REQUEST)
    if node is None:
        return False
    node.has_failed |= has_failed
    _end_with_open_children(node)
    return True


def _other_loop_runs() -> bool:
    """Whether trio or curio runs: they set these hooks of their thread."""
    return sys.get_asyncgen_hooks().firstiter is not None


_pmtop.connect_tasks(begin, end, past, _innermost.get, _other_loop_runs)
