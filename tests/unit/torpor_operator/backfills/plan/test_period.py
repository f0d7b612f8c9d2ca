"""The ticks of a Backfill, in their order."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_operator.backfills.plan.period import COUNT_SPAN, BackfillPeriod, SourceTick, TickCount
from torpor_wire import times
from torpor_wire.cron.ticks import Ticks

START, END = times.epoch("2026-05-01T00:00:00Z"), times.epoch("2026-05-01T06:00:00Z")


def period(*expressions: str, start: float = START, end: float = END, reverse: bool = False) -> BackfillPeriod:
    sources = {f"s{number}": Ticks.parse(expression, None) for number, expression in enumerate(expressions)}
    return BackfillPeriod(sources=sources, start=start, end=end, reverse=reverse)


def hours(ticks: list[SourceTick]) -> list[tuple[str, str]]:
    return [(times.rfc3339(tick.at)[11:16], tick.source) for tick in ticks]


def test_the_start_is_in_the_period_and_the_end_is_not() -> None:
    ticks = period("0 * * * *").following(None, 100)

    assert hours(ticks) == [(f"0{hour}:00", "s0") for hour in range(6)]


def test_times_with_fractions_of_a_second_bound_the_period() -> None:
    ticks = period("0 * * * *", start=START + 0.5, end=END + 0.5).following(None, 100)

    assert hours(ticks) == [(f"0{hour}:00", "s0") for hour in range(1, 7)]


def test_sources_that_tick_at_the_same_time_follow_in_order_of_name() -> None:
    ticks = period("0 */2 * * *", "0 */3 * * *").following(None, 100)

    assert hours(ticks) == [("00:00", "s0"), ("00:00", "s1"), ("02:00", "s0"), ("03:00", "s1"), ("04:00", "s0")]


def test_reverse_begins_with_the_last_tick() -> None:
    ordered = period("0 */2 * * *", "0 */3 * * *").following(None, 100)

    assert period("0 */2 * * *", "0 */3 * * *", reverse=True).following(None, 100) == ordered[::-1]


def test_an_empty_period_has_no_ticks() -> None:
    empty = period("0 * * * *", start=END, end=START)

    assert empty.following(None, 100) == []
    assert period("0 * * * *", start=END, end=START, reverse=True).following(None, 100) == []
    assert empty.count(None, 100) == TickCount(0, more=False)


def test_a_count_stops_at_its_limit() -> None:
    every_second = period("* * * * * *", "* * * * * *", end=START + 10_000_000)

    assert every_second.count(None, 1000) == TickCount(1000, more=True)
    assert every_second.count(SourceTick(START + 10_000_000 - 3, "s0"), 1000) == TickCount(5, more=False)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_period_of_a_century_is_counted_in_parts(reverse: bool) -> None:
    century = period("0 0 1 1 *", end=START + 100 * 365.25 * 86_400, reverse=reverse)
    assert century.count(None, 1000) == TickCount(13, more=True)
    cursor, total = None, 0
    while (counted := century.count(cursor, 1000)).number:
        total += counted.number
        cursor = century.following(cursor, counted.number)[-1]
        assert counted.more == (total < 100)
    assert (total, counted.more) == (100, False)


@pytest.mark.attack
def test_a_period_of_two_thousand_years_costs_no_more_than_thirteen() -> None:
    looked_at: list[float] = []

    class RecordedTicks(Ticks):
        def count(self, after: float, until: float, limit: int) -> int:
            looked_at.append(until - after)
            return super().count(after, until, limit)

    sources = {f"s{number}": RecordedTicks.parse("0 0 29 2 *", None) for number in range(20)}
    long = BackfillPeriod(sources=sources, start=times.epoch("0100-01-01T00:00:00Z"), end=END)
    assert long.count(None, 10_000) == TickCount(60, more=True)
    assert looked_at == [COUNT_SPAN] * 20
    assert len(long.following(None, 100)) == 100


@pytest.mark.parametrize("reverse", [False, True])
def test_a_source_that_is_gone_does_not_move_the_position(reverse: bool) -> None:
    removed = SourceTick(START + 3600, "removed")
    remaining = period("0 * * * *", reverse=reverse).following(removed, 100)

    assert hours(remaining)[0] == (("01:00", "s0") if not reverse else ("00:00", "s0"))


@given(
    minutes=st.lists(st.integers(1, 59), min_size=1, max_size=3),
    reverse=st.booleans(),
    size=st.integers(1, 7),
    length=st.integers(0, 7200),
)
def test_pages_contain_every_tick_once_in_order(minutes: list[int], reverse: bool, size: int, length: int) -> None:
    every = period(*(f"*/{step} * * * *" for step in minutes), end=START + length, reverse=reverse)
    whole = every.following(None, 100_000)
    paged: list[SourceTick] = []
    for _ in itertools.count():
        page = every.following(paged[-1] if paged else None, size)
        assert every.count(paged[-1] if paged else None, 100_000) == TickCount(len(whole) - len(paged), more=False)
        paged += page
        if len(page) < size:
            break

    assert paged == whole == sorted(set(whole), reverse=reverse)
