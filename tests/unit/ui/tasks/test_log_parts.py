"""The parts of the log stream: the join by time, the tail, and the bound between readers and viewer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_client.logs.selection import Filter, LogSelection
from torpor_client.logs.source import LogLine, LogSource, SourceKey
from torpor_ui.logs import log_follower
from torpor_ui.logs.joined_logs import joined
from torpor_ui.logs.log_follower import LogFollower
from torpor_ui.logs.log_reader import ListedLogs, LogReader
from torpor_ui.logs.tail import LogTail
from torpor_views.instance import InstanceView
from torpor_wire.enums import LogKind

from tests.unit.views.objects import taskrun


def source(attempt: int = 1, start: int = 0, *, running: bool = False) -> LogSource:
    key = SourceKey("load", (), attempt, 0, 0, LogKind.POD)
    return LogSource(key=key, start=start, id=f"p{attempt}", pod=f"pod-{attempt}", running=running)


class OpenLogs:
    """Logs with the times of their lines; counts those that are open."""

    def __init__(self, logs: dict[str, list[int]]) -> None:
        self.logs = logs
        self.open = 0
        self.most = 0

    async def __call__(self, of: LogSource) -> AsyncGenerator[LogLine, None]:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            for at in self.logs[of.id]:
                yield LogLine(at, of, str(at))
        finally:
            self.open -= 1


@given(st.lists(st.lists(st.integers(0, 100), max_size=8), max_size=6))
def test_logs_are_joined_in_the_order_of_time(times: list[list[int]]) -> None:
    ordered = [sorted(each) for each in times]
    sources = [source(number, each[0] if each else 0) for number, each in enumerate(ordered)]
    logs = OpenLogs({f"p{number}": each for number, each in enumerate(ordered)})

    async def read() -> list[int]:
        async with aclosing(joined(sources, logs)) as lines:
            return [line.at async for line in lines]

    assert asyncio.run(read()) == sorted(at for each in times for at in each)
    assert logs.open == 0


async def test_attempts_that_follow_each_other_have_one_connection_at_a_time() -> None:
    logs = OpenLogs({f"p{number}": [number * 10, number * 10 + 1] for number in range(50)})
    sources = [source(number, number * 10) for number in range(50)]
    async with aclosing(joined(sources, logs)) as lines:
        assert len([line async for line in lines]) == 100
    assert logs.most <= 2


async def test_a_reader_who_leaves_closes_all_logs() -> None:
    logs = OpenLogs({"p1": [1, 2, 3], "p2": [1, 2, 3]})
    async with aclosing(joined([source(1), source(2)], logs)) as lines:
        await anext(lines)
    assert logs.open == 0


def test_a_tail_is_bounded_by_lines_and_by_characters() -> None:
    tail = LogTail(lines_max=3, characters_max=10)
    for number in range(5):
        tail.add(LogLine(number, source(), "x"))
    assert ([line.at for line in tail.lines], tail.left_out) == ([2, 3, 4], 2)
    tail.add(LogLine(9, source(), "y" * 10))
    assert ([line.at for line in tail.lines], tail.left_out) == ([9], 5)


class EndlessReader:
    """One running pod that writes without end."""

    def __init__(self) -> None:
        self.written = 0

    async def listed(self, chosen: Filter) -> ListedLogs:
        return ListedLogs(selected=LogSelection(sources=(source(running=True),)))

    async def lines(self, of: LogSource, *_: Any, **__: Any) -> AsyncGenerator[LogLine, None]:
        yield LogLine(0, of, "first")

    async def follow(self, of: LogSource, *_: Any) -> AsyncGenerator[LogLine, None]:
        while True:
            self.written += 1
            yield LogLine(self.written, of, "x" * 100)
            await asyncio.sleep(0)

    async def is_running(self, of: LogSource) -> bool:
        return True


@pytest.mark.attack
async def test_a_viewer_that_does_not_read_stops_the_readers() -> None:
    reader, view = EndlessReader(), InstanceView.parse(taskrun("load", "Running"))
    follower = LogFollower(cast("LogReader", reader), Filter(), lambda: view)
    async with aclosing(follower.batches()) as batches:
        batch = await anext(batches)
        while not any(line.at for line in batch.lines):
            batch = await anext(batches)
        for _ in range(20_000):
            await asyncio.sleep(0)
        stopped = reader.written
        for _ in range(1000):
            await asyncio.sleep(0)
        assert reader.written == stopped
        assert stopped < 10_000


@pytest.mark.attack
async def test_a_batch_is_bounded() -> None:
    reader, view = EndlessReader(), InstanceView.parse(taskrun("load", "Running"))
    follower = LogFollower(cast("LogReader", reader), Filter(), lambda: view)
    async with aclosing(follower.batches()) as batches:
        sizes = [len((await anext(batches)).lines) for _ in range(6)]
    assert max(sizes) <= log_follower.BATCH_LINES
