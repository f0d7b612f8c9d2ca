"""Runs of `allOf`: one run for the events of several sources."""

import json

from tests.support.fake_api import Fault
from tests.support.schedules.harness import HOOK, STREAM, ScheduleHarness, entry


async def test_all_of_starts_one_run_when_each_source_has_an_event(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, HOOK, allOf=["orders", "hook"], concurrencyPolicy="Allow")
        await harness.advance(1)
        for number in (1, 2):
            harness.fire("s", "orders", entry(number))
            await harness.advance(1)
        assert harness.runs("s") == []
        harness.fire("s", "hook", "go")
        await harness.advance(2)
        (run,) = harness.runs("s")
        event = json.loads(run["spec"]["runOf"]["event"])
        assert (event["orders"]["id"], event["hook"]) == ("2-0", "go")
        harness.fire("s", "hook", "again")
        await harness.advance(2)
        assert len(harness.runs("s")) == 1


async def test_an_event_of_all_of_that_is_too_old_starts_no_run(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, HOOK, allOf=["orders", "hook"], within="1m")
        await harness.advance(1)
        harness.fire("s", "orders", entry(1))
        await harness.advance(120)
        harness.fire("s", "hook", "go")
        await harness.advance(2)
        assert harness.runs("s") == []
        harness.fire("s", "orders", entry(2))
        await harness.advance(2)
        assert len(harness.runs("s")) == 1


async def test_a_source_that_leaves_all_of_drops_the_event_that_waits(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, HOOK, allOf=["orders", "hook"])
        await harness.advance(1)
        harness.fire("s", "orders", entry(1))
        await harness.advance(1)
        harness.edit("s", allOf=None)
        await harness.advance(2)
        harness.edit("s", allOf=["orders", "hook"])
        harness.fire("s", "hook", "go")
        await harness.advance(2)
        assert harness.runs("s") == []


async def test_history_keeps_a_joined_run_while_a_suspension_delays_its_event(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, HOOK, allOf=["orders", "hook"], history={"succeeded": 0})
        await harness.advance(1)
        harness.fire("s", "orders", entry(1))
        await harness.advance(1)
        fault = Fault(status=503, method="PATCH", path="/schedules/s/status", times=3)
        harness.fake.on_write = lambda write: harness.fake.inject(fault) if write.path.endswith("/workflows") else None
        harness.fire("s", "hook", "go")
        await harness.advance(1)
        harness.fake.on_write = lambda _: None
        harness.edit("s", suspend=True)
        (run,) = harness.runs("s")
        harness.end(run["metadata"]["name"])
        await harness.advance(60)
        assert [workflow["metadata"]["name"] for workflow in harness.runs("s")] == [run["metadata"]["name"]]
        harness.edit("s", suspend=False)
        await harness.advance(60)
        assert harness.status("s")["started"] == 1
