"""Schedules whose ticks are made to cost much: a pass reads a bounded number of months, and others have their runs."""

import pytest
from torpor_operator.schedules import reconciler
from torpor_operator.schedules.plan.actions import SchedulePlan
from torpor_operator.schedules.plan.planner import plan
from torpor_operator.schedules.plan.snapshot import ScheduleSnapshot
from torpor_wire.cron.expression import CronExpression

from tests.support.schedules.harness import ScheduleHarness

pytestmark = pytest.mark.attack

PASS_MONTHS = 10_000
"""A month costs a microsecond: a pass of 20 sources stays far below 50 ms."""


def sources(expression: str, **more: str) -> list[dict[str, str]]:
    return [{"name": f"s{number}", "cron": expression, **more} for number in range(20)]


@pytest.mark.parametrize(
    ("expression", "zone", "cursor", "run"),
    [
        ("0 0 */31,LW * 6#5", "UTC", None, "Last"),
        ("*/5 2 29 3 */7", "Europe/Berlin", None, "Last"),
        ("0 0 */31 1 */3", "Pacific/Chatham", "0100-01-01T00:00:00Z", "All"),
        ("0 */2 * * *", "Pacific/Chatham", "2000-04-01T00:00:00Z", "None"),
        ("*/10 * * * * *", "Pacific/Chatham", "1000-01-01T00:00:00Z", "None"),
    ],
)
async def test_a_pass_over_twenty_hostile_sources_is_bounded(
    monkeypatch: pytest.MonkeyPatch, expression: str, zone: str, cursor: str | None, run: str
) -> None:
    harness, days_of, read, passes = ScheduleHarness(), CronExpression.days_of, [0], list[int]()

    def read_month(self: CronExpression, year: int, month: int) -> int:
        read[0] += 1
        return days_of(self, year, month)

    def noted(snapshot: ScheduleSnapshot) -> SchedulePlan:
        before = read[0]
        try:
            return plan(snapshot)
        finally:
            passes.append(read[0] - before)

    monkeypatch.setattr(CronExpression, "days_of", read_month)
    monkeypatch.setattr(reconciler, "plan", noted)
    position = {} if cursor is None else {"cursor": cursor}
    async with harness.running():
        hostile = sources(expression, timezone=zone, **position)
        harness.create("hostile", *hostile, missed={"run": run, "within": "20143800s"})
        harness.create("good", {"name": "tick", "cron": "* * * * *"}, concurrencyPolicy="Allow")
        await harness.advance(65)
        assert len(harness.runs("good")) == 1
    assert max(passes) <= PASS_MONTHS
