"""The reservations of the sources of a namespace, and how long they are kept."""

import pytest
from torpor_crds.models import taskrun as taskruns
from torpor_operator.model.actions import PatchTaskRun
from torpor_operator.schedules.event_pace import EventPace

from tests.support.fake_api import VirtualClock


def arming(uid: str, segment: int = 0) -> PatchTaskRun:
    """The action that arms a source after an event."""
    metadata = {"name": uid, "namespace": "team", "uid": uid, "resourceVersion": "1"}
    schedule = {"name": "s", "uid": "s"}
    body = {
        "metadata": metadata,
        "spec": {"schedule": schedule, "task": "t", "trigger": {"class": "cron", "kwargs": "{}"}},
        "status": {"state": "Scheduled", "segment": segment, "event": "1"},
    }
    return PatchTaskRun(taskrun=taskruns.parse(body), patch=[])


@pytest.mark.attack
async def test_a_long_delay_of_a_namespace_keeps_no_reservations_of_others() -> None:
    clock = VirtualClock()
    pace = EventPace(clock, rate=1, burst=1)
    pace.admit("busy", [arming(f"busy-{number}") for number in range(1000)])
    for number in range(300):
        pace.admit("team", [arming("steady", number)])
        await clock.advance(1)
    assert len(pace) <= 1000 + 100


async def test_the_reservations_of_an_idle_namespace_are_forgotten() -> None:
    clock = VirtualClock()
    pace = EventPace(clock, rate=10, burst=10)
    for number in range(20):
        pace.admit(f"team-{number}", [arming(f"source-{number}")])
    await clock.advance(120)
    for _ in range(30):
        pace.admit("team", [])
    assert len(pace) == 0
