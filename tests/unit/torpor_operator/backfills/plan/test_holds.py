"""When a Backfill creates no runs: suspended, cancelled, or waiting for something."""

import pytest
from torpor_operator.backfills.plan.snapshot import TemporaryObstacle

from tests.support.schedules.backfill_plan_fixture import CRON, BackfillPlanFixture

TICKS = ["2026-05-01T02:00:00", "2026-05-02T02:00:00", "2026-05-03T02:00:00"]
HOURLY = {"name": "hourly", "cron": "0 * * * *"}


def test_runs_wait_while_none_can_be_created() -> None:
    world = BackfillPlanFixture()
    world.blocked = TemporaryObstacle("NamespaceNotReady", "the namespace is not set up")
    world.settle()
    waiting = world.status.state, world.condition
    world.blocked = None
    world.complete()

    assert waiting == ("Waiting", ("Unknown", "NamespaceNotReady", "the namespace is not set up"))
    assert world.ticks() == TICKS


def test_a_backfill_waits_for_its_schedule() -> None:
    world = BackfillPlanFixture()
    schedule, world.schedule = world.schedule, None
    world.settle()
    waiting = world.status.state, world.condition
    world.schedule = schedule
    world.complete()

    assert waiting == (
        "Waiting",
        ("Unknown", "ScheduleNotFound", "Schedule ingest does not exist: create it, or cancel the Backfill"),
    )
    assert world.ticks() == TICKS


def test_a_schedule_that_is_being_deleted_is_none() -> None:
    world = BackfillPlanFixture()
    assert world.schedule is not None
    world.schedule["metadata"]["deletionTimestamp"] = "2026-06-01T12:00:00Z"
    world.settle()

    assert world.condition[1] == "ScheduleNotFound"
    assert world.created == []


def test_active_runs_are_counted_while_the_schedule_is_missing() -> None:
    world = BackfillPlanFixture()
    world.settle()
    schedule, world.schedule = world.schedule, None
    world.finish()
    world.settle()
    counted = world.status.succeeded, world.status.active
    world.schedule = schedule
    world.complete()

    assert counted == (1, 0)
    assert world.status.succeeded == 3


def test_no_run_is_created_before_the_template_exists() -> None:
    world = BackfillPlanFixture(schedule={"workflow": None, "templateRef": {"name": "load"}})
    world.settle()
    waiting = world.status.state, world.condition, dict(world.runs)
    world.templates.add("load")
    world.complete()

    assert waiting == (
        "Waiting",
        ("Unknown", "TemplateNotFound", "WorkflowTemplate load does not exist: create it"),
        {},
    )
    assert world.ticks() == TICKS


@pytest.mark.parametrize(
    ("sources", "spec", "schedule", "message"),
    [
        (
            [{"name": "file", "trigger": {"class": "file"}}],
            {},
            {},
            "Schedule ingest has no cron source, and only a cron source has ticks in the past",
        ),
        (
            [CRON, HOURLY],
            {"source": "daily"},
            {},
            "Schedule ingest has no source daily; its sources are nightly, hourly",
        ),
        (
            [CRON, {"name": "file", "trigger": {"class": "file"}}],
            {"source": "file"},
            {},
            "source file is a trigger, and only a cron source has ticks in the past",
        ),
        (
            [CRON, HOURLY],
            {},
            {"allOf": ["nightly", "hourly"]},
            "the cron sources of Schedule ingest start runs only with other sources (allOf)",
        ),
        (
            [CRON, HOURLY],
            {"source": "nightly"},
            {"allOf": ["nightly", "hourly"]},
            "source nightly starts runs only together with other sources (allOf)",
        ),
    ],
)
def test_a_backfill_without_a_cron_source_fails(
    sources: list[dict[str, object]], spec: dict[str, str], schedule: dict[str, object], message: str
) -> None:
    world = BackfillPlanFixture(*sources, schedule=schedule, **spec)
    world.settle()

    assert world.status.state == "Failed"
    assert world.condition == ("False", "SourceNotFound", message)


def test_a_schedule_with_an_invalid_expression_is_waited_for() -> None:
    world = BackfillPlanFixture({"name": "nightly", "cron": "0 25 * * *"})
    world.settle()
    state, reason = world.status.state, world.condition[1]
    assert world.schedule is not None
    world.schedule["spec"]["sources"] = [CRON]
    world.complete()

    assert (state, reason) == ("Waiting", "ScheduleInvalid")
    assert world.ticks() == TICKS


def test_suspend_starts_no_run_and_lets_active_ones_end() -> None:
    world = BackfillPlanFixture()
    world.settle()
    world.backfill["spec"]["suspend"] = True
    world.finish()
    world.settle()
    suspended = world.status.state, world.ticks(), world.status.active
    world.backfill["spec"]["suspend"] = False
    world.complete()

    assert suspended == ("Suspended", TICKS[:1], 0)
    assert world.ticks() == TICKS


def test_a_suspended_backfill_that_has_run_everything_ends() -> None:
    world = BackfillPlanFixture(concurrency=3)
    world.settle()
    world.backfill["spec"]["suspend"] = True
    world.finish()
    world.settle()

    assert world.status.state == "Succeeded"


def test_cancel_starts_no_run_and_ends_after_the_active_ones() -> None:
    world = BackfillPlanFixture(concurrency=2)
    world.settle()
    world.backfill["spec"]["cancel"] = True
    world.settle()
    cancelling = world.status.state, world.condition[0]
    world.finish()
    world.settle()

    assert cancelling == ("Cancelling", "Unknown")
    assert world.status.state == "Cancelled"
    assert world.condition == ("False", "Cancelled", "cancelled after 2 ticks")
    assert world.ticks() == TICKS[:2]


def test_a_backfill_that_has_ended_stays_as_it_is() -> None:
    world = BackfillPlanFixture()
    world.complete()
    ended = world.status
    assert world.schedule is not None
    world.schedule["spec"]["sources"] = [HOURLY]
    world.backfill["spec"] |= {"suspend": True, "concurrency": 5}
    world.backfill["metadata"]["generation"] = 2
    world.settle()

    assert world.status == ended.model_copy(update={"observed_generation": 2})


def test_runs_that_were_created_without_a_status_are_counted_after_a_cancel() -> None:
    world = BackfillPlanFixture(concurrency=2)
    world.settle()
    del world.backfill["status"]
    world.backfill["spec"]["cancel"] = True
    world.settle()
    active = world.status.active
    world.finish()
    world.settle()

    assert active == 2
    assert (world.status.state, world.status.succeeded) == ("Cancelled", 2)
