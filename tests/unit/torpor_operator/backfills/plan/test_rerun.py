"""Which ticks a Backfill runs again: `rerun`."""

import pytest
from torpor_operator.backfills.plan.snapshot import KnownRun, RunOutcome

from tests.support.schedules.backfill_plan_fixture import BackfillPlanFixture

AT = [f"2026-05-0{day}T02:00:00.000Z" for day in (1, 2, 3)]


def world_with_runs(rerun: str) -> BackfillPlanFixture:
    """The first tick has succeeded, the second has failed, and the third has no run."""
    world = BackfillPlanFixture(rerun=rerun)
    world.add(AT[0], "good", state="Succeeded")
    world.add(AT[1], "bad", state="Failed")
    return world


@pytest.mark.parametrize(("rerun", "run"), [("missing", AT[2:]), ("failed", AT[1:]), ("all", AT)])
def test_rerun_selects_the_ticks(rerun: str, run: list[str]) -> None:
    world = world_with_runs(rerun)
    world.complete()

    assert [world.runs[name]["spec"]["runOf"]["at"] for name in world.created] == run
    assert (world.status.started, world.status.passed) == (len(run), 3 - len(run))


@pytest.mark.parametrize("rerun", ["missing", "failed", "all"])
def test_a_second_backfill_of_the_same_kind_differs_only_where_it_must(rerun: str) -> None:
    first = world_with_runs(rerun)
    first.complete()
    second = BackfillPlanFixture(rerun=rerun)
    second.runs = dict(first.runs)
    second.backfill["metadata"] |= {"name": "second", "uid": "second-uid"}
    second.complete()

    assert len(second.created) == (3 if rerun == "all" else 0)
    assert len(second.runs) == len(first.runs) + len(second.created)


@pytest.mark.parametrize("rerun", ["missing", "failed", "all"])
def test_a_backfill_that_lost_its_status_creates_no_run_twice(rerun: str) -> None:
    world = world_with_runs(rerun)
    world.complete()
    created = list(world.created)
    del world.backfill["status"]
    world.complete()

    assert world.created == created
    assert world.status.started == len(created)


@pytest.mark.parametrize("rerun", ["missing", "failed", "all"])
def test_a_tick_with_an_active_run_is_passed_over(rerun: str) -> None:
    world = BackfillPlanFixture(rerun=rerun, to="2026-05-02T00:00:00Z")
    world.add(AT[0], "running")
    world.settle()

    assert world.created == []
    assert world.status.state == "Succeeded"


def test_failed_decides_by_the_last_run_of_a_tick() -> None:
    world = BackfillPlanFixture(rerun="failed", to="2026-05-02T00:00:00Z")
    world.add(AT[0], "bad", state="Failed")
    world.now += 60
    world.add(AT[0], "good", state="Succeeded")
    world.settle()

    assert world.created == []


@pytest.mark.parametrize(
    ("rerun", "outcome", "created"),
    [
        ("missing", "Succeeded", 0),
        ("missing", "Failed", 0),
        ("failed", "Succeeded", 0),
        ("failed", "Failed", 1),
        ("all", "Succeeded", 1),
        ("all", "Failed", 1),
    ],
)
def test_a_run_in_the_archive_counts_like_one_in_the_cluster(rerun: str, outcome: str, created: int) -> None:
    world = BackfillPlanFixture(rerun=rerun, to="2026-05-02T00:00:00Z")
    world.settle()
    (name,) = world.runs
    world.runs.clear()
    world.created.clear()
    del world.backfill["status"]
    world.archived[name] = KnownRun(name=name, outcome=RunOutcome(outcome), created="2026-05-01T02:00:00Z")
    world.settle()

    assert len(world.created) == created
    assert world.created == [] or world.created != [name]


def test_archived_runs_are_looked_up_in_batches_once_several_are_found() -> None:
    world = BackfillPlanFixture(to="2026-05-31T00:00:00Z")
    world.complete()
    for name in world.created:
        world.archive(name)
    second = BackfillPlanFixture(to="2026-05-31T00:00:00Z")
    second.archived = world.archived
    second.backfill["metadata"] |= {"name": "second"}
    second.settle()

    assert second.created == []
    assert second.status.passed == 30
    assert second.looked_up == world.created


def test_runs_of_a_former_backfill_of_the_same_name_are_those_of_others() -> None:
    world = BackfillPlanFixture(to="2026-05-03T00:00:00Z")
    world.settle()
    world.now += 3600
    world.finish()
    world.backfill["metadata"] |= {"uid": "again-uid", "creationTimestamp": "2026-06-01T13:00:00Z"}
    del world.backfill["status"]
    world.settle()

    assert (world.status.passed, world.status.started) == (1, 1)


def test_a_missing_tick_is_run_for_each_source() -> None:
    sources = [{"name": name, "cron": "0 2 * * *"} for name in ("a", "b")]
    world = BackfillPlanFixture(*sources, to="2026-05-02T00:00:00Z", concurrency=2)
    world.add(AT[0], "done", state="Succeeded", source="a")
    world.settle()

    assert [world.runs[name]["spec"]["runOf"]["source"] for name in world.created] == ["b"]
