"""The source of a Schedule: its wait fires like that of a task with a pod, and the TaskRun goes on."""

import json
from typing import Any

import pytest
from torpor_wire import times

from tests.support.triggerer_world import begun, world

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
    async with world() as made:
        made.install_archive()
        await begun(made, "a", kwargs={"does": does}, spec=SOURCE)
        status = made.status("a")
        assert (status["state"], status["segment"]) == ("Scheduled", 1)
        assert json.loads(status["event"]) == event
        assert "result" not in status


async def test_a_tick_fires_with_its_cursor() -> None:
    async with world() as made:
        made.taskrun("a", "cron", {"expression": "@hourly", "cursor": times.rfc3339(made.now), "delay": 5}, spec=SOURCE)
        await made.start()
        await made.pass_time(3600)
        event = json.loads(made.status("a")["event"])
        assert event == {"at": "2023-11-14T23:00:00.000Z", "cursor": "2023-11-14T23:00:00.000Z"}


@pytest.mark.parametrize("archive", [True, False])
async def test_an_event_too_large_for_the_taskrun_fails_the_source(archive: bool) -> None:
    async with world() as made:
        if archive:
            made.install_archive()
        await begun(made, "a", kwargs={"does": "yields 16 kB"}, spec=SOURCE)
        assert made.stands("a") == ("Failed", "EventInvalid")
        assert "bytes of JSON and 4096 fit on the TaskRun of a Schedule's source" in made.status("a")["message"]
        assert not made.archive.bodies


@pytest.mark.parametrize(("retries", "state"), [({"limit": 2}, "UpForRetry"), ({}, "Failed")])
async def test_a_failure_is_retried_as_its_spec_says(retries: dict[str, int], state: str) -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "raises"}, spec=SOURCE | {"retries": retries})
        assert made.stands("a") == (state, "TriggerFailed")


@pytest.mark.parametrize(("spec", "sent"), [(SOURCE, 0), ({"python": "m:f"}, 1)])
async def test_its_log_lines_are_not_sent_because_the_archive_keeps_logs_by_run(
    spec: dict[str, Any], sent: int
) -> None:
    async with world() as made:
        made.install_archive()
        await begun(made, "a", kwargs={"does": "says much and raises"}, spec=spec)
        await made.pass_time(60)
        assert made.stands("a") == ("Failed", "TriggerFailed")
        assert len(made.archive.waits) == sent
