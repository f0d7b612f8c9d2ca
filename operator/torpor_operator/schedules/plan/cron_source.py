"""The ticks of a cron source: where it continues, which ticks it passes over, and the next one. Pure.

A tick is due `delay` after its time. It is late if it was due more than `GRACE` ago. Every policy runs
a tick that is not late. The age of a late tick counts from the time at which it was due.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import assert_never

from torpor_crds.models.schedule import Missed, Schedule, ScheduleSource
from torpor_wire import times
from torpor_wire.cron.ticks import Ticks
from torpor_wire.enums import MissedRun

from torpor_operator.scheduled_runs.event import ScheduleEvent
from torpor_operator.schedules.plan.pass_state import PassState

# Longer than a restart of the operator or of a triggerer, so that it misses no tick.
GRACE = 60.0
COUNT_MAX = 10_000
"""More missed ticks are counted as this many: the count is then a lower bound."""
COUNT_SPAN = 10 * 366 * 86_400.0
"""Missed ticks are counted in so many seconds before the last of them: a count costs microseconds for each year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """Where a source goes on: the first tick after `cursor` is the next to run."""

    cursor: float
    missed: int
    last: float | None


def ticks_of(source: ScheduleSource) -> Ticks:
    """The ticks of the source. Raises ValueError for an invalid expression or time zone."""
    return Ticks.parse(source.cron or "", source.timezone)


def cursor_of(state: PassState, source: ScheduleSource) -> float:
    """The last tick that was run or passed over; at first the creation of the Schedule, or `notBefore`."""
    stored = _time(state.sources[source.name].cursor)
    if stored is not None:
        return stored
    if source.cursor is not None:
        return times.epoch(source.cursor)
    schedule = state.snapshot.schedule
    begin = schedule.spec.not_before
    created = times.epoch(schedule.metadata.creation_timestamp)
    return max(created, times.epoch(begin) - 1) if begin else created


def cursor_from_now(state: PassState, source: ScheduleSource) -> str:
    """The cursor that passes over all ticks until now."""
    return times.rfc3339(max(state.snapshot.now, _time(state.sources[source.name].cursor) or 0.0))


def missed_ticks(state: PassState, source: ScheduleSource, now: float) -> CatchUp:
    """The ticks after the cursor that are too late to be run at this time."""
    snapshot = state.snapshot
    return catch_up(
        ticks_of(source),
        cursor=cursor_of(state, source),
        now=now,
        policy=snapshot.schedule.spec.missed,
        delay=jitter_delay(snapshot.schedule),
        not_before=_edge(snapshot.schedule.spec.not_before),
        not_after=_edge(snapshot.schedule.spec.not_after),
    )


def passed_over(state: PassState, source: ScheduleSource, event: ScheduleEvent, fired_at: float) -> CatchUp | None:
    """The ticks to pass over instead of running the tick of an event; None if the tick is run.

    A tick that fired in time is run, however long it has waited since for a leader or for another run to end.
    """
    tick, cursor = times.epoch(event.at), cursor_of(state, source)
    caught_up = missed_ticks(state, source, fired_at)
    if tick <= caught_up.cursor:
        return caught_up
    not_after = _edge(state.snapshot.schedule.spec.not_after)
    if not_after is not None and tick > not_after:
        return CatchUp(cursor=max(tick, cursor), missed=0, last=None)
    return None


def next_tick(state: PassState, source: ScheduleSource) -> str | None:
    """The next tick; None if there is none up to `notAfter`, or the Schedule is suspended.

    Raises ValueError for an expression that never ticks, which a time zone that always skips its time can cause.
    """
    schedule = state.snapshot.schedule
    if schedule.spec.suspend:
        return None
    tick, not_after = ticks_of(source).next(cursor_of(state, source)), _edge(schedule.spec.not_after)
    if tick is None:
        raise ValueError(f"cron {source.cron!r} never ticks in time zone {source.timezone or 'UTC'}")
    return None if not_after is not None and tick > not_after else times.rfc3339(tick)


def jitter_delay(schedule: Schedule) -> float:
    """Seconds by which the ticks of the Schedule are delayed."""
    longest = schedule.spec.jitter
    return delay_in(schedule.metadata.uid, times.seconds(longest)) if longest else 0.0


def delay_in(uid: str, jitter: float) -> float:
    """Return the delay of all ticks of a Schedule in whole seconds: fixed by its uid, and uniform in [0, jitter)."""
    choices = math.ceil(jitter)
    if choices <= 1:
        return 0.0
    return float(int.from_bytes(hashlib.sha256(uid.encode()).digest()) % choices)


def _time(cursor: str | None) -> float | None:
    """The time in seconds; None without one, or for the cursor of a trigger that the source had before."""
    try:
        return None if cursor is None else times.epoch(cursor)
    except (ValueError, OverflowError):
        return None


def _edge(text: str | None) -> float | None:
    return None if text is None else times.epoch(text)


def catch_up(  # noqa: PLR0913 - a position, a clock and the five settings of the Schedule
    ticks: Ticks,
    *,
    cursor: float,
    now: float,
    policy: Missed,
    delay: float = 0.0,
    not_before: float | None = None,
    not_after: float | None = None,
) -> CatchUp:
    """Return the position after the ticks that are not run, their number up to `COUNT_MAX`, and the last of them.

    Ticks before `not_before` are passed over and not counted; ticks after `not_after` stay. Two searches backwards and
    a count of at most ten years, however many ticks were missed. The position never goes back.
    """
    begin = _before(ticks, cursor, not_before)
    late = _last_before(now - GRACE - delay, not_after)
    old = _last_before(now - max(GRACE, times.seconds(policy.within)) - delay, not_after)
    last = _last_passed(ticks, late=late, old=old, run=policy.run)
    if last is None or last <= begin:
        return CatchUp(cursor=begin, missed=0, last=None)
    return CatchUp(cursor=last, missed=ticks.count(max(begin, last - COUNT_SPAN), last, COUNT_MAX), last=last)


def _before(ticks: Ticks, cursor: float, not_before: float | None) -> float:
    """The position behind the ticks that come too early to be run."""
    if not_before is None or not_before <= cursor:
        return cursor
    return max(cursor, ticks.previous(_last_before(not_before, None)) or cursor)


def _last_passed(ticks: Ticks, *, late: float, old: float, run: MissedRun) -> float | None:
    match run:
        case MissedRun.NONE:
            return ticks.previous(late)
        case MissedRun.ALL:
            return ticks.previous(old)
        case MissedRun.LAST:
            last = ticks.previous(late)
            return last if last is None or last <= old else ticks.previous(last - 1)
        case _:
            assert_never(run)


def _last_before(moment: float, not_after: float | None) -> float:
    """The last whole second before a time: ticks are whole seconds."""
    second = math.ceil(moment) - 1.0
    return second if not_after is None else min(second, not_after)
