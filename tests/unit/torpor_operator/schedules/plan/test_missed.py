"""Missed ticks: which of them are run."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from torpor_crds.models.schedule import Missed
from torpor_operator.schedules.plan.cron_source import COUNT_MAX, GRACE, CatchUp, catch_up
from torpor_wire import times
from torpor_wire.cron.ticks import Ticks
from torpor_wire.enums import MissedRun

NOON = times.epoch("2026-11-20T12:00:00Z")
HOUR = 3_600.0
HOURLY = Ticks.parse("@hourly", None)

expressions = st.sampled_from(["*/10 * * * *", "0 * * * *", "30 2 * * *", "0 */20 * * * *"])
zones = st.sampled_from([None, "Europe/Berlin", "America/Havana"])
gaps = st.integers(-3_600, 3 * 86_400).map(float)
starts = st.integers(int(NOON) - 30 * 86_400, int(NOON)).map(float)
within = st.sampled_from(["0s", "30s", "10m", "1h", "1d"])


def policy(run: MissedRun, longest: str = "1h") -> Missed:
    return Missed(within=longest, run=run)


@pytest.mark.parametrize(
    ("run", "longest", "cursor", "missed"),
    [
        # Noon plus five minutes; the last tick handled was 07:00. 08:00 to 12:00 are late.
        (MissedRun.NONE, "1h", 12, 5),
        (MissedRun.LAST, "1h", 11, 4),
        (MissedRun.LAST, "1m", 12, 5),
        (MissedRun.ALL, "1h", 11, 4),
        (MissedRun.ALL, "3h", 9, 2),
        (MissedRun.ALL, "1d", 7, 0),
        (MissedRun.ALL, "0s", 12, 5),
    ],
)
def test_the_policy_decides_which_missed_ticks_are_run(run: MissedRun, longest: str, cursor: int, missed: int) -> None:
    runs = catch_up(HOURLY, cursor=NOON - 5 * HOUR, now=NOON + 300, policy=policy(run, longest))
    at = NOON + (cursor - 12) * HOUR
    assert runs == CatchUp(cursor=at, missed=missed, last=at if missed else None)


@pytest.mark.parametrize("run", MissedRun)
def test_a_tick_within_the_grace_period_is_run(run: MissedRun) -> None:
    for now in (NOON - 1, NOON, NOON + GRACE):
        runs = catch_up(HOURLY, cursor=NOON - HOUR, now=now, policy=policy(run, "0s"))
        assert runs == CatchUp(cursor=NOON - HOUR, missed=0, last=None)


def test_the_delay_postpones_the_grace_period_and_the_age() -> None:
    for run, longest in ((MissedRun.NONE, "1h"), (MissedRun.ALL, "0s"), (MissedRun.LAST, "0s")):
        early = catch_up(
            HOURLY, cursor=NOON - HOUR, now=NOON + 2 * HOUR + GRACE, policy=policy(run, longest), delay=2 * HOUR
        )
        late = catch_up(
            HOURLY, cursor=NOON - HOUR, now=NOON + 2 * HOUR + GRACE + 1, policy=policy(run, longest), delay=2 * HOUR
        )
        assert (early.missed, late.missed) == (0, 1)


def test_ticks_before_not_before_are_passed_over_and_not_counted() -> None:
    runs = catch_up(
        HOURLY, cursor=NOON - 9 * HOUR, now=NOON + 300, policy=policy(MissedRun.LAST), not_before=NOON - 2 * HOUR
    )
    assert runs == CatchUp(cursor=NOON - HOUR, missed=2, last=NOON - HOUR)
    waiting = catch_up(HOURLY, cursor=NOON, now=NOON, policy=policy(MissedRun.NONE), not_before=NOON + 5 * HOUR)
    assert waiting == CatchUp(cursor=NOON + 4 * HOUR, missed=0, last=None)
    assert HOURLY.next(waiting.cursor) == NOON + 5 * HOUR


def test_ticks_after_not_after_are_not_counted() -> None:
    runs = catch_up(
        HOURLY, cursor=NOON - 3 * HOUR, now=NOON + 9 * HOUR, policy=policy(MissedRun.NONE), not_after=NOON - HOUR
    )
    assert runs == CatchUp(cursor=NOON - HOUR, missed=2, last=NOON - HOUR)


def test_the_last_tick_of_the_period_is_run_if_it_is_young_enough() -> None:
    runs = catch_up(
        HOURLY, cursor=NOON - 3 * HOUR, now=NOON + 300, policy=policy(MissedRun.LAST, "2h"), not_after=NOON - HOUR
    )
    assert runs == CatchUp(cursor=NOON - 2 * HOUR, missed=1, last=NOON - 2 * HOUR)


def test_ten_million_missed_ticks_are_counted_up_to_the_limit() -> None:
    ticks = Ticks.parse("* * * * * *", "Europe/Berlin")
    runs = catch_up(ticks, cursor=NOON - 10_000_000, now=NOON, policy=policy(MissedRun.LAST))
    assert runs == CatchUp(cursor=NOON - GRACE - 2, missed=COUNT_MAX, last=NOON - GRACE - 2)


def test_a_clock_that_was_set_back_passes_nothing_over() -> None:
    runs = catch_up(HOURLY, cursor=NOON, now=NOON - 48 * HOUR, policy=policy(MissedRun.NONE))
    assert runs == CatchUp(cursor=NOON, missed=0, last=None)


@given(st.sampled_from(MissedRun), expressions, zones, starts, gaps, within, st.sampled_from([0.0, 7.0, 4_000.0]))
def test_the_policies_hold_for_every_gap(  # noqa: PLR0913, PLR0917
    run: MissedRun, expression: str, timezone: str | None, cursor: float, gap: float, longest: str, delay: float
) -> None:
    ticks, now = Ticks.parse(expression, timezone), cursor + gap
    runs = catch_up(ticks, cursor=cursor, now=now, policy=policy(run, longest), delay=delay)
    every = ticks.between(cursor, now, 10_000)
    passed = [tick for tick in every if tick <= runs.cursor]
    late = [tick for tick in every if tick + delay < now - GRACE]
    run_late = [tick for tick in late if tick > runs.cursor]
    old = [tick for tick in late if now - tick - delay > times.seconds(longest)]
    assert runs.cursor >= cursor
    assert runs.missed == len(passed)
    assert runs.last == (passed[-1] if passed else None)
    assert set(passed) <= set(late)
    assert not set(run_late) & set(old)
    match run:
        case MissedRun.NONE:
            assert run_late == []
        case MissedRun.ALL:
            assert passed == old
        case MissedRun.LAST:
            assert run_late == [tick for tick in late[-1:] if tick not in old]


@given(st.sampled_from(MissedRun), expressions, zones, starts, gaps, gaps)
def test_the_position_never_goes_back_as_time_passes(  # noqa: PLR0913, PLR0917
    run: MissedRun, expression: str, timezone: str | None, cursor: float, gap: float, further: float
) -> None:
    assume(further >= 0)
    ticks = Ticks.parse(expression, timezone)
    first = catch_up(ticks, cursor=cursor, now=cursor + gap, policy=policy(run))
    again = catch_up(ticks, cursor=first.cursor, now=cursor + gap, policy=policy(run))
    later = catch_up(ticks, cursor=first.cursor, now=cursor + gap + further, policy=policy(run))
    direct = catch_up(ticks, cursor=cursor, now=cursor + gap + further, policy=policy(run))
    assert again == CatchUp(cursor=first.cursor, missed=0, last=None)
    assert later.cursor == direct.cursor
    assert first.missed + later.missed == direct.missed
