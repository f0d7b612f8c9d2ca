"""What a search of ticks may cost: counted in months and in offsets that it reads, not in time."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import times
from torpor_wire.cron import offsets
from torpor_wire.cron.expression import CronExpression
from torpor_wire.cron.ticks import SEARCH_YEARS, Ticks

pytestmark = pytest.mark.attack

MONTHS_MAX = (SEARCH_YEARS + 2) * 12 * 3
"""Each month of a search is read once for each period that it belongs to, and once for its first day."""
OFFSETS_MAX = (SEARCH_YEARS + 2) * 150
"""A year has 74 samples, and 20 steps of bisection for each change."""

days = st.sampled_from(["*", "29", "31", "L", "LW", "*/31", "*/30", "1", "30,31", "*/29"])
months = st.sampled_from(["*", "2", "FEB,4", "1", "12"])
weekdays = st.sampled_from(["*", "MON", "5#5", "*/7", "0L", "*/6", "1#1"])
times_of_day = st.sampled_from(["* *", "0 0", "59 23", "*/5 2", "30 2", "* * *", "59 59 23", "0 */2"])
zones = st.sampled_from(["UTC", "Pacific/Chatham", "Africa/Casablanca", "Australia/Lord_Howe", "America/Nuuk"])
moments = st.integers(int(times.epoch("0100-01-01T00:00:00Z")), int(times.epoch("9000-01-01T00:00:00Z")))


class Reads:
    """The number of months and of offsets that were read."""

    def __init__(self) -> None:
        self.months = self.offsets = 0


@contextmanager
def counted() -> Iterator[Reads]:
    """Count what the searches read, without what earlier ones have left in caches."""
    reads, days_of, offset = Reads(), CronExpression.days_of, offsets._offset
    offsets._of_year.cache_clear()

    def read_month(self: CronExpression, year: int, month: int) -> int:
        reads.months += 1
        return days_of(self, year, month)

    def read_offset(*arguments: object) -> int:
        reads.offsets += 1
        return offset(*arguments)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CronExpression, "days_of", read_month)
        patch.setattr(offsets, "_offset", read_offset)
        yield reads


@given(times_of_day, days, months, weekdays, zones, moments)
def test_every_search_reads_a_bounded_number_of_months(  # noqa: PLR0913, PLR0917
    time: str, day: str, month: str, weekday: str, zone: str, moment: int
) -> None:
    try:
        ticks = Ticks.parse(f"{time} {day} {month} {weekday}", zone)
    except ValueError:
        return
    for search in (ticks.next, ticks.previous):
        with counted() as reads:
            search(float(moment))
        assert reads.months <= MONTHS_MAX
        assert reads.offsets <= OFFSETS_MAX


@pytest.mark.parametrize("expression", ["* * * * * *", "0 0 * * *", "0 0 29 2 *"])
def test_a_count_reads_years_and_not_ticks(expression: str) -> None:
    ticks, until = Ticks.parse(expression, "Pacific/Chatham"), times.epoch("2026-11-20T00:00:00Z")
    with counted() as reads:
        ticks.count(until - 10 * 365 * 86_400, until, 10**9)
    assert reads.months <= 11 * 12 * 3
    assert reads.offsets <= 11 * 150
