"""Runs at ticks: one for each, with the policies for concurrency and missed ticks."""

import itertools
from datetime import UTC, datetime

import pytest
from torpor_wire import times
from torpor_wire.state import State

from tests.support.fake_api import Fault
from tests.support.schedules.harness import QUEUED, ScheduleHarness

MINUTELY = {"name": "tick", "cron": "* * * * *"}


def at(harness: ScheduleHarness) -> list[str]:
    return [run["spec"]["runOf"]["at"] for run in harness.runs("s")]


@pytest.fixture
def harness() -> ScheduleHarness:
    harness = ScheduleHarness()
    start = harness.clock.now()
    harness.clock.jump(60 - start % 60 + 5)  # five seconds after a full minute
    return harness


async def test_each_tick_starts_one_run(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, concurrencyPolicy="Allow", history={"succeeded": 10})
        await harness.advance(180)
        ticks = [datetime.fromisoformat(text) for text in at(harness)]
        assert [(b - a).seconds for a, b in itertools.pairwise(ticks)] == [60, 60]
        assert len(ticks) == 3
        assert harness.status("s")["started"] == 3
        assert times.epoch(harness.status("s")["next"]) == ticks[-1].astimezone(UTC).timestamp() + 60
        assert harness.condition("s", "Ready")["status"] == "True"


async def test_forbid_skips_the_tick_and_names_the_run_that_is_active(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY)
        await harness.advance(120)
        (run,) = harness.runs("s")
        status = harness.status("s")
        assert (status["started"], status["skipped"], status["active"]) == (1, 1, 1)
        (message,) = harness.events("EventSkipped")
        assert f"Forbid, {run['metadata']['name']} still runs" in message
        harness.end(run["metadata"]["name"])
        await harness.advance(60)
        assert len(harness.runs("s")) == 2


async def test_queue_starts_the_runs_one_after_the_other(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, concurrencyPolicy="Queue", maxQueued=1)
        await harness.advance(200)
        first, second = harness.runs("s")
        assert (first["spec"]["suspend"], second["spec"]["suspend"]) == (False, True)
        assert second["metadata"]["labels"][QUEUED] == "true"
        assert "as many as maxQueued" in harness.condition("s", "Ready")["message"]
        harness.end(first["metadata"]["name"])
        await harness.advance(2)
        second = next(run for run in harness.runs("s") if run["metadata"]["name"] == second["metadata"]["name"])
        assert not second["spec"]["suspend"]
        assert QUEUED not in second["metadata"]["labels"]
        assert len(harness.runs("s")) == 3


async def test_replace_cancels_the_active_run_and_waits_for_its_end(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, concurrencyPolicy="Replace")
        await harness.advance(125)
        (first,) = harness.runs("s")
        assert first["spec"]["cancel"]
        harness.end(first["metadata"]["name"], "Failed", "Cancelled")
        await harness.advance(2)
        assert len(harness.runs("s")) == 2


async def test_a_new_leader_creates_no_second_run_for_an_event(harness: ScheduleHarness) -> None:
    await harness.start()
    harness.create("s", MINUTELY, concurrencyPolicy="Allow")
    await harness.advance(59)
    await harness.stop()
    for _ in range(5):
        await harness.start()
        await harness.advance(13)
        await harness.stop()
    await harness.start()
    await harness.advance(60)
    assert len(at(harness)) == len(set(at(harness)))
    await harness.stop()


async def test_history_keeps_a_finished_run_until_its_event_has_an_outcome(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, concurrencyPolicy="Allow", history={"succeeded": 0})
        await harness.advance(50)
        harness.fake.inject(Fault(status=503, method="PATCH", path="/schedules/s/status", times=5))
        await harness.advance(6)
        (run,) = harness.runs("s")
        harness.end(run["metadata"]["name"])
        await harness.advance(50)
        assert harness.status("s")["started"] == 1
        assert len(harness.writes("DELETE", "workflows")) == 1
        assert harness.runs("s") == []


@pytest.mark.parametrize(("policy", "runs"), [("None", 1), ("Last", 2), ("All", 5)])
async def test_missed_ticks(harness: ScheduleHarness, policy: str, runs: int) -> None:
    await harness.start()
    hourly = {"name": "tick", "cron": "0 * * * *"}
    missed = {"within": "3h30m", "run": policy}
    harness.create("s", hourly, concurrencyPolicy="Allow", missed=missed, history={"succeeded": 10})
    await harness.stop()
    harness.clock.jump(5 * 3600)
    await harness.start()
    await harness.advance(3600)
    assert len(at(harness)) == runs
    assert harness.status("s")["missed"]["count"] == 6 - runs
    await harness.stop()


async def test_ticks_of_a_suspension_are_neither_run_nor_missed(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, concurrencyPolicy="Allow", history={"succeeded": 10})
        await harness.advance(60)
        harness.edit("s", suspend=True)
        await harness.advance(300)
        assert len(at(harness)) == 1
        assert harness.condition("s", "Suspended")["status"] == "True"
        harness.edit("s", suspend=False)
        await harness.advance(60)
        assert len(at(harness)) == 2
        assert "missed" not in harness.status("s")


async def test_a_changed_expression_counts_from_the_change(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", {"name": "tick", "cron": "0 0 1 1 *"}, concurrencyPolicy="Allow")
        await harness.advance(30)
        harness.edit("s", sources=[MINUTELY])
        await harness.advance(120)
        assert len(at(harness)) == 2
        assert "missed" not in harness.status("s")


async def test_history_keeps_so_many_finished_runs(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, history={"succeeded": 1, "failed": 2})
        for index in range(8):
            await harness.advance(60)
            for run in harness.runs("s"):
                if "completionTime" not in run.get("status", {}):
                    harness.end(run["metadata"]["name"], "Failed" if index % 2 else "Succeeded")
        await harness.advance(2)
        states = [run["status"]["state"] for run in harness.runs("s")]
        assert sorted(states) == ["Failed", "Failed", "Succeeded"]


async def test_failures_in_a_row_suspend_the_schedule(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, pauseAfterFailures=2)
        for _ in range(4):
            await harness.advance(60)
            for run in harness.runs("s"):
                if "completionTime" not in run.get("status", {}):
                    harness.end(run["metadata"]["name"], "Failed")
        assert harness.schedule("s")["spec"]["suspend"]
        assert len(harness.runs("s")) == 2
        (message,) = harness.events("PausedAfterFailures")
        assert "the last 2 runs failed" in message
        harness.edit("s", suspend=False)
        await harness.advance(60)
        assert not harness.schedule("s")["spec"]["suspend"]
        assert len(harness.runs("s")) == 3


async def test_three_writes_for_a_run_beside_its_creation(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, concurrencyPolicy="Allow")
        await harness.advance(70)
        before = len(harness.fake.writes()) - len(harness.writes("POST", "events"))
        await harness.advance(60)
        after = len(harness.fake.writes()) - len(harness.writes("POST", "events"))
        assert after - before == 3  # create, status, arm; the harness itself fires


async def test_a_changed_pool_loses_no_tick(harness: ScheduleHarness) -> None:
    late = MINUTELY | {"cron": "*/5 * * * *"}
    async with harness.running():
        harness.create("s", late, jitter="90s", missed={"run": "All"}, concurrencyPolicy="Allow")
        await harness.advance(300)
        while harness.clock.now() % 300 != 1:
            await harness.advance(1)
        harness.edit("s", sources=[late | {"triggerPool": "other"}])
        await harness.advance(120)
        ticks = [times.epoch(text) for text in at(harness)]
        assert ticks[-1] == harness.clock.now() // 300 * 300


async def test_ticks_of_a_changed_expression_count_from_the_change(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY | {"cron": "0 0 1 1 *"}, missed={"run": "All"}, concurrencyPolicy="Allow")
        await harness.advance(200)
        harness.edit("s", sources=[MINUTELY])
        await harness.advance(50)
        assert len(harness.runs("s")) <= 1


async def test_a_status_conflict_runs_no_ticks_from_before_a_changed_expression(
    harness: ScheduleHarness,
) -> None:
    async with harness.running():
        harness.create("s", MINUTELY | {"cron": "0 0 1 1 *"}, missed={"run": "All"}, concurrencyPolicy="Allow")
        await harness.advance(200)
        harness.fake.inject(Fault(status=409, method="PATCH", path="/schedules/s/status", times=2))
        harness.edit("s", sources=[MINUTELY])
        await harness.advance(50)
        assert len(harness.runs("s")) <= 1


async def test_a_source_can_become_a_cron_source(harness: ScheduleHarness) -> None:
    trigger = {"class": "http", "kwargs": {"url": "http://h"}}
    async with harness.running():
        harness.create("s", {"name": "tick", "trigger": trigger}, concurrencyPolicy="Allow")
        await harness.advance(1)
        harness.fire("s", "tick", {"status": 200, "cursor": 'W/"7"'})
        await harness.advance(1)
        harness.edit("s", sources=[MINUTELY | {"trigger": None}])
        await harness.advance(120)
        assert len(harness.runs("s")) == 3
        assert harness.condition("s", "Ready")["status"] == "True"


@pytest.mark.parametrize("late", [0, 1800])
async def test_the_tick_on_not_after_is_run_even_if_it_fires_late(harness: ScheduleHarness, late: int) -> None:
    """Its jitter or a pause of the triggerers puts it after the edge."""
    source = {"name": "tick", "cron": "*/10 * * * *"}
    edge = times.rfc3339(harness.clock.now() // 600 * 600 + 1200)
    async with harness.running():
        harness.create("s", source, jitter="10m", notAfter=edge, concurrencyPolicy="Allow", history={"succeeded": 10})
        await harness.advance(times.epoch(edge) - harness.clock.now() - 30)
        await harness.pause(60 + late)
        await harness.advance(700)
        assert at(harness)[-1] == edge
        assert len(at(harness)) == 2
        assert "next" not in harness.status("s")
        assert "missed" not in harness.status("s")
        assert harness.condition("s", "Ready")["reason"] == "Completed"


async def test_the_tick_on_not_after_is_counted_if_it_is_too_late(harness: ScheduleHarness) -> None:
    source = {"name": "tick", "cron": "*/10 * * * *"}
    edge = times.rfc3339(harness.clock.now() // 600 * 600 + 1200)
    async with harness.running():
        harness.create("s", source, notAfter=edge, missed={"run": "None"}, concurrencyPolicy="Allow")
        await harness.advance(times.epoch(edge) - harness.clock.now() - 30)
        await harness.pause(200)
        await harness.advance(5)
        assert len(at(harness)) == 1
        assert harness.status("s")["missed"] == {"count": 1, "last": edge}
        assert "next" not in harness.status("s")


async def test_a_cron_source_is_not_armed_after_its_last_tick(harness: ScheduleHarness) -> None:
    async with harness.running():
        edge = times.rfc3339(harness.clock.now() + 100)
        harness.create("s", MINUTELY, notAfter=edge, concurrencyPolicy="Allow")
        await harness.advance(200)
        assert len(at(harness)) == 1
        assert harness.condition("s", "Ready")["reason"] == "Completed"
        assert harness.taskrun("s", "tick").status.state is State.SCHEDULED
