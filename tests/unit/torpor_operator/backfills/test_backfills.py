"""Runs of Backfills are created once, whatever fails on the way."""

import itertools

import pytest
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import times

from tests.support.builders import NAMESPACE
from tests.support.fake_api import Fault
from tests.support.schedules.backfill_harness import NIGHTLY, TICKS, BackfillHarness

CREATION = "/namespaces/ns/workflows"


@pytest.fixture
def harness() -> BackfillHarness:
    harness = BackfillHarness()
    harness.create("s", NIGHTLY)
    return harness


async def test_the_runs_follow_one_another(harness: BackfillHarness) -> None:
    async with harness.running():
        harness.create_backfill()
        await harness.advance(2)
        first = harness.ticks, harness.backfill["state"], harness.backfill["progress"]
        await harness.complete()

    assert first == (TICKS[:1], "Running", "0/3")
    assert harness.ticks == TICKS
    assert harness.backfill["progress"] == "3/3"
    assert harness.succeeded == ("True", "Succeeded", "3 runs succeeded, 0 ticks passed over")
    assert [event for event in harness.events("RunStarted") if "nightly" in event] != []


async def test_a_run_costs_one_creation_and_one_status(harness: BackfillHarness) -> None:
    async with harness.running():
        harness.create_backfill(to="2023-11-14T00:00:00Z")
        await harness.complete()

    assert len(harness.writes("POST", "workflows")) == 4
    assert len(harness.writes("PATCH", "backfills")) == 5


async def test_a_new_leader_continues_without_a_second_run(harness: BackfillHarness) -> None:
    harness.create_backfill(concurrency=2)
    for _ in range(20):
        async with harness.running():
            await harness.advance(1)
            for run in harness.active[:1]:
                harness.end(run)

    assert harness.ticks == TICKS
    assert (harness.backfill["started"], harness.backfill["succeeded"]) == (3, 3)


@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize(("method", "path"), [("POST", CREATION), ("PATCH", "backfills"), ("GET", CREATION)])
async def test_a_request_without_an_answer_is_repeated_without_a_second_run(
    harness: BackfillHarness, method: str, path: str, commit: bool
) -> None:
    async with harness.running():
        for _ in range(3):
            harness.fake.inject(Fault(method=method, path=path, commit=commit, times=2))
        harness.create_backfill(concurrency=2)
        await harness.complete()

    assert harness.ticks == TICKS
    assert (harness.backfill["started"], harness.backfill["passed"]) == (3, 0)


async def test_a_leader_that_ends_after_any_write_leaves_no_second_run(harness: BackfillHarness) -> None:
    for number in itertools.count(1):
        each = BackfillHarness()
        each.create("s", NIGHTLY)
        each.create_backfill(concurrency=2)
        writes = itertools.count(1)

        def end_after(_: object, writes: "itertools.count[int]" = writes, each: BackfillHarness = each) -> None:
            if next(writes) >= number:  # noqa: B023 - the loop waits for this run
                each.is_leader = False

        each.fake.on_write = end_after
        async with each.running():
            for _ in range(20):
                await each.advance(1)
                each.end_active()
        ended_by_itself = each.is_leader
        each.is_leader, each.fake.on_write = True, lambda _: None
        async with each.running():
            await each.complete()
        assert each.ticks == TICKS
        assert (each.backfill["started"], each.backfill["succeeded"]) == (3, 3), number
        if ended_by_itself:
            return


async def test_a_replica_that_does_not_lead_writes_nothing(harness: BackfillHarness) -> None:
    harness.is_leader = False
    async with harness.running():
        harness.create_backfill()
        await harness.advance(30)

    assert harness.runs("s") == []
    assert harness.backfill == {}


async def test_the_schedule_accepts_the_run_that_a_backfill_created_for_its_tick(harness: BackfillHarness) -> None:
    tick = times.epoch("2023-11-15T02:00:00Z")
    async with harness.running():
        await harness.advance(1)
        harness.clock.jump(tick + 1 - harness.clock.now())  # the tick is due, and the source has not fired yet
        harness.create_backfill(start="2023-11-15T00:00:00Z", to="2023-11-16T00:00:00Z")
        await harness.clock.advance(2)
        by_backfill = [run["spec"]["runOf"].get("backfill") for run in harness.runs("s")]
        harness.fire_due()
        await harness.advance(2)

    assert by_backfill == ["b"]
    assert harness.ticks == ["2023-11-15T02:00:00.000Z"]
    assert harness.events("EventFailed") == []
    assert harness.status("s")["last"] == "2023-11-15T02:00:00.000Z"


async def test_runs_of_a_backfill_do_not_count_toward_the_schedules_concurrency(harness: BackfillHarness) -> None:
    async with harness.running():
        harness.create_backfill()
        await harness.advance(1)
        harness.clock.jump(times.epoch("2023-11-15T02:00:00Z") - harness.clock.now())
        await harness.advance(2)

    assert harness.ticks == [TICKS[0], "2023-11-15T02:00:00.000Z"]
    assert harness.events("EventSkipped") == []


async def test_cancel_and_concurrency_apply_while_the_backfill_runs(harness: BackfillHarness) -> None:
    async with harness.running():
        harness.create_backfill()
        await harness.advance(2)
        harness.edit_backfill(concurrency=2)
        await harness.advance(2)
        widened = len(harness.active)
        harness.edit_backfill(cancel=True)
        await harness.advance(2)
        cancelling = harness.backfill["state"]
        await harness.complete()

    assert (widened, cancelling) == (2, "Cancelling")
    assert harness.backfill["state"] == "Cancelled"
    assert harness.ticks == TICKS[:2]


async def test_many_ticks_with_runs_are_passed_over_page_by_page() -> None:
    harness = BackfillHarness()
    harness.create("s", {"name": "hourly", "cron": "0 * * * *"})
    uid = harness.schedule("s")["metadata"]["uid"]
    for hour in range(240):
        tick = times.epoch("2023-11-01T00:00:00Z") + 3600 * hour
        name = harness.run_name(times.rfc3339(tick), source="hourly")
        origin = {"schedule": "s", "uid": uid, "source": "hourly", "at": times.rfc3339(tick)}
        body = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"tasks": [], "runOf": origin}}
        harness.fake.put(WORKFLOWS, body)
    async with harness.running():
        harness.create_backfill(start="2023-11-01T00:00:00Z", to="2023-11-11T00:00:00Z")
        await harness.advance(5)

    assert harness.backfill["passed"] == 240
    assert len(harness.writes("PATCH", "backfills")) == 3
