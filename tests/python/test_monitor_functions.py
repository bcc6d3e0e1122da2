"""track_performance and monitor_performance, beside what test_monitor.py says of blocks."""
import asyncio
import functools
import inspect
import pickle
import re

import pmtop
import pytest
from monitors import is_well_nested, reported, world  # noqa: F401 (fixtures)


def test_decorated_functions_stay_what_they_are(capsys):
    class Trainer:
        @pmtop.monitor_performance
        def step(self, a, *, b=2):
            """Doc."""
            return a + b

        @classmethod
        @pmtop.monitor_performance("made")
        def make(cls):
            return cls()

    assert Trainer.make().step(1, b=3) == 4
    assert Trainer.step.__doc__ == "Doc." and list(inspect.signature(Trainer.step).parameters) == ["self", "a", "b"]
    assert re.findall(r"\] (.*?): ", capsys.readouterr().out) == ["made", "Trainer.step"]


@pmtop.monitor_performance()
def module_level(value):
    if value is None:
        raise ValueError("none")
    return value


def test_decorated_functions_pickle_and_raise(capsys):
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    with pytest.raises(ValueError, match="none"):
        module_level(None)
    assert capsys.readouterr().out.startswith("[Performance] module_level: ")
    assert not any(callable(value) and inspect.isgeneratorfunction(value) for value in (module_level,))
    pmtop.monitor_performance(functools.partial(module_level, 1))()
    assert capsys.readouterr().out.count("\n") == 2


def test_a_coroutine_is_measured_to_its_end(world, reported, capsys):
    @pmtop.monitor_performance("fetch")
    async def fetch(value):
        await asyncio.sleep(0)
        world.work(2)
        return value
    assert inspect.iscoroutinefunction(fetch)

    async def main():
        return await asyncio.gather(fetch(1), fetch(2))
    assert asyncio.run(main()) == [1, 2]
    assert capsys.readouterr().out.count("[Performance] fetch: ") == 2
    is_well_nested([event for event in reported if event[0] != "past"])
    assert len(reported) == 3 and reported.count(("past", "fetch")) == 1


def test_of_a_generator_the_time_within_counts(world, reported, capsys):
    seen = []

    @pmtop.monitor_performance("rows")
    def rows():
        try:
            world.work(1, cpu_mb=1)
            seen.append((yield 1))
            world.work(2)
            try:
                yield 2
            except KeyError as error:
                seen.append(type(error))
            world.work(4, cpu_mb=2)
            return 3
        finally:
            world.work(0.5)
            seen.append("closed")
    assert inspect.isgeneratorfunction(rows)
    items = rows()
    assert next(items) == 1
    world.work(100)
    assert items.send("sent") == 2
    assert capsys.readouterr().out == ""
    with pytest.raises(StopIteration) as end:
        items.throw(KeyError("x"))
    assert end.value.value == 3 and seen == ["sent", KeyError, "closed"]
    assert capsys.readouterr().out == "[Performance] rows: 7.500s, CPU +3.0MB\n"
    assert reported == [("begin", "rows"), ("end", "rows")] * 3

    left = rows()
    next(left)
    left.close()
    assert seen[3:] == ["closed"] and capsys.readouterr().out == "[Performance] rows: 1.500s, CPU +1.0MB\n"

    @pmtop.monitor_performance
    def broken():
        yield 1
        raise OSError
    with pytest.raises(OSError):
        list(broken())


def test_of_an_async_generator_the_time_within_counts(world, capsys):
    seen = []

    @pmtop.monitor_performance("pages")
    async def pages():
        try:
            for number in range(3):
                world.work(1)
                await asyncio.sleep(0)
                try:
                    seen.append((yield number))
                except KeyError:
                    seen.append("thrown")
        finally:
            world.work(0.25)
            seen.append("closed")
    assert inspect.isasyncgenfunction(pages)

    async def main():
        async for _ in pages():
            world.work(50)
        items = pages()
        await items.__anext__()
        assert await items.asend("sent") == 1
        assert await items.athrow(KeyError()) == 2
        await items.aclose()
    asyncio.run(main())
    assert seen == [None, None, None, "closed", "sent", "thrown", "closed"]
    assert capsys.readouterr().out == "[Performance] pages: 3.250s, CPU +0.0MB\n" * 2


def test_a_result_may_be_asked_for_instead_of_printed(world, capsys):
    with pmtop.track_performance("quiet", print_result=False) as block:
        world.work(0.25)
    assert capsys.readouterr().out == "" and block.metric.duration_seconds == 0.25
