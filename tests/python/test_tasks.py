"""Spans and requests of coroutines: each task has its own, whatever the others of its thread do meanwhile."""
import asyncio
import contextvars
import json
import os
import sys
import threading
import time

import pytest

import pmtop
import region_events
import watching

SERVICE = """
import asyncio, json, time

import pmtop

pmtop.init("service", slots=8192)
times = {"fast": [], "slow": []}


async def handle(i):
    kind = "slow" if i % 11 == 0 else "fast"
    begin = time.perf_counter()
    try:
        with pmtop.request("GET /%s/%d" % (kind, i)):
            with pmtop.span("db"):
                await asyncio.sleep(0.0504 if kind == "slow" else 0.0051)
            if i % 40 == 7:
                raise ValueError("bad request")
    except ValueError:
        pass
    times[kind].append(time.perf_counter() - begin)


async def main():
    await asyncio.gather(*[handle(i) for i in range(440)])


asyncio.run(main())
time.sleep(0.3)
print(json.dumps(times))
"""


def test_concurrent_requests_are_all_there_with_their_own_times():
    seen = watching.watch(SERVICE)
    shown, times = seen.last["requests"], seen.truth
    assert shown["count"] == 440
    assert shown["failed"] == 11
    assert {row["pattern"]: (row["count"], row["failed"]) for row in shown["patterns"]} == {"GET /fast/*": (400, 10), "GET /slow/*": (40, 1)}
    for row in shown["patterns"]:
        truth = times[row["pattern"].split("/")[1]]
        assert row["mean_s"] >= (0.0051 if "fast" in row["pattern"] else 0.0504) - 1e-4
        assert watching.close_to(row["mean_s"], sum(truth) / len(truth), 0.02, 3e-3), row
        assert watching.close_to(row["max_s"], max(truth), 0.1, 30e-3), row
    rows = {(row["name"], row["depth"]): row["count"] for row in seen.last["operations"]}
    assert rows[("GET /fast/*", 0)] == 400 and rows[("GET /slow/*", 0)] == 40
    assert sum(row["count"] for row in seen.last["operations"] if row["name"] == "db" and row["depth"] == 1) == 440


@pytest.fixture
def region():
    """Opens a region; called, it reads what was published, at its end also what the stack holds."""
    pmtop.close()
    assert pmtop.init("tasks")
    yield lambda: region_events.Region(os.getpid())
    pmtop.close()


def spans(region, name=None):
    """(name, parent, depth, seconds) of the spans, in the order of their ends."""
    read = region()
    out = []
    for event in read.of(region_events.SPAN, name):
        out.append((event.name, read.name(event.payload[2] & 0xFFFFFFFF), event.payload[2] >> 32, event.payload[0] * 1e-9))
    return out


def shape(region):
    return sorted((name, parent or "", depth) for name, parent, depth, _ in spans(region))


def open_spans(region):
    read = region()
    offset, size, count = read.sections[region_events.LANES]
    return sum(int.from_bytes(read.data[offset + size * i + 16:offset + size * i + 20], "little") for i in range(count))


async def sleeping(name, seconds):
    with pmtop.span(name):
        await asyncio.sleep(seconds)


def test_spans_of_tasks_that_take_turns_have_their_own_times(region):
    least, most = {}, {}

    async def measured(name, seconds):
        outer = time.monotonic()
        with pmtop.span(name):
            inner = time.monotonic()
            await asyncio.sleep(seconds)
            least[name] = time.monotonic() - inner
        most[name] = time.monotonic() - outer

    async def main():
        await asyncio.gather(measured("long", 0.3), measured("short", 0.02), measured("middle", 0.1))

    asyncio.run(main())
    assert shape(region) == [("long", "", 0), ("middle", "", 0), ("short", "", 0)]
    for name, _, _, seconds in spans(region):
        assert least[name] - 1e-6 <= seconds <= most[name] + 1e-6, name
    assert open_spans(region) == 0


def test_what_a_request_starts_lies_in_it(region):
    def in_thread():
        with pmtop.span("thread"):
            time.sleep(0.001)

    async def handle(i):
        with pmtop.request("GET /%d" % i):
            with pmtop.span("parse"):
                await asyncio.sleep(0.001)
            await asyncio.gather(sleeping("db", 0.02), sleeping("cache", 0.01))
            await asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, in_thread)

    async def main():
        await asyncio.gather(*[handle(i) for i in range(3)])

    asyncio.run(main())
    expected = [("GET /*", "", 0)] * 3 + [(name, "GET /*", 1) for name in ("cache", "db", "parse", "thread") for _ in range(3)]
    assert shape(region) == sorted(expected)
    assert open_spans(region) == 0


def test_self_time_is_what_no_child_covers(region):
    async def main():
        with pmtop.span("parent"):
            await asyncio.gather(sleeping("a", 0.2), sleeping("b", 0.2))
            await asyncio.sleep(0.1)

    asyncio.run(main())
    (parent,) = region().of(region_events.SPAN, "parent")
    assert 0.09e9 < parent.payload[1] < parent.payload[0] - 0.15e9


def test_task_group_timeouts_and_cancelled_tasks(region):
    async def main():
        tasks = [asyncio.ensure_future(sleeping("cancelled", 30)) for _ in range(5)]

        async def asked():
            with pmtop.request("GET /cancelled"):
                await asyncio.sleep(30)

        tasks.append(asyncio.ensure_future(asked()))
        await asyncio.sleep(0.02)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(sleeping("late", 30), 0.02)
        if sys.version_info >= (3, 11):
            async with asyncio.TaskGroup() as group:
                for _ in range(2):
                    group.create_task(sleeping("grouped", 0.01))
        else:
            await asyncio.gather(sleeping("grouped", 0.01), sleeping("grouped", 0.01))
        with pmtop.span("after"):
            pass

    asyncio.run(main())
    counts = {}
    for name, parent, depth, seconds in spans(region):
        counts[name] = counts.get(name, 0) + 1
        assert seconds < 10
        assert (parent, depth) == (("GET /cancelled", 1) if name == "error" else (None, 0))
    assert counts == {"cancelled": 5, "GET /cancelled": 1, "error": 1, "late": 1, "grouped": 2, "after": 1}
    assert open_spans(region) == 0


def test_a_span_that_outlives_the_one_around_it(region):
    async def main():
        with pmtop.span("outer"):
            task = asyncio.ensure_future(sleeping("background", 0.1))
            await asyncio.sleep(0.01)
        with pmtop.span("next"):
            await asyncio.sleep(0.01)
        await task

    asyncio.run(main())
    assert shape(region) == [("background", "outer", 1), ("next", "", 0), ("outer", "", 0)]
    assert {name: s for name, _, _, s in spans(region)}["background"] > 0.09
    assert [event.name for event in region().of(region_events.SPAN)].index("outer") == 0
    assert open_spans(region) == 0


def test_generators_that_are_closed_elsewhere(region):
    def numbers():
        with pmtop.span("generator"):
            yield 1
            yield 2

    async def stream():
        with pmtop.span("stream"):
            for i in range(5):
                await asyncio.sleep(0.001)
                yield i

    async def main():
        async for _ in stream():
            break
        left = numbers()
        next(left)

        async def close():
            left.close()

        await asyncio.gather(close(), sleeping("beside", 0.01))
        assert [i async for i in stream()] == list(range(5))

    asyncio.run(main())
    counts = {}
    for name, _, _, _ in spans(region):
        counts[name] = counts.get(name, 0) + 1
    assert counts == {"stream": 2, "generator": 1, "beside": 1}
    assert open_spans(region) == 0


def test_span_begin_and_past_lie_in_the_request_of_their_task(region):
    async def handle(i):
        with pmtop.request("GET /"):
            await asyncio.sleep(0.001)
            pmtop.span_begin("begun")
            await asyncio.sleep(0.001 * i)
            pmtop.span_end()
            begin = pmtop.now_ns()
            await asyncio.sleep(0.001)
            pmtop.span_past("past", begin, pmtop.now_ns())
            pmtop.span_begin("left open")

    async def main():
        await asyncio.gather(*[handle(i) for i in range(4)])

    asyncio.run(main())
    assert shape(region) == sorted([("GET /", "", 0)] * 4 + [(name, "GET /", 1) for name in ("begun", "past", "left open")] * 4)
    assert open_spans(region) == 0


def test_requests_are_outermost_whatever_is_open_around_their_loop(region):
    async def handle():
        with pmtop.request("GET /"):
            with pmtop.request("GET /inner"):
                await asyncio.sleep(0.01)

    async def main():
        with pmtop.span("serving"):
            await asyncio.gather(handle(), handle())

    with pmtop.span("program"):
        asyncio.run(main())
    assert shape(region) == sorted([("GET /", "", 0), ("GET /inner", "GET /", 1)] * 2 + [("serving", "program", 1), ("program", "", 0)])


def test_threads_beside_a_loop_keep_their_own_stacks(region):
    ready, go_on = threading.Event(), threading.Event()

    def beside():
        with pmtop.span("plain"):
            ready.set()
            go_on.wait(30)
            with pmtop.span("within"):
                pass

    async def main():
        thread = threading.Thread(target=beside)
        with pmtop.request("GET /"):
            with pmtop.span("plain"):
                await asyncio.sleep(0.001)
                thread.start()
                await asyncio.get_running_loop().run_in_executor(None, ready.wait)
            go_on.set()
            await asyncio.get_running_loop().run_in_executor(None, thread.join)

    asyncio.run(main())
    assert shape(region) == sorted([("GET /", "", 0), ("plain", "GET /", 1), ("plain", "", 0), ("within", "plain", 1)])


def test_any_scheduler_that_gives_tasks_a_context_of_their_own(region):
    class Pause:
        def __await__(self):
            yield

    async def handle(name, turns):
        with pmtop.request(name):
            with pmtop.span("work"):
                for _ in range(turns):
                    await Pause()

    waiting = [(handle("GET /%s" % name, turns), contextvars.copy_context()) for name, turns in (("a", 3), ("b", 1), ("c", 2))]
    while waiting:
        task, context = waiting.pop(0)
        try:
            context.run(task.send, None)
            waiting.append((task, context))
        except StopIteration:
            pass
    assert shape(region) == sorted([("GET /" + name, "", 0) for name in "abc"] + [("work", "GET /" + name, 1) for name in "abc"])
    assert open_spans(region) == 0


def test_what_is_open_in_a_loop_is_shown_while_it_is(region):
    async def main():
        with pmtop.span("open"):
            await asyncio.sleep(0.001)
            assert open_spans(region) == 1

    asyncio.run(main())
    assert open_spans(region) == 0


def test_a_child_forked_in_a_task_begins_anew(region):
    async def main():
        with pmtop.request("GET /"):
            await asyncio.sleep(0.001)
            pid = os.fork()
            if pid == 0:
                try:
                    with pmtop.span("child"):
                        pass
                    names = shape(region)
                    pmtop.close()
                    os._exit(0 if names == [("child", "", 0)] else 1)
                except BaseException:
                    os._exit(2)
            assert os.waitpid(pid, 0)[1] == 0

    asyncio.run(main())
    assert shape(region) == [("GET /", "", 0)]


def test_wherever_nothing_is_published_requests_do_nothing():
    script = watching.run("""
import asyncio
import pmtop
async def handle():
    with pmtop.request("GET /"), pmtop.span("a"):
        pmtop.span_begin("b")
        await asyncio.sleep(0)
        pmtop.span_end()
asyncio.run(handle())
print("{}")
""", env={"PMTOP": "0"})
    assert json.loads(script.out()) == {} and not script.err()
