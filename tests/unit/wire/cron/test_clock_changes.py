"""Ticks around changes of the clocks, compared with their definition: each second is looked at."""

import random
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from torpor_wire import times
from torpor_wire.cron import offsets
from torpor_wire.cron.ticks import Ticks

from tests.support.cron_definition import Change, Definition, changes

HOUR = 3600
DAY = 86_400
# With a fixed time and without one, in all hours in which a zone changes its clocks, and on the day of a change.
EXPRESSIONS = (
    "30 2 * * *",
    "0,15,45 0-4 * * *",
    "0 */2 * * *",
    "*/15 3 * * *",
    "*/30 * * * *",
    "20,50 23,0 * * *",
    "0 1 1-31/3 * *",
    "5 0-23/2 * * 6,0",
    "*/10 0-3,22-23 */2 * 0-6/2",
)
WITH_SECONDS = ("*/20 30 */2 * * *", "0 15,45 0-3 * * *")
# Half an hour, midnight, the last hour of a day, two hours, 45 minutes of offset, a day that is missing.
NOTABLE = (
    "Australia/Lord_Howe",
    "America/Havana",
    "America/Nuuk",
    "Antarctica/Troll",
    "Pacific/Chatham",
    "Asia/Beirut",
    "Africa/Casablanca",
    "America/New_York",
    "Europe/Dublin",
)


def check(expression: str, change: Change, hours: int) -> None:
    """Compare all searches with the definition, so many hours before and after a change."""
    zone, definition = ZoneInfo(change.zone), Definition(expression)
    start, end = (at // 60 * 60 for at in (change.at - hours * HOUR, change.at + hours * HOUR))
    expected = [float(tick) for tick in definition.ticks(zone, start, end)]
    ticks, note = Ticks.parse(expression, change.zone), (expression, change)
    assert ticks.between(start - 1, end - 1, 10**6) == expected, note
    assert ticks.count(start - 1, end - 1, 10**6) == len(expected), note
    assert backwards(ticks, start, end) == expected[::-1], note
    middle = change.at + 7 * 60
    assert ticks.count(middle, end - 1, 10**6) == sum(tick > middle for tick in expected), note
    assert ticks.next(middle) == next((tick for tick in expected if tick > middle), ticks.next(middle)), note
    assert ticks.previous(middle) == max((tick for tick in expected if tick <= middle), default=ticks.previous(middle))


def backwards(ticks: Ticks, start: int, end: int) -> list[float]:
    previous_ticks = []
    tick = ticks.previous(end - 1)
    while tick is not None and tick >= start:
        previous_ticks.append(tick)
        tick = ticks.previous(tick - 1)
    return previous_ticks


def sample(number: int) -> Sequence[Change]:
    """Some changes of all zones in two years, and each of the notable zones."""
    all_changes = changes(2026, 2027)
    chosen = random.Random(20).sample(all_changes, number)
    return [*chosen, *(change for change in all_changes if change.zone in NOTABLE)]


def test_ticks_agree_with_their_definition_at_changes_of_the_clocks() -> None:
    for number, change in enumerate(sample(25)):
        for expression in EXPRESSIONS[number % 3 :: 3]:
            check(expression, change, 30)


def test_ticks_with_seconds_agree_with_their_definition() -> None:
    for number, change in enumerate(sample(3)):
        check(WITH_SECONDS[number % len(WITH_SECONDS)], change, 4)


@pytest.mark.long
def test_ticks_agree_with_their_definition_at_every_change_until_2037() -> None:
    for number, change in enumerate(changes(2020, 2037)):
        for expression in EXPRESSIONS[number % 2 :: 2]:
            check(expression, change, 26)


@pytest.mark.parametrize(
    ("expression", "timezone", "start", "expected"),
    [
        # The whole of 30 December 2011 is missing: its fixed times are one tick, when the 31st begins.
        ("0 6,12 * * *", "Pacific/Apia", "2011-12-29T20:00:00Z", ["12-29T22:00", "12-30T10:00", "12-30T16:00"]),
        ("0 */12 * * *", "Pacific/Apia", "2011-12-29T20:00:00Z", ["12-29T22:00", "12-30T10:00", "12-30T22:00"]),
        # Clocks went back at 00:01 to 23:01 of the day before.
        ("30 23 * * *", "America/St_Johns", "2010-11-06T12:00:00Z", ["11-07T02:00", "11-08T03:00", "11-09T03:00"]),
        ("30 * * * *", "America/St_Johns", "2010-11-07T01:45:00Z", ["11-07T02:00", "11-07T03:00", "11-07T04:00"]),
        # 24 hours came twice.
        ("0 12 * * *", "Pacific/Kwajalein", "1969-09-29T20:00:00Z", ["09-30T01:00", "10-02T00:00", "10-03T00:00"]),
        # Midnight does not exist: clocks go from 00:00 to 01:00.
        ("0 0 * * *", "America/Havana", "2026-03-07T12:00:00Z", ["03-08T05:00", "03-09T04:00", "03-10T04:00"]),
        ("*/30 0 * * *", "America/Havana", "2026-03-07T12:00:00Z", ["03-09T04:00", "03-09T04:30", "03-10T04:00"]),
        ("*/20 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:15:00Z", ["04-04T14:20", "04-04T14:40", "04-04T15:10"]),
    ],
)
def test_unusual_changes_follow_the_rules(expression: str, timezone: str, start: str, expected: list[str]) -> None:
    ticks = Ticks.parse(expression, timezone).between(times.epoch(start), times.epoch(start) + 9e8, 3)
    assert [times.rfc3339(tick)[5:16] for tick in ticks] == expected


@pytest.mark.parametrize("expression", ["0 */2 * * *", "*/15 3 * * *", "*/15 2-3 * * *", "30 2 * * *"])
def test_a_search_ends_in_chatham_when_its_clocks_change(expression: str) -> None:
    """Chatham changes at 02:45. A search by whole hours or days never came past it."""
    ticks = Ticks.parse(expression, "Pacific/Chatham")
    start, end = times.epoch("2026-04-01T00:00:00Z"), times.epoch("2026-04-08T00:00:00Z")
    found_ticks = ticks.between(start, end, 10_000)
    assert backwards(ticks, int(start) + 1, int(end) + 1) == found_ticks[::-1]
    assert ticks.count(start - 20_143_800, end, 10_000) == len(ticks.between(start - 20_143_800, end, 10_000))


def test_the_periods_of_a_zone_follow_one_another() -> None:
    for name in (*NOTABLE, "America/Recife", "Asia/Gaza"):
        zone, start = ZoneInfo(name), int(times.epoch("2000-01-01T00:00:00Z"))
        end = start + 60 * 366 * DAY
        periods = list(offsets.periods(zone, start, end))
        assert periods == list(offsets.periods_back(zone, start, end))[::-1]
        for former, period in pairwise(periods):
            assert former.end == period.start
            assert former.offset == period.before
            for moment in (period.start, (period.start + period.end) // 2, period.end - 1):
                offset = datetime.fromtimestamp(moment, zone).utcoffset()
                assert offset is not None
                assert offset.total_seconds() == period.offset
