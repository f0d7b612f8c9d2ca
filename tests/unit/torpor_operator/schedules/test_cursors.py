"""The cursors with which the operator arms sources."""

import json

import pytest
from torpor_wire.state import State

from tests.support.schedules.harness import HOOK, STREAM, ScheduleHarness, entry


async def test_the_source_is_armed_with_the_cursor_of_the_last_event(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Allow")
        await harness.advance(1)
        assert harness.cursor("s", "orders") is None
        for number in (1, 2):
            harness.fire("s", "orders", entry(number))
            await harness.advance(1)
        assert harness.cursor("s", "orders") == "2-0"
        (status,) = harness.status("s")["sources"]
        assert (status["cursor"], status["events"]) == ("2-0", 2)
        assert [json.loads(run["spec"]["runOf"]["event"])["id"] for run in harness.runs("s")] == ["1-0", "2-0"]


async def test_the_first_cursor_is_that_of_the_spec(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM | {"cursor": "7-0"})
        await harness.advance(1)
        assert harness.cursor("s", "orders") == "7-0"


async def test_ends_of_workflows_count_from_the_creation_of_the_schedule(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", {"name": "ends", "trigger": {"class": "workflow", "kwargs": {"labels": {"a": "b"}}}})
        await harness.advance(30)
        assert harness.cursor("s", "ends") == harness.schedule("s")["metadata"]["creationTimestamp"]


async def test_a_source_without_a_cursor_gets_none(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", HOOK)
        await harness.advance(1)
        waiting = harness.taskrun("s", "hook").status.trigger
        assert waiting is not None
        assert "cursor" not in json.loads(waiting.kwargs)


async def test_a_trigger_of_another_class_begins_without_a_cursor(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM)
        await harness.advance(1)
        harness.fire("s", "orders", entry(1))
        await harness.advance(1)
        harness.edit("s", sources=[{"name": "orders", "trigger": {"class": "http", "kwargs": {"url": "http://h"}}}])
        await harness.advance(5)
        assert harness.cursor("s", "orders") is None


async def test_a_source_that_fires_at_once_each_time_does_not_loop(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", HOOK, when="false")
        for _ in range(40):
            await harness.advance(1)
            if harness.taskrun("s", "hook").status.state is State.DEFERRED:
                harness.fire("s", "hook", 1)
        assert harness.taskrun("s", "hook").status.segment < 10 + 40 / 5


@pytest.mark.parametrize("event", [{"n": 1}, {"cursor": 7}, {"cursor": "x" * 1025}, 3])
async def test_an_event_of_an_own_trigger_without_a_valid_cursor_starts_no_run(
    harness: ScheduleHarness, event: object
) -> None:
    own = {"name": "own", "trigger": {"class": "my.triggers:Queue", "kwargs": {}}, "cursor": "0"}
    async with harness.running():
        harness.create("s", own, concurrencyPolicy="Allow")
        await harness.advance(1)
        harness.fire("s", "own", event)
        await harness.advance(1)
        assert harness.runs("s") == []
        (failed,) = harness.status("s")["failedEvents"]
        assert failed["reason"] == "EventInvalid"
        harness.fire("s", "own", {"cursor": "1"})
        await harness.advance(1)
        assert len(harness.runs("s")) == 1
        assert harness.cursor("s", "own") == "1"
