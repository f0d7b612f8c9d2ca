"""What a replica writes for namespaces: fires in turn and at a rate, no Normal Events for sources of Schedules."""

from typing import Any

import pytest

from tests.support.fake_api import settle
from tests.support.triggerer_world import begun, world

SOURCE = {"schedule": {"name": "s", "uid": "u"}, "workflow": None, "task": "t", "triggerPool": "default"}


def fired(made: Any, since: int = 0) -> list[str]:
    """The names of the TaskRuns whose outcome was sent, in order."""
    return [one.path.split("/")[-2] for one in made.fake.requests[since:] if one.path.endswith("/status")]


async def test_a_source_of_a_schedule_has_no_normal_events() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "1s"}, spec=SOURCE)
        await made.pass_time(3)
        assert made.stands("a") == ("Scheduled", None)
        assert made.events("a", "Normal") == []


async def test_a_source_of_a_schedule_that_fails_has_a_warning() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "raises"}, spec=SOURCE)
        await made.pass_time(3)
        assert [reason for reason, _ in made.events("a")] == ["TriggerFailed"]


@pytest.mark.attack
async def test_five_hundred_fires_of_a_namespace_delay_another_by_one_write() -> None:
    async with world(latency=0.5, concurrency=8) as made:
        for number in range(500):
            made.taskrun(f"greedy{number}", "duration", {"duration": "30s"}, namespace="greedy")
        made.taskrun("quiet", "duration", {"duration": "32s"}, namespace="quiet")
        await made.start()
        await made.pass_time(31.5)
        before = len(made.fake.requests)
        await made.pass_time(2.6)
        assert fired(made, before).index("quiet") < 3 * 8
        await made.pass_time(120)
        assert len(set(fired(made))) == 501


@pytest.mark.attack
async def test_the_fires_of_a_namespace_have_a_rate_and_none_is_lost() -> None:
    async with world(namespace_write_rate=10.0, namespace_write_burst=20.0) as made:
        for number in range(100):
            made.taskrun(f"t{number}", "duration", {"duration": "30s"})
        await made.start()
        await made.pass_time(31)
        assert 20 <= len(fired(made)) <= 20 + 10 * 2
        await made.pass_time(10)
        assert {made.stands(f"t{number}")[0] for number in range(100)} == {"Scheduled"}


async def test_a_resumption_precedes_the_events_of_schedules() -> None:
    async with world(latency=0.5, concurrency=1) as made:
        for number in range(5):
            made.taskrun(f"source{number}", "duration", {"duration": "30s"}, spec=SOURCE)
        await made.start()
        made.taskrun("task", "duration", {"duration": "31s"})
        await made.pass_time(31.2)
        await settle()
        await made.pass_time(10)
        order = fired(made)
        assert order.index("task") <= 2
        assert len(order) == 6
