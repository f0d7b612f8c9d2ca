"""A Schedule whose events start no runs says so, until one does."""

import pytest
from torpor_kubernetes.client.resources import SCHEDULES
from torpor_wire import constants

from tests.support.builders import NAMESPACE
from tests.support.schedules.harness import ScheduleHarness

MINUTELY = {"name": "tick", "cron": "* * * * *"}


@pytest.fixture
def harness() -> ScheduleHarness:
    harness = ScheduleHarness()
    harness.clock.jump(65 - harness.clock.now() % 60)
    return harness


async def test_three_failures_in_a_row_are_reported_until_a_run_starts(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, concurrencyPolicy="Allow", params={"day": "${event.nothing.day}"})
        await harness.advance(120)
        assert harness.status("s")["failed"] == 2
        assert harness.condition("s", "Ready")["status"] == "True"
        await harness.advance(60)
        ready = harness.condition("s", "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "EventFailed")
        assert ready["message"].startswith("the last 3 events started no run: params: ")
        assert harness.status("s")["failed"] == 3
        assert len(harness.events("EventFailed")) == 3
        harness.edit("s", params={"day": "${at}"})
        await harness.advance(2)
        assert harness.condition("s", "Ready")["status"] == "True"
        await harness.advance(60)
        status = harness.status("s")
        assert (status["started"], status["failed"], status.get("consecutiveFailures", 0)) == (1, 3, 0)


async def test_a_run_ends_a_row_of_failures(harness: ScheduleHarness) -> None:
    rule = "${previous == null && int(at.substring(14, 16)) % 4 != 0 ? event.nothing : 'x'}"
    async with harness.running():
        harness.create("s", MINUTELY, concurrencyPolicy="Allow", params={"day": rule})
        seen = set()
        for _ in range(5):
            await harness.advance(60)
            status = harness.status("s")
            seen.add((harness.condition("s", "Ready")["status"], status.get("consecutiveFailures", 0) >= 3))
        assert harness.status("s")["started"] >= 1
        assert harness.condition("s", "Ready")["status"] == "True"
        assert seen <= {("True", False), ("False", True)}


async def test_runs_whose_params_do_not_fit_count_as_failures(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, concurrencyPolicy="Allow", history={"succeeded": 9, "failed": 9})
        for number in range(1, 4):
            await harness.advance(60)
            assert harness.condition("s", "Ready")["status"] == "True"
            name = harness.status("s")["lastRun"]["name"]
            harness.end(name, "Failed", "ParamsInvalid", "param day is missing")
            await harness.advance(2)
            assert harness.condition("s", "Ready")["status"] == ("False" if number == 3 else "True")
        ready = harness.condition("s", "Ready")
        assert ready["message"] == f"the last 3 events started no run: run {name}: param day is missing"
        assert harness.status("s")["failed"] == 2
        await harness.advance(60)
        assert harness.status("s")["failed"] == 3
        assert len(harness.events("EventFailed")) == 3
        harness.end(harness.status("s")["lastRun"]["name"])
        await harness.advance(60)
        assert harness.status("s").get("consecutiveFailures", 0) == 0
        assert harness.condition("s", "Ready")["status"] == "True"


async def test_a_request_that_fails_says_nothing_about_the_events(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", {"name": "yearly", "cron": "@yearly"}, params={"day": "${event.nothing}"})
        for number in range(4):
            await harness.advance(2)
            annotations = {constants.RUN_NOW: f"{number}"}
            harness.fake.edit(SCHEDULES, NAMESPACE, "s", {"metadata": {"annotations": annotations}})
        await harness.advance(5)
        assert harness.status("s")["failed"] == 4
        assert harness.condition("s", "Ready")["status"] == "True"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"cron": "0 0 */31,LW * 6#5"}, "source tick: cron '0 0 */31,LW * 6#5' never ticks"),
        ({"cron": "0 0 * 2 MON#5"}, "ticks less often than once in 12 years"),
        (
            {"cron": "*/5 2 29 3 */7", "timezone": "Europe/Berlin"},
            "cron '*/5 2 29 3 */7' never ticks in time zone Europe/Berlin",
        ),
    ],
)
async def test_a_source_without_ticks_is_reported_and_stops_no_other(
    harness: ScheduleHarness, source: dict[str, str], message: str
) -> None:
    async with harness.running():
        harness.create("s", MINUTELY | source, {"name": "other", "cron": "* * * * *"}, concurrencyPolicy="Allow")
        await harness.advance(200)
        ready = harness.condition("s", "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "SourceFailed")
        assert message in ready["message"]
        (event,) = harness.events("TriggerInvalid")
        assert message in event
        assert harness.status("s")["started"] == 3
