"""The controller of Schedules while its watches are late."""

from typing import Any

import pytest

from tests.support.schedules.harness import ScheduleHarness

MINUTELY = {"name": "tick", "cron": "* * * * *"}
FEW = 6


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> ScheduleHarness:
    """A harness whose watches show nothing after the first deletion."""
    harness = ScheduleHarness()
    delete = harness.fake.objects.delete

    def hold(*args: Any) -> Any:
        harness.fake.hold_watches()
        return delete(*args)

    monkeypatch.setattr(harness.fake.objects, "delete", hold)
    harness.clock.jump(60 - harness.clock.now() % 60 + 5)
    return harness


async def test_a_deleted_run_is_not_deleted_again_and_again(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY, history={"succeeded": 0})
        await harness.advance(60)
        (run,) = harness.runs("s")
        harness.end(run["metadata"]["name"])
        await harness.advance(10)
        assert 1 <= len(harness.writes("DELETE", "workflows")) <= FEW


async def test_a_deleted_source_is_not_deleted_again_and_again(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", MINUTELY)
        await harness.advance(5)
        harness.edit("s", sources=[MINUTELY | {"cron": "*/2 * * * *"}])
        await harness.advance(10)
        assert 1 <= len(harness.writes("DELETE", "taskruns")) <= FEW
