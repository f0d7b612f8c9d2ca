"""How a Backfill counts its ticks and runs, and what it reports."""

import pytest
from torpor_operator.backfills.plan.planner import PASS_TICKS
from torpor_wire import times
from torpor_wire.cron.ticks import Ticks

from tests.support.schedules.backfill_plan_fixture import BackfillPlanFixture

TICKS = ["2026-05-01T02:00:00", "2026-05-02T02:00:00", "2026-05-03T02:00:00"]
HOURLY = {"name": "hourly", "cron": "0 * * * *"}


def test_a_run_that_fails_does_not_stop_the_others() -> None:
    world = BackfillPlanFixture()
    world.complete(state="Failed")

    assert world.ticks() == TICKS
    assert world.status.state == "Failed"
    assert (world.status.failed, world.status.progress) == (3, "3/3")


def test_a_run_that_was_deleted_while_it_was_active_counts_as_failed() -> None:
    world = BackfillPlanFixture(concurrency=3)
    world.settle()
    del world.runs[world.created[1]]
    world.complete()

    assert world.ticks([world.created[0], world.created[2]]) == [TICKS[0], TICKS[2]]
    assert (world.status.succeeded, world.status.failed) == (2, 1)
    assert world.status.last_failure == f"run {world.created[1]} was deleted"


def test_a_run_that_was_deleted_after_its_end_has_its_outcome_in_the_archive() -> None:
    world = BackfillPlanFixture()
    world.settle()
    world.finish()
    world.archive(world.created[0])
    world.complete()

    assert (world.status.succeeded, world.status.failed) == (3, 0)


def test_runs_that_were_created_without_a_status_are_not_created_again() -> None:
    world = BackfillPlanFixture(concurrency=2)
    world.settle()
    del world.backfill["status"]
    world.complete()

    assert world.ticks() == TICKS
    assert world.most_active == 2
    assert (world.status.started, world.status.passed) == (3, 0)


def test_a_pass_decides_a_limited_number_of_ticks() -> None:
    world = BackfillPlanFixture(HOURLY, to="2026-06-01T00:00:00Z")
    for hour in range(250):
        at = times.rfc3339(times.epoch("2026-05-01T00:00:00Z") + 3600 * hour)
        world.add(at, f"run-{hour}", state="Succeeded", source="hourly")
    again = world.step()

    assert again
    assert world.status.passed == PASS_TICKS
    world.settle()
    assert (world.status.passed, world.status.started) == (250, 1)
    assert [notice.message for notice in world.notices if notice.reason == "TicksPassed"] == [
        "passed over 250 ticks so far, the last: tick 2026-05-11T09:00:00.000Z of source hourly"
    ]


def test_ten_million_ticks_are_neither_counted_nor_searched_as_a_whole() -> None:
    world = BackfillPlanFixture(
        {"name": "second", "cron": "* * * * * *"}, start="2026-01-01T00:00:00Z", to="2026-04-27T00:00:00Z"
    )
    world.settle()

    assert world.status.progress == "0/10000+"
    assert (world.status.ticks, world.status.more_ticks) == (10_000, True)
    assert len(world.looked_up) == 1


def test_ticks_are_counted_on_when_the_first_count_is_used_up() -> None:
    world = BackfillPlanFixture({"name": "minute", "cron": "* * * * *"}, to="2026-05-08T01:00:00Z")
    world.settle()
    status = dict(world.backfill["status"])
    assert status["progress"] == "0/10000+"
    status |= {"cursor": "2026-05-07T22:39:00.000Z", "passed": 9_998, "started": 2, "succeeded": 1}
    world.backfill["status"] = status
    world.finish()
    world.settle()

    assert world.status.progress == "10000/10140"
    assert not world.status.more_ticks


def test_events_report_the_runs_the_passed_ticks_and_the_end() -> None:
    world = BackfillPlanFixture()
    world.add("2026-05-01T02:00:00.000Z", "done-1", state="Succeeded")
    world.add("2026-05-02T02:00:00.000Z", "done-2", state="Failed")
    world.complete()

    assert [(notice.reason, notice.message, notice.warning) for notice in world.notices] == [
        ("TicksPassed", "passed over 2 ticks so far, the last: tick 2026-05-02T02:00:00.000Z of source nightly", False),
        ("RunStarted", f"started {world.created[0]} for tick 2026-05-03T02:00:00.000Z of source nightly", False),
        ("Succeeded", "1 run succeeded, 2 ticks passed over", False),
    ]


def test_the_concurrency_holds_behind_a_long_row_of_ticks_with_runs() -> None:
    world = BackfillPlanFixture(HOURLY, to="2026-05-05T00:00:00Z")
    for hour in range(50):
        at = times.rfc3339(times.epoch("2026-05-01T00:00:00Z") + 3600 * hour)
        world.add(at, f"run-{hour}", state="Succeeded", source="hourly")
    world.settle()

    assert (world.status.passed, world.most_active) == (50, 1)


def test_a_run_behind_a_missing_one_is_active() -> None:
    world = BackfillPlanFixture(concurrency=2)
    world.settle()
    del world.backfill["status"]  # the answers to both creations were lost, and the first was not carried out
    del world.runs[world.created[0]]
    world.complete()

    assert world.most_active == 2
    assert sorted(set(world.ticks())) == TICKS


def test_the_ticks_are_counted_again_after_an_edit_of_the_schedule() -> None:
    world = BackfillPlanFixture()
    world.settle()
    assert world.schedule is not None
    world.schedule["spec"]["sources"] = [{"name": "nightly", "cron": "0 2,14 * * *"}]
    world.schedule["metadata"]["generation"] = 2
    world.settle()

    assert world.status.progress == "0/6"


def test_the_ticks_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    count = Ticks.count

    def count_noted(self: Ticks, after: float, until: float, limit: int) -> int:
        counted.append(limit)
        return count(self, after, until, limit)

    monkeypatch.setattr(Ticks, "count", count_noted)
    world = BackfillPlanFixture(to="2026-05-21T00:00:00Z")
    world.complete()

    assert world.passes > 20
    assert len(counted) == 1
