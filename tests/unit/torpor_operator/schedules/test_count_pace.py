"""The counts of runs in the status of a Schedule: at once, or with the status of the next tick."""

import pytest
from torpor_crds.models.schedule_status import ScheduleStatus
from torpor_kubernetes.client.resources import SCHEDULES
from torpor_operator.schedules.count_pace import LONGEST, SOON, counts_due
from torpor_wire import times

from tests.support.schedules.harness import ScheduleHarness

NOW = 1_700_000_000.0
INTERVAL = 1.0
LATER, WITH_TICK = NOW + INTERVAL, NOW + LONGEST


def status(seconds: float | None = SOON, **fields: object) -> ScheduleStatus:
    """The status of a Schedule whose next tick is so many seconds away."""
    tick = None if seconds is None else times.rfc3339(NOW + seconds)
    return ScheduleStatus.model_validate({"active": 0, "next": tick} | fields)


@pytest.mark.parametrize(
    ("stored", "wanted", "due"),
    [
        pytest.param(status(active=1), status(), WITH_TICK, id="a tick comes soon"),
        pytest.param(status(active=1), status(SOON + 1), LATER, id="the tick is further away"),
        pytest.param(status(active=1), status(None), LATER, id="no tick is known: an event may come at any time"),
        pytest.param(status(), status(queued=1), LATER, id="a run is queued"),
        pytest.param(status(queued=1), status(active=1), LATER, id="a queued run starts"),
        pytest.param(status(active=1), status(suspended=True), LATER, id="no tick is run"),
    ],
)
def test_counts_wait_only_for_a_tick_that_comes_soon(
    stored: ScheduleStatus, wanted: ScheduleStatus, due: float
) -> None:
    assert counts_due(stored, wanted, written=NOW, interval=INTERVAL, now=NOW) == due


def writes(harness: ScheduleHarness) -> int:
    return sum(request.path.endswith(f"{SCHEDULES.plural}/s/status") for request in harness.fake.writes())


async def test_the_end_of_a_run_between_two_ticks_of_a_minute_is_no_write(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", {"name": "tick", "cron": "* * * * *"}, history={"succeeded": 10})
        await harness.advance(60 - harness.clock.now() % 60 + 5)
        (run,) = harness.runs("s")
        before = writes(harness)
        harness.end(run["metadata"]["name"])
        await harness.advance(45)
        assert writes(harness) == before
        assert harness.status("s")["active"] == 1
        await harness.advance(15)
        assert writes(harness) == before + 1
        assert (harness.status("s")["started"], harness.status("s")["active"]) == (2, 1)


async def test_the_end_of_a_run_of_an_hourly_schedule_is_counted_at_once(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", {"name": "tick", "cron": "0 * * * *"})
        await harness.advance(3600 - harness.clock.now() % 3600 + 5)
        (run,) = harness.runs("s")
        harness.end(run["metadata"]["name"])
        await harness.advance(5)
        assert harness.status("s")["active"] == 0


async def test_counts_are_stored_after_two_minutes_without_a_tick(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", {"name": "tick", "cron": "* * * * *"})
        await harness.advance(60 - harness.clock.now() % 60 + 5)
        (run,) = harness.runs("s")
        harness.end(run["metadata"]["name"])
        await harness.pause(LONGEST - 10)
        assert harness.status("s")["active"] == 1
        await harness.pause(15)
        assert harness.status("s")["active"] == 0
