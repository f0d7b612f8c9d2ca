"""One query for many waits: which waits share a poll, and when it happens."""

import asyncio
import sys
from typing import Any, ClassVar

import pytest
from torpor_triggerer.usercode import attribution

from tests.support.triggers.batch_triggers import Row, SharedPoll, shared_poll


async def test_all_waits_on_a_source_share_one_poll_per_interval() -> None:
    async with shared_poll(waits=1000) as poll:
        await poll.pass_time(35)
        assert poll.sizes() == [1000] * 4


async def test_waits_beyond_the_batch_size_are_split_into_polls() -> None:
    async with shared_poll(waits=2500) as poll:
        await poll.settle()
        assert poll.sizes() == [1000, 1000, 500]


async def test_only_waits_whose_row_exists_fire() -> None:
    async with shared_poll(waits=100) as poll:
        await poll.pass_time(5)
        poll.table.rows |= {7, 70, 700}
        await poll.pass_time(10)
        assert poll.outcomes() == {7: 7, 70: 70}
        await poll.pass_time(10)
        assert poll.sizes() == [100, 100, 98]


async def test_the_first_wait_is_polled_at_once_and_later_ones_together() -> None:
    async with shared_poll() as poll:
        poll.wait(0)
        await poll.settle()
        assert poll.sizes() == [1]
        for number in range(1, 100):
            poll.wait(number)
            await poll.settle()
        assert poll.sizes() == []
        await poll.pass_time(1)
        assert poll.sizes() == [99]
        await poll.pass_time(30)
        assert poll.sizes() == [100] * 3


async def test_a_wait_that_joins_during_a_poll_is_polled_right_after_it() -> None:
    async with shared_poll(latency=3.0) as poll:
        poll.wait(1)
        await poll.pass_time(1)
        poll.wait(2)
        await poll.pass_time(2.1)
        assert poll.table.polls == [[1], [2]]


async def test_a_wait_that_leaves_during_a_poll_delays_no_other() -> None:
    async with shared_poll(latency=3.0, rows={1, 2}) as poll:
        poll.wait(1, 2, 3)
        await poll.pass_time(1)
        poll.tasks[1].cancel()
        await poll.pass_time(3)
        assert poll.outcomes() == {2: 2}
        await poll.pass_time(10)
        assert poll.table.polls == [[1, 2, 3], [3]]


async def test_a_wait_that_leaves_between_two_polls_is_not_polled() -> None:
    async with shared_poll(waits=1500, latency=3.0) as poll:
        await poll.pass_time(1)
        poll.tasks[1499].cancel()
        await poll.pass_time(3)
        assert poll.sizes() == [1000, 499]


async def test_a_poll_without_waits_is_stopped_and_a_new_wait_gets_a_new_poll() -> None:
    async with shared_poll(latency=3.0, rows={1}) as poll:
        poll.wait(1)
        await poll.pass_time(1)
        poll.tasks[1].cancel()
        await asyncio.sleep(0)
        poll.wait(1)
        await poll.settle()
        assert len(poll.pollers) == 1
        await poll.pass_time(3)
        assert poll.outcomes() == {1: 1}
        await poll.pollers.ended()
        assert len(poll.pollers) == 0


async def test_each_wait_is_polled_about_as_often_as_its_own_interval() -> None:
    async with shared_poll() as poll:
        poll.wait(*range(10), interval=60.0)
        poll.wait(99, interval=5.0)
        await poll.pass_time(62)
        sizes = poll.sizes()
        assert sizes.count(1) == 11
        assert sizes.count(11) == 2


@pytest.mark.parametrize(
    ("other", "count"),
    [
        ({}, 1),
        ({"owner": ("other", "default")}, 2),
        ({"owner": ("workflows", "other")}, 2),
        ({"source": "other"}, 2),
        ({"source": None}, 2),
        ({"kind": type("Other", (Row,), {})}, 2),
    ],
)
async def test_only_waits_of_one_class_namespace_account_and_source_share(other: dict[str, Any], count: int) -> None:
    async with shared_poll() as poll:
        poll.wait(1)
        poll.wait(2, **other)
        await poll.settle()
        assert len(poll.sizes()) == count


async def test_waits_without_a_source_are_polled_separately() -> None:
    async with shared_poll() as poll:
        poll.wait(1, 2, 3, source=None)
        await poll.settle()
        assert poll.sizes() == [1, 1, 1]


@pytest.mark.parametrize("given", [{"source": []}, {"interval": "soon"}, {"interval": 0}, {"interval": float("nan")}])
async def test_a_wait_that_cannot_be_polled_fails_alone(given: dict[str, Any]) -> None:
    async with shared_poll() as poll:
        poll.wait(1)
        poll.wait(2, **given)
        await poll.settle()
        assert isinstance(poll.outcomes()[2], TypeError | ValueError)
        assert poll.waiting() == {1}


async def test_tries_are_counted_for_each_wait() -> None:
    async with shared_poll() as poll:
        poll.wait(1)
        await poll.pass_time(12)
        poll.wait(2)
        await poll.pass_time(1)
        assert {member.trigger.number: member.poll_stats.tries for member in _members(poll)} == {1: 2, 2: 1}
        assert {member.trigger.number: member.poll_stats.next_at - poll.clock.now() for member in _members(poll)} == {
            1: 7,
            2: 9,
        }


class Seen(Row):
    """Sees itself as the watchdog does."""

    sights: ClassVar[list[Any]] = []

    @classmethod
    async def poll_many(cls, waits: Any, services: Any) -> Any:
        cls.sights.append(attribution.read(sys._getframe()))
        return [None for _ in waits]


async def test_the_class_that_blocks_the_loop_in_a_poll_can_be_named() -> None:
    async with shared_poll() as poll:
        poll.wait(1, 2, kind=Seen)
        await poll.settle()
        (sight,) = Seen.sights
        assert sight.types == (Seen,)
        assert sight.mark.subject == list(poll.rows.values())


async def test_pollers_without_waits_leave_no_state() -> None:
    async with shared_poll(waits=100, rows={1}) as poll:
        await poll.settle()
        for task in poll.tasks.values():
            task.cancel()
        await poll.settle()
        assert len(poll.pollers) == 0
        assert poll.pollers._sources == {}


def _members(poll: SharedPoll) -> list[Any]:
    return [member for source in poll.pollers._keys for member in source.members]


async def test_a_source_releases_its_resources_when_its_last_wait_leaves() -> None:
    async with shared_poll() as poll:
        released: list[str] = []
        poll.on_release = lambda: released.append("released")
        poll.wait(1, 2)
        await poll.pass_time(25)
        assert poll.sizes() == [2] * 3
        poll.tasks[1].cancel()
        await poll.settle()
        assert released == []
        poll.tasks[2].cancel()
        await poll.settle()
        assert released == ["released"]
        assert len(poll.pollers) == 0
