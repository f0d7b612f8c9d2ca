"""Which runs a Backfill creates, and in which order."""

import pytest
from torpor_crds.models import workflow as workflows
from torpor_wire import names, times

from tests.support.schedules.backfill_plan_fixture import CRON, NOW, BackfillPlanFixture

TICKS = ["2026-05-01T02:00:00", "2026-05-02T02:00:00", "2026-05-03T02:00:00"]
HOURLY = {"name": "hourly", "cron": "0 * * * *"}


def test_each_tick_of_the_period_gets_a_run_one_after_the_other() -> None:
    world = BackfillPlanFixture()
    world.complete()

    assert world.ticks() == TICKS
    assert world.most_active == 1
    assert world.condition == ("True", "Succeeded", "3 runs succeeded, 0 ticks passed over")


def test_a_run_is_that_of_its_tick_and_of_the_backfill() -> None:
    world = BackfillPlanFixture()
    world.settle()
    (created,) = world.runs.values()
    at = "2026-05-01T02:00:00.000Z"

    assert created["metadata"]["name"] == names.run(
        "ingest", names.tick_key("schedule-uid", "nightly", times.epoch(at))
    )
    assert created["metadata"]["labels"] == {"torpor.dev/schedule": "ingest", "torpor.dev/backfill": "may"}
    assert created["spec"]["runOf"] == {
        "schedule": "ingest",
        "uid": "schedule-uid",
        "source": "nightly",
        "at": at,
        "event": f'{{"at":"{at}","cursor":"{at}"}}',
        "backfill": "may",
    }


@pytest.mark.parametrize("concurrency", [2, 3, 10])
def test_concurrency_limits_the_active_runs(concurrency: int) -> None:
    world = BackfillPlanFixture(to="2026-05-21T00:00:00Z", concurrency=concurrency)
    world.complete()

    assert len(world.created) == 20
    assert world.most_active == concurrency


def test_reverse_begins_with_the_latest_tick() -> None:
    world = BackfillPlanFixture(reverse=True)
    world.complete()

    assert world.ticks() == TICKS[::-1]


def test_all_cron_sources_are_run_in_the_order_of_their_ticks() -> None:
    world = BackfillPlanFixture(
        CRON, {"name": "other", "cron": "0 2 * * *"}, {"name": "file", "trigger": {"class": "file"}}, to=TICKS[1] + "Z"
    )
    world.complete()

    assert [world.runs[name]["spec"]["runOf"]["source"] for name in world.created] == ["nightly", "other"]


def test_suspension_and_limits_in_time_of_the_schedule_do_not_apply() -> None:
    limits = {"suspend": True, "notBefore": "2026-06-02T00:00:00Z", "jitter": "1h", "concurrencyPolicy": "Replace"}
    world = BackfillPlanFixture(schedule=limits)
    world.complete()

    assert world.ticks() == TICKS


def test_one_cron_source_can_be_chosen() -> None:
    world = BackfillPlanFixture(CRON, HOURLY, source="nightly")
    world.complete()

    assert world.ticks() == TICKS


def test_ticks_after_the_start_of_the_backfill_are_left_to_the_schedule() -> None:
    world = BackfillPlanFixture(start="2026-05-31T00:00:00Z", to="2026-07-01T00:00:00Z")
    world.step()
    world.now = NOW + 10 * 86_400
    world.complete()

    assert world.ticks() == ["2026-05-31T02:00:00", "2026-06-01T02:00:00"]


def test_a_period_in_the_future_has_no_ticks() -> None:
    world = BackfillPlanFixture(start="2026-07-01T00:00:00Z", to="2026-08-01T00:00:00Z")
    world.complete()

    assert world.condition == ("True", "Succeeded", "the period has no ticks before the start of the Backfill")
    assert world.status.progress == "0/0"


def test_the_zone_of_the_source_and_its_daylight_saving_time_apply() -> None:
    world = BackfillPlanFixture(
        {**CRON, "cron": "30 2 * * *", "timezone": "Europe/Berlin"},
        start="2026-03-28T00:00:00Z",
        to="2026-03-31T00:00:00Z",
    )
    world.complete()

    assert world.ticks() == ["2026-03-28T01:30:00", "2026-03-29T01:00:00", "2026-03-30T00:30:00"]


def test_params_of_the_backfill_replace_those_of_the_schedule() -> None:
    world = BackfillPlanFixture(
        schedule={
            "workflow": {
                "image": "i",
                "params": {"region": "eu", "kept": 1},
                "tasks": [{"name": "a", "python": "m:f"}],
            },
            "params": {"day": "${at}", "region": "${source}", "none": "${previous == null}", "raw": "${event}"},
        },
        params={"region": "us", "tick": "${event.cursor}"},
        to=TICKS[1] + "Z",
    )
    world.settle()
    at = "2026-05-01T02:00:00.000Z"

    assert world.run(at)[0]["spec"]["params"] == {
        "kept": 1,
        "day": at,
        "region": "us",
        "none": True,
        "raw": {"at": at, "cursor": at},
        "tick": at,
    }


def test_ticks_for_which_when_is_false_are_passed_over() -> None:
    world = BackfillPlanFixture(schedule={"when": "${timestamp(at).getDate() != 2}"}, concurrency=5)
    world.settle()

    assert world.ticks() == [TICKS[0], TICKS[2]]
    assert (world.status.started, world.status.passed) == (2, 1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"when": "event.missing"}, "when: "),
        ({"when": "1"}, "when: the value is a number; it must be true or false"),
        ({"params": {"x": "${event.missing}"}}, "params: "),
    ],
)
def test_an_expression_that_fails_fails_its_tick_and_the_others_go_on(spec: dict[str, object], message: str) -> None:
    world = BackfillPlanFixture(schedule=spec)
    world.complete()

    assert world.created == []
    assert (world.status.failed, world.status.state) == (3, "Failed")
    assert f"tick 2026-05-03T02:00:00.000Z of source nightly has no run: {message}" in (world.status.last_failure or "")
    assert world.condition[:2] == ("False", "RunsFailed")


def test_a_run_that_the_api_server_rejects_fails_only_its_tick() -> None:
    world = BackfillPlanFixture()
    first = names.run("ingest", names.tick_key("schedule-uid", "nightly", times.epoch(TICKS[0] + "Z")))
    world.rejects[first] = "spec.params: too many"
    world.complete()

    assert world.ticks() == TICKS[1:]
    assert world.condition[:2] == ("False", "RunsFailed")
    assert world.condition[2] == (
        "1 of 3 ticks failed; the last: tick 2026-05-01T02:00:00.000Z of source nightly has no run: "
        "spec.params: too many"
    )


def test_after_an_edit_of_the_schedule_the_remaining_ticks_are_new() -> None:
    world = BackfillPlanFixture()
    world.settle()
    assert world.schedule is not None
    world.schedule["spec"]["sources"] = [{"name": "nightly", "cron": "0 2,14 * * *"}]
    world.schedule["metadata"]["generation"] = 2
    world.complete()

    assert world.ticks() == [
        "2026-05-01T02:00:00",
        "2026-05-01T14:00:00",
        "2026-05-02T02:00:00",
        "2026-05-02T14:00:00",
        "2026-05-03T02:00:00",
        "2026-05-03T14:00:00",
    ]
    assert world.status.progress == "6/6"


def test_created_runs_are_valid_workflows() -> None:
    world = BackfillPlanFixture()
    world.settle()
    (created,) = world.runs.values()
    run_of = workflows.parse(created).spec.run_of

    assert run_of is not None
    assert run_of.backfill == "may"
