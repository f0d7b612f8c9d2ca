"""What a replica writes for namespaces: fires in turn and at a rate, no Normal Events for sources of Schedules."""

from typing import Any

import pytest

from tests.support.fake_api import settle
from tests.support.triggerer_fixture import start_with_wait, triggerer_fixture

SOURCE = {"schedule": {"name": "s", "uid": "u"}, "workflow": None, "task": "t", "triggerPool": "default"}


def fired(world: Any, since: int = 0) -> list[str]:
    """The names of the TaskRuns whose outcome was sent, in order."""
    return [request.path.split("/")[-2] for request in world.fake.requests[since:] if request.path.endswith("/status")]


async def test_a_source_of_a_schedule_has_no_normal_events() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "duration", {"duration": "1s"}, spec=SOURCE)
        await world.pass_time(3)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert world.events("a", "Normal") == []


async def test_a_source_of_a_schedule_that_fails_has_a_warning() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "raises"}, spec=SOURCE)
        await world.pass_time(3)
        assert [reason for reason, _ in world.events("a")] == ["TriggerFailed"]


@pytest.mark.attack
async def test_five_hundred_fires_of_a_namespace_delay_another_by_one_write() -> None:
    async with triggerer_fixture(latency=0.5, concurrency=8) as world:
        for number in range(500):
            world.taskrun(f"greedy{number}", "duration", {"duration": "30s"}, namespace="greedy")
        world.taskrun("quiet", "duration", {"duration": "32s"}, namespace="quiet")
        await world.start()
        await world.pass_time(31.5)
        before = len(world.fake.requests)
        await world.pass_time(2.6)
        assert fired(world, before).index("quiet") < 3 * 8
        await world.pass_time(120)
        assert len(set(fired(world))) == 501


@pytest.mark.attack
async def test_the_fires_of_a_namespace_have_a_rate_and_none_is_lost() -> None:
    async with triggerer_fixture(namespace_write_rate=10.0, namespace_write_burst=20.0) as world:
        for number in range(100):
            world.taskrun(f"t{number}", "duration", {"duration": "30s"})
        await world.start()
        await world.pass_time(31)
        assert 20 <= len(fired(world)) <= 20 + 10 * 2
        await world.pass_time(10)
        assert {world.state_and_reason(f"t{number}")[0] for number in range(100)} == {"Scheduled"}


async def test_a_resumption_precedes_the_events_of_schedules() -> None:
    async with triggerer_fixture(latency=0.5, concurrency=1) as world:
        for number in range(5):
            world.taskrun(f"source{number}", "duration", {"duration": "30s"}, spec=SOURCE)
        await world.start()
        world.taskrun("task", "duration", {"duration": "31s"})
        await world.pass_time(31.2)
        await settle()
        await world.pass_time(10)
        order = fired(world)
        assert order.index("task") <= 2
        assert len(order) == 6
