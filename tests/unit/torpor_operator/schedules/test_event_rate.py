"""Sources that fire all the time: how many events, patches and Events the operator makes of them."""

from collections import Counter

import pytest
from torpor_crds.models import taskrun as taskruns
from torpor_kubernetes.client.resources import EVENTS, TASKRUNS
from torpor_operator.settings import Settings
from torpor_wire import times
from torpor_wire.state import State

from tests.support.builders import Body
from tests.support.schedules.harness import HOOK, STREAM, ScheduleHarness, entry

SECONDS = 60
RATE, BURST = 2, 10
NEVER = {"when": "false"}
SLOW = Settings(schedule_event_rate=RATE, schedule_event_burst=BURST)


def timers(count: int) -> list[Body]:
    trigger = {"class": "duration", "kwargs": {"duration": "1050ms"}}
    return [{"name": f"s{number}", "trigger": trigger} for number in range(count)]


def fire_due(harness: ScheduleHarness, *, after: float = 1.05) -> list[str]:
    """Fire each source that has waited for so long. Returns the names of the TaskRuns."""
    fired = []
    for run in map(taskruns.parse, harness.fake.all(TASKRUNS)):
        waited = harness.clock.now() - times.epoch(run.status.deferred_at or run.metadata.creation_timestamp)
        if run.status.state is State.DEFERRED and waited >= after and run.spec.schedule is not None:
            deferred = (run.status.deferred_seconds or 0.0) + waited
            harness.fire(run.spec.schedule.name, run.spec.task, "now", deferred=deferred)
            fired.append(run.metadata.name)
    return fired


async def flood(harness: ScheduleHarness, seconds: int) -> Counter[str]:
    """Fire whatever waits, ten times a second. Returns how often each source has fired."""
    fired: Counter[str] = Counter()
    for _ in range(10 * seconds):
        await harness.clock.advance(0.1)
        fired.update(fire_due(harness))
    return fired


@pytest.mark.attack
async def test_the_schedules_of_a_namespace_have_so_many_events_a_second() -> None:
    harness = ScheduleHarness(SLOW)
    async with harness.running():
        for number in range(3):
            harness.create(f"flood-{number}", *timers(4), **NEVER)
        fired = await flood(harness, SECONDS)
        armed = [write for write in harness.writes("PATCH", "taskruns") if "Deferred" in str(write.body)]
        assert len(armed) <= 12 + BURST + RATE * SECONDS
        assert fired.total() >= RATE * SECONDS
        assert max(fired.values()) - min(fired.values()) <= 2, "sources take turns"


@pytest.mark.attack
async def test_events_that_start_no_run_are_few_events_of_kubernetes() -> None:
    harness = ScheduleHarness(Settings(schedule_event_rate=1000))
    async with harness.running():
        for number in range(2):
            harness.create(f"flood-{number}", *timers(4), **NEVER)
        fired = await flood(harness, 30)
        assert fired.total() > 150
        assert len(harness.fake.all(EVENTS)) <= 2 * 10
        assert sum(harness.status(f"flood-{number}")["skipped"] for number in range(2)) >= fired.total() - 8


async def test_an_event_above_the_rate_waits_and_is_not_lost() -> None:
    harness = ScheduleHarness(Settings(schedule_event_rate=1, schedule_event_burst=1))
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Allow", history={"succeeded": 100, "failed": 100})
        await harness.advance(1)
        number = 0
        for _ in range(200):
            await harness.clock.advance(0.1)
            if harness.taskrun("s", "orders").status.state is State.DEFERRED:
                number += 1
                harness.fire("s", "orders", entry(number))
        await harness.clock.advance(5)
        assert 19 <= number <= 22
        assert len(harness.runs("s")) == number
        assert harness.cursor("s", "orders") == f"{number}-0"


async def test_a_source_within_the_rate_is_armed_at_once() -> None:
    harness = ScheduleHarness()
    async with harness.running():
        harness.create("s", STREAM, HOOK, concurrencyPolicy="Allow")
        await harness.advance(1)
        for number in range(1, 6):
            harness.fire("s", "orders", entry(number))
            await harness.clock.advance(0.0)
            assert harness.taskrun("s", "orders").status.state is State.DEFERRED


async def test_a_long_delay_is_an_event_on_the_schedule() -> None:
    harness = ScheduleHarness(Settings(schedule_event_rate=1, schedule_event_burst=1))
    async with harness.running():
        harness.create("s", *timers(20), **NEVER)
        await flood(harness, 20)
        messages = harness.events("EventsDelayed")
        assert len(messages) == 1
        assert "more than 1 events a second" in messages[0]
