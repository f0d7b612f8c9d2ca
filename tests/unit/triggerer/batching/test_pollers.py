"""One query for many: who is asked for with whom, and when."""

import asyncio
import sys
from typing import Any, ClassVar

import pytest
from torpor_triggerer.usercode import attribution

from tests.support.triggers.batch_triggers import Crowd, Row, crowd


async def test_all_waits_on_a_source_share_one_poll_per_interval() -> None:
    async with crowd() as them:
        them.wait(*range(1000))
        await them.pass_time(35)
        assert them.polled() == [1000] * 4


async def test_waits_beyond_the_batch_size_are_split_into_polls() -> None:
    async with crowd() as them:
        them.wait(*range(2500))
        await them.rest()
        assert them.polled() == [1000, 1000, 500]


async def test_only_waits_whose_row_exists_fire() -> None:
    async with crowd() as them:
        them.wait(*range(100))
        await them.pass_time(5)
        them.table.rows |= {7, 70, 700}
        await them.pass_time(10)
        assert them.told() == {7: 7, 70: 70}
        await them.pass_time(10)
        assert them.polled() == [100, 100, 98]


async def test_the_first_wait_is_polled_at_once_and_later_ones_together() -> None:
    async with crowd() as them:
        them.wait(0)
        await them.rest()
        assert them.polled() == [1]
        for number in range(1, 100):
            them.wait(number)
            await them.rest()
        assert them.polled() == []
        await them.pass_time(1)
        assert them.polled() == [99]
        await them.pass_time(30)
        assert them.polled() == [100] * 3


async def test_a_wait_that_joins_during_a_poll_is_polled_right_after_it() -> None:
    async with crowd(latency=3.0) as them:
        them.wait(1)
        await them.pass_time(1)
        them.wait(2)
        await them.pass_time(2.1)
        assert them.table.asked == [[1], [2]]


async def test_a_wait_that_leaves_during_a_poll_delays_no_other() -> None:
    async with crowd(latency=3.0, rows={1, 2}) as them:
        them.wait(1, 2, 3)
        await them.pass_time(1)
        them.tasks[1].cancel()
        await them.pass_time(3)
        assert them.told() == {2: 2}
        await them.pass_time(10)
        assert them.table.asked == [[1, 2, 3], [3]]


async def test_a_wait_that_leaves_between_two_polls_is_not_polled() -> None:
    async with crowd(latency=3.0) as them:
        them.wait(*range(1500))
        await them.pass_time(1)
        them.tasks[1499].cancel()
        await them.pass_time(3)
        assert them.polled() == [1000, 499]


async def test_a_poll_without_waits_is_stopped_and_a_new_wait_gets_a_new_poll() -> None:
    async with crowd(latency=3.0, rows={1}) as them:
        them.wait(1)
        await them.pass_time(1)
        them.tasks[1].cancel()
        await asyncio.sleep(0)
        them.wait(1)
        await them.rest()
        assert len(them.pollers) == 1
        await them.pass_time(3)
        assert them.told() == {1: 1}
        await them.pollers.ended()
        assert len(them.pollers) == 0


async def test_each_wait_is_polled_about_as_often_as_its_own_interval() -> None:
    async with crowd() as them:
        them.wait(*range(10), interval=60.0)
        them.wait(99, interval=5.0)
        await them.pass_time(62)
        asked = them.polled()
        assert asked.count(1) == 11
        assert asked.count(11) == 2


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
    async with crowd() as them:
        them.wait(1)
        them.wait(2, **other)
        await them.rest()
        assert len(them.polled()) == count


async def test_waits_without_a_source_are_polled_separately() -> None:
    async with crowd() as them:
        them.wait(1, 2, 3, source=None)
        await them.rest()
        assert them.polled() == [1, 1, 1]


@pytest.mark.parametrize("given", [{"source": []}, {"interval": "soon"}, {"interval": 0}, {"interval": float("nan")}])
async def test_a_wait_that_cannot_be_polled_fails_alone(given: dict[str, Any]) -> None:
    async with crowd() as them:
        them.wait(1)
        them.wait(2, **given)
        await them.rest()
        assert isinstance(them.told()[2], TypeError | ValueError)
        assert them.waiting() == {1}


async def test_tries_are_counted_for_each_wait() -> None:
    async with crowd() as them:
        them.wait(1)
        await them.pass_time(12)
        them.wait(2)
        await them.pass_time(1)
        assert {one.trigger.number: one.poll_stats.tries for one in _members(them)} == {1: 2, 2: 1}
        assert {one.trigger.number: one.poll_stats.next_at - them.clock.now() for one in _members(them)} == {1: 7, 2: 9}


class Seen(Row):
    """Sees itself as the watchdog does."""

    sights: ClassVar[list[Any]] = []

    @classmethod
    async def poll_many(cls, waits: Any, services: Any) -> Any:
        cls.sights.append(attribution.read(sys._getframe()))
        return [None for _ in waits]


async def test_the_class_that_blocks_the_loop_in_a_poll_can_be_named() -> None:
    async with crowd() as them:
        them.wait(1, 2, kind=Seen)
        await them.rest()
        (sight,) = Seen.sights
        assert sight.types == (Seen,)
        assert sight.mark.subject == list(them.rows.values())


async def test_pollers_without_waits_leave_no_state() -> None:
    async with crowd(rows={1}) as them:
        them.wait(*range(100))
        await them.rest()
        for task in them.tasks.values():
            task.cancel()
        await them.rest()
        assert len(them.pollers) == 0
        assert them.pollers._sources == {}


def _members(them: Crowd) -> list[Any]:
    return [member for source in them.pollers._keys for member in source.members]


async def test_a_source_releases_its_resources_when_its_last_wait_leaves() -> None:
    async with crowd() as them:
        released: list[str] = []
        them.until = lambda: released.append("released")
        them.wait(1, 2)
        await them.pass_time(25)
        assert them.polled() == [2] * 3
        them.tasks[1].cancel()
        await them.rest()
        assert released == []
        them.tasks[2].cancel()
        await them.rest()
        assert released == ["released"]
        assert len(them.pollers) == 0
