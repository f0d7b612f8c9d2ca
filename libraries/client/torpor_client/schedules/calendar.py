"""The past of a Schedule by days: runs that ended well or failed, and ticks that were missed or skipped. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from torpor_views import json_fields

from torpor_client.schedules.history import PastRun

DAYS = 182


@dataclass(slots=True, kw_only=True)
class CalendarDay:
    """A day in the zone of the Schedule, such as 2026-11-22. `running`: runs that go on."""

    day: str
    ok: int = 0
    failed: int = 0
    running: int = 0
    missed: int = 0
    skipped: int = 0


def build(
    schedule: Mapping[str, Any], runs: Iterable[PastRun], now: float, days: int = DAYS
) -> tuple[CalendarDay, ...]:
    """Return the last days up to today, oldest first.

    The status counts missed ticks and skipped events without their times: they are on the day of the last one. Events
    that started no run because of an error count as failed.
    """
    zone = zone_of(schedule)
    today = datetime.fromtimestamp(now, zone).date()
    known = {
        day: CalendarDay(day=day)
        for day in ((today - timedelta(days=back)).isoformat() for back in reversed(range(days)))
    }
    for past in runs:
        day = known.get(_day(past.at, zone))
        if day is not None:
            _count(day, past.run.state)
    status = schedule.get("status") or {}
    for event in status.get("failedEvents") or ():
        _add(known, zone, event.get("at"), "failed", 1)
    missed = status.get("missed") or {}
    _add(known, zone, missed.get("last"), "missed", missed.get("count"))
    _add(known, zone, status.get("last"), "skipped", status.get("skipped"))
    return tuple(known.values())


def zone_of(schedule: Mapping[str, Any]) -> tzinfo:
    """Return the zone of the first cron source; UTC without one."""
    name = next((source.get("timezone") for source in schedule["spec"].get("sources") or () if source.get("cron")), "")
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _count(day: CalendarDay, state: str) -> None:
    match state:
        case "Succeeded":
            day.ok += 1
        case "Failed" | "Cancelled":
            day.failed += 1
        case _:
            day.running += 1


def _add(known: Mapping[str, CalendarDay], zone: tzinfo, at: Any, field: str, number: Any) -> None:
    moment = json_fields.moment(at)
    day = None if moment is None else known.get(_day(moment, zone))
    if day is not None and isinstance(number, int) and number > 0:
        setattr(day, field, getattr(day, field) + number)


def _day(moment: float, zone: tzinfo) -> str:
    try:
        return datetime.fromtimestamp(moment, zone).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
