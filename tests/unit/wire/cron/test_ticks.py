"""The ticks of cron expressions: each once, in order, in any time zone."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import times
from torpor_wire.cron import expression as parsing
from torpor_wire.cron.ticks import Ticks

BERLIN = "Europe/Berlin"
DAY = 86_400.0

expressions = st.sampled_from(
    [
        "* * * * *",
        "*/7 1-3 * * *",
        "0 */5 * * *",
        "0,30 2 * * *",
        "30 1,2,3 * * *",
        "15 0 * * *",
        "45 23 * * SAT,SUN",
        "0 0 L * *",
        "*/20 30 */2 * * *",
        "0 30 1,2 * * *",
        "@daily",
        "@hourly",
    ]
)
# They change at 01:00, 02:00, 03:00 and at midnight, in both hemispheres; one repeats the last hour of a day.
zones = st.sampled_from(
    [
        None,
        BERLIN,
        "America/New_York",
        "America/Havana",
        "America/Santiago",
        "America/St_Johns",
        "Atlantic/Azores",
        "Asia/Beirut",
        "Antarctica/Troll",
    ]
)


def hours_after(day: str) -> st.SearchStrategy[float]:
    """Minutes of 60 hours."""
    start = times.epoch(day)
    return st.integers(0, 60 * 60).map(lambda minutes: start + 60.0 * minutes)


# Any time, and hours around the changes of Berlin, of New York, and of other zones in these weeks.
instants = st.one_of(
    st.floats(times.epoch("2026-01-01T00:00:00Z"), times.epoch("2027-01-01T00:00:00Z")),
    hours_after("2026-03-07T00:00:00Z"),
    hours_after("2026-03-28T00:00:00Z"),
    hours_after("2026-10-24T00:00:00Z"),
    hours_after("2026-10-31T00:00:00Z"),
)


def at(text: str) -> float:
    return times.epoch(text)


def shown(moments: list[float]) -> list[str]:
    return [datetime.fromtimestamp(moment, UTC).strftime("%m-%dT%H:%M") for moment in moments]


@pytest.mark.parametrize(
    ("expression", "timezone", "after", "ticks"),
    [
        ("30 2 * * *", BERLIN, "2026-03-28T12:00:00Z", ["03-29T01:00", "03-30T00:30"]),
        ("0,30 2 * * *", BERLIN, "2026-03-28T12:00:00Z", ["03-29T01:00", "03-30T00:00"]),
        ("30 2 * * *", BERLIN, "2026-10-24T12:00:00Z", ["10-25T00:30", "10-26T01:30"]),
        ("30 2 * * *", BERLIN, "2026-10-25T01:10:00Z", ["10-26T01:30", "10-27T01:30"]),
        ("30 * * * *", BERLIN, "2026-10-25T00:00:00Z", ["10-25T00:30", "10-25T01:30"]),
        ("0 0 29 2 *", None, "2026-11-20T08:00:00Z", ["02-29T00:00", "02-29T00:00"]),
        ("*/30 0 0 1 1 *", None, "2026-11-20T08:00:00Z", ["01-01T00:00", "01-01T00:00"]),
        ("@weekly", None, "2026-11-20T08:00:00Z", ["11-22T00:00", "11-29T00:00"]),
        (" @Daily ", "UTC", "2026-11-20T08:00:00Z", ["11-21T00:00", "11-22T00:00"]),
    ],
)
def test_ticks_follow_the_rules_of_cron(expression: str, timezone: str | None, after: str, ticks: list[str]) -> None:
    assert shown(Ticks.parse(expression, timezone).between(at(after), at(after) + 9e9, 2)) == ticks


@pytest.mark.parametrize("name", sorted(parsing.NAMES))
def test_every_name_is_an_expression(name: str) -> None:
    assert Ticks.parse(name, None) == Ticks.parse(parsing.NAMES[name], "UTC")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "cron '' has 0 fields; it must have five (minute, hour, day of month, month, day of week), six with"),
        ("0 6 * *", "has 4 fields"),
        ("0 0 6 * * * *", "has 7 fields"),
        ("61 * * * *", "cron '61 * * * *': '61' is not valid for the minute"),
        ("* 24 * * *", "'24' is not valid for the hour"),
        ("60 * * * * *", "'60' is not valid for the second"),
        ("0 0 0 * *", "'0' is not valid for the day of month"),
        ("0 0 * MAI *", "'MAI' is not valid for the month"),
        ("0 0 * * FRI-MON", "'FRI-MON' is not valid for the day of week; a range must not wrap: write 5-6,0-1"),
        ("0 0 * * FRI-SUN", "write 5-6,0"),
        ("0 22-2 * * *", "'22-2' is not valid for the hour; a range must not wrap: write 22-23,0-2"),
        ("0 0 * * L5", "'L5' is not valid for the day of week; write 5L for the last Friday of a month"),
        ("0 0 * * L", "write 5L for the last Friday of a month"),
        ("0 0 15W * *", "write LW for the last day from Monday to Friday"),
        ("0 0 * * 5#6", "write 5#2 for the second Friday; the number is 1 to 5"),
        ("? 0 * * *", "'?' is not valid for the minute; write *; only the day fields accept ?"),
        ("0 0 1,? * *", "'1,?' is not valid for the day of month; write ? or * alone"),
        ("*/0 * * * *", "'*/0' is not valid for the minute"),
        ("0 0 L-3 * *", "'L-3' is not valid for the day of month; write L for the last day of the month"),
        ("٣ * * * *", "'٣' is not valid for the minute"),
        ("0 0 31 2 *", "cron '0 0 31 2 *' never ticks"),
        ("@reboot", "or be one of @yearly,"),
    ],
)
def test_an_invalid_expression_is_rejected_with_a_sentence(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^cron ") as caught:
        Ticks.parse(expression, None)
    assert message in str(caught.value)


@pytest.mark.parametrize("timezone", ["Europe/Berln", "", "../UTC", "/etc/passwd", "Europe", "Europe/Berlin\x00", "é"])
def test_an_unknown_time_zone_is_rejected_with_a_sentence(timezone: str) -> None:
    with pytest.raises(ValueError, match="is unknown; use an IANA name such as Europe/Berlin"):
        Ticks.parse("@daily", timezone)


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("0 6 ? * MON", "0 6 * * MON"),
        ("0 6 1 * ?", "0 6 1 * *"),
        ("0 6 * * 7", "0 6 * * SUN"),
        ("5/15 * * * *", "5-59/15 * * * *"),
        ("0 0 L/2 jan-MAR *", "0 0 L 1-3 *"),
        ("007 6 * * fri", "7 6 * * 5"),
        ("0 12 * * 0,7,SUN", "0 12 * * 0"),
        ("10,20,30 6 * * *", "10-30/10 6 * * *"),
    ],
)
def test_expressions_may_be_spelled_in_several_ways(expression: str, same: str) -> None:
    start = at("2026-11-20T08:00:00Z")
    ticks = Ticks.parse(expression, BERLIN).between(start, start + 900 * DAY, 50)
    assert ticks == Ticks.parse(same, BERLIN).between(start, start + 900 * DAY, 50)
    assert ticks


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 0 L * *", ["11-30", "12-31", "01-31", "02-28"]),
        ("0 0 LW * *", ["11-30", "12-31", "01-29", "02-26"]),
        ("0 0 * * 5L", ["11-27", "12-25", "01-29", "02-26"]),
        ("0 0 * * 5#2", ["12-11", "01-08", "02-12", "03-12"]),
        ("0 0 13 * 5", ["11-20", "11-27", "12-04", "12-11"]),
        ("0 0 13,14 * FRI", ["11-20", "11-27", "12-04", "12-11"]),
        ("0 0 */2 * MON-FRI", ["11-23", "11-25", "11-27", "12-01"]),
        ("0 0 1-7 * */7", ["12-06", "01-03", "02-07", "03-07"]),
        ("0 0 31 * *", ["12-31", "01-31", "03-31", "05-31"]),
    ],
)
def test_days_follow_the_rule_of_debian(expression: str, days: list[str]) -> None:
    start = at("2026-11-19T08:00:00Z")
    assert [text[:5] for text in shown(Ticks.parse(expression, None).between(start, 9e9, 4))] == days


@given(expressions, zones, instants)
def test_each_tick_is_found_once_from_every_start(expression: str, timezone: str | None, after: float) -> None:
    ticks = Ticks.parse(expression, timezone)
    following: list[float] = []
    position, until = after, after + 2 * DAY
    while len(following) < 200 and (tick := ticks.next(position)) is not None and tick <= until:
        following.append(tick)
        position = tick
    assert all(earlier < later for earlier, later in pairwise([after, *following]))
    assert ticks.between(after, until, 200) == following
    assert ticks.count(after, until, 200) == len(following)


@given(expressions, zones, instants)
def test_the_previous_tick_is_the_last_of_the_ticks_before(expression: str, timezone: str | None, until: float) -> None:
    ticks = Ticks.parse(expression, timezone)
    previous = ticks.previous(until)
    assert previous is not None
    assert previous <= until
    assert ticks.previous(previous) == previous
    assert ticks.next(previous - 1) == previous
    later = ticks.next(previous)
    assert later is not None
    assert later > until


@pytest.mark.parametrize(
    ("expression", "until", "previous"),
    [
        # 02:15 of the second pass: 02:45 of the first pass is before it.
        ("45 2 * * *", "2026-10-25T01:15:00Z", "10-25T00:45"),
        ("0,30 2 * * *", "2026-10-25T01:15:00Z", "10-25T00:30"),
        ("*/10 * * * *", "2026-10-25T01:15:00Z", "10-25T01:10"),
        ("30 2 * * *", "2026-03-29T00:59:59Z", "03-28T01:30"),
        ("30 2 * * *", "2026-03-29T01:00:00Z", "03-29T01:00"),
        ("* * * * * *", "2026-03-29T01:00:00.999Z", "03-29T01:00"),
    ],
)
def test_the_previous_tick_respects_the_change_of_the_clocks(expression: str, until: str, previous: str) -> None:
    tick = Ticks.parse(expression, BERLIN).previous(at(until))
    assert tick is not None
    assert shown([tick]) == [previous]


@given(expressions, instants)
def test_ticks_after_a_shift_by_half_an_hour_stay_in_order(expression: str, after: float) -> None:
    ticks = Ticks.parse(expression, "Australia/Lord_Howe").between(after, after + 400 * DAY, 100)
    assert all(earlier < later for earlier, later in pairwise([after, *ticks]))


def test_a_repeated_day_is_searched_within_the_bound() -> None:
    ticks = Ticks.parse(f"{','.join(map(str, range(60)))} {','.join(map(str, range(24)))} * * *", "Pacific/Kwajalein")
    change = at("1969-09-30T13:00:00Z")
    for after in (change - 1, change, change + 3600, change + 11 * 3600):
        tick = ticks.next(after)
        assert tick is not None
        assert after < tick <= after + DAY


def test_a_limit_bounds_what_is_returned() -> None:
    ticks = Ticks.parse("* * * * * *", BERLIN)
    start = at("1976-01-01T00:00:00Z")
    assert len(ticks.between(start, start + 50 * 365 * DAY, 1_000)) == 1_000
    assert ticks.count(start, start + 50 * 365 * DAY, 1_000) == 1_000
    assert ticks.between(start, start + DAY, 0) == []
    assert ticks.between(start, start, 10) == []
    assert ticks.between(start, start - 5, 10) == []


@pytest.mark.parametrize("moment", [-1e11, 253_402_300_799.0, 1e18, float("inf"), float("nan")])
def test_times_at_the_ends_of_the_calendar_have_no_further_tick(moment: float) -> None:
    ticks = Ticks.parse("0 0 29 2 *", BERLIN)
    assert ticks.next(moment) is None or moment < 0
    assert ticks.previous(moment) is None or moment > 0
    assert ticks.between(253_402_300_799.0, 1e18, 5) == []


def test_a_date_on_a_day_of_the_week_is_found_after_twelve_years() -> None:
    ticks = Ticks.parse("0 0 */31 1 WED", None)
    assert ticks.next(at("2098-01-02T00:00:00Z")) == at("2110-01-01T00:00:00Z")
    assert ticks.previous(at("2109-12-31T00:00:00Z")) == at("2098-01-01T00:00:00Z")
    leap = Ticks.parse("0 0 29 2 *", None)
    assert leap.next(at("2096-03-01T00:00:00Z")) == at("2104-02-29T00:00:00Z")
    assert leap.previous(at("2104-02-28T00:00:00Z")) == at("2096-02-29T00:00:00Z")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("0 0 */31,LW * 6#5", "never ticks: none of its months has such a day"),
        ("0 0 * 2 MON#5", "ticks less often than once in 12 years"),
        ("0 0 31 2 *", "never ticks: none of its months has such a day"),
        ("0 0 30,31 FEB */2", "never ticks: none of its months has such a day"),
        ("0 0 29 2 */5", "ticks less often than once in 12 years"),
    ],
)
def test_an_expression_that_ticks_less_than_once_in_twelve_years_is_refused(expression: str, message: str) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            Ticks.parse(expression, None)


def test_a_time_that_a_clock_change_always_skips_is_never_found() -> None:
    """Sunday 29 March is always the day on which the clocks of Berlin go from 02:00 to 03:00."""
    ticks = Ticks.parse("*/5 2 29 3 */7", BERLIN)
    assert ticks.next(at("2026-11-20T00:00:00Z")) is None
    assert ticks.previous(at("2026-11-20T00:00:00Z")) is None
    assert Ticks.parse("5 2 29 3 */7", BERLIN).next(at("2026-01-01T00:00:00Z")) == at("2026-03-29T01:00:00Z")
