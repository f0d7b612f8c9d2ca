"""The source of a Schedule: its wait fires like that of a task with a pod, and the TaskRun goes on."""

import json
from typing import Any

import pytest
from torpor_wire import times

from tests.support.triggerer_fixture import start_with_wait, triggerer_fixture

SOURCE: dict[str, Any] = {"workflow": None, "schedule": {"name": "nightly", "uid": "s"}, "trigger": {"class": "odd"}}


@pytest.mark.parametrize(
    ("does", "event"),
    [
        ("fires", {"a": 1.0, "b": 1, "none": None}),
        ("ends well", {"rows": 3}),
        ("ends well as Airflow, without xcoms", None),
        ("yields a moment", {"at": "2026-01-01T00:00:00+00:00"}),
    ],
)
async def test_an_event_resumes_it_as_plain_json(does: str, event: Any) -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        await start_with_wait(world, "a", kwargs={"does": does}, spec=SOURCE)
        status = world.status("a")
        assert (status["state"], status["segment"]) == ("Scheduled", 1)
        assert json.loads(status["event"]) == event
        assert "result" not in status


async def test_a_tick_fires_with_its_cursor() -> None:
    async with triggerer_fixture() as world:
        world.taskrun(
            "a", "cron", {"expression": "@hourly", "cursor": times.rfc3339(world.now), "delay": 5}, spec=SOURCE
        )
        await world.start()
        await world.pass_time(3600)
        event = json.loads(world.status("a")["event"])
        assert event == {"at": "2023-11-14T23:00:00.000Z", "cursor": "2023-11-14T23:00:00.000Z"}


@pytest.mark.parametrize("archive", [True, False])
async def test_an_event_too_large_for_the_taskrun_fails_the_source(archive: bool) -> None:
    async with triggerer_fixture() as world:
        if archive:
            world.install_archive()
        await start_with_wait(world, "a", kwargs={"does": "yields 16 kB"}, spec=SOURCE)
        assert world.state_and_reason("a") == ("Failed", "EventInvalid")
        assert "bytes of JSON and 4096 fit on the TaskRun of a Schedule's source" in world.status("a")["message"]
        assert not world.archive.bodies


@pytest.mark.parametrize(("retries", "state"), [({"limit": 2}, "UpForRetry"), ({}, "Failed")])
async def test_a_failure_is_retried_as_its_spec_says(retries: dict[str, int], state: str) -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "raises"}, spec=SOURCE | {"retries": retries})
        assert world.state_and_reason("a") == (state, "TriggerFailed")


@pytest.mark.parametrize(("spec", "sent"), [(SOURCE, 0), ({"python": "m:f"}, 1)])
async def test_its_log_lines_are_not_sent_because_the_archive_keeps_logs_by_run(
    spec: dict[str, Any], sent: int
) -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        await start_with_wait(world, "a", kwargs={"does": "says much and raises"}, spec=spec)
        await world.pass_time(60)
        assert world.state_and_reason("a") == ("Failed", "TriggerFailed")
        assert len(world.archive.waits) == sent
