"""The ticks of a cron source: where it continues, which ticks it passes over, and the next one."""

from torpor_crds.models.schedule import ScheduleSource
from torpor_wire import times
from torpor_wire.cron.ticks import Ticks

from torpor_operator.schedules.plan import source as sources
from torpor_operator.schedules.plan.draft import Draft
from torpor_operator.schedules.plan.event import ScheduleEvent
from torpor_operator.schedules.plan.missed import CatchUp, catch_up


def ticks_of(source: ScheduleSource) -> Ticks:
    """The ticks of the source. Raises ValueError for an invalid expression or time zone."""
    return Ticks.parse(source.cron or "", source.timezone)


def cursor_of(draft: Draft, source: ScheduleSource) -> float:
    """The last tick that was run or passed over; at first the creation of the Schedule, or `notBefore`."""
    stored = _time(draft.sources[source.name].cursor)
    if stored is not None:
        return stored
    if source.cursor is not None:
        return times.epoch(source.cursor)
    schedule = draft.snapshot.schedule
    begin = schedule.spec.not_before
    created = times.epoch(schedule.metadata.creation_timestamp)
    return max(created, times.epoch(begin) - 1) if begin else created


def cursor_from_now(draft: Draft, source: ScheduleSource) -> str:
    """The cursor that passes over all ticks until now."""
    return times.rfc3339(max(draft.snapshot.now, _time(draft.sources[source.name].cursor) or 0.0))


def missed(draft: Draft, source: ScheduleSource, now: float) -> CatchUp:
    """The ticks after the cursor that are too late to be run at this time."""
    snapshot = draft.snapshot
    return catch_up(
        ticks_of(source),
        cursor=cursor_of(draft, source),
        now=now,
        policy=snapshot.schedule.spec.missed,
        delay=sources.delay_of(snapshot.schedule),
        not_before=_edge(snapshot.schedule.spec.not_before),
        not_after=_edge(snapshot.schedule.spec.not_after),
    )


def passed_over(draft: Draft, source: ScheduleSource, event: ScheduleEvent, fired_at: float) -> CatchUp | None:
    """The ticks to pass over instead of running the tick of an event; None if the tick is run.

    A tick that fired in time is run, however long it has waited since for a leader or for another run to end.
    """
    tick, cursor = times.epoch(event.at), cursor_of(draft, source)
    caught_up = missed(draft, source, fired_at)
    if tick <= caught_up.cursor:
        return caught_up
    not_after = _edge(draft.snapshot.schedule.spec.not_after)
    if not_after is not None and tick > not_after:
        return CatchUp(cursor=max(tick, cursor), missed=0, last=None)
    return None


def next_tick(draft: Draft, source: ScheduleSource) -> str | None:
    """The next tick; None if there is none up to `notAfter`, or the Schedule is suspended.

    Raises ValueError for an expression that never ticks, which a time zone that always skips its time can cause.
    """
    schedule = draft.snapshot.schedule
    if schedule.spec.suspend:
        return None
    tick, not_after = ticks_of(source).next(cursor_of(draft, source)), _edge(draft.snapshot.schedule.spec.not_after)
    if tick is None:
        raise ValueError(f"cron {source.cron!r} never ticks in time zone {source.timezone or 'UTC'}")
    return None if not_after is not None and tick > not_after else times.rfc3339(tick)


def _time(cursor: str | None) -> float | None:
    """The time in seconds; None without one, or for the cursor of a trigger that the source had before."""
    try:
        return None if cursor is None else times.epoch(cursor)
    except (ValueError, OverflowError):
        return None


def _edge(text: str | None) -> float | None:
    return None if text is None else times.epoch(text)
