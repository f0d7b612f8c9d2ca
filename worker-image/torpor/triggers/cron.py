"""Waits for the next tick of a cron expression in a time zone.

`after` is the time of the deferral and is stored on the TaskRun, so each triggerer computes the same tick. The
triggerer computes it with cronsim (Debian's cron rules for daylight saving). A task pod only checks the syntax.
"""

import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from torpor_wire import times

from torpor.triggers.base import BaseTrigger, TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import arguments

FIELDS = ("minute", "hour", "day of month", "month", "day of week")
_FIELD = re.compile(r"[0-9A-Za-z*/,#-]+")


class Cron(BaseTrigger):
    """Fires at the next tick of a cron expression. The event is that time in UTC, as text.

        Cron("30 6 * * MON-FRI", timezone="Europe/Berlin")

    Args:
        expression: Five fields: minute, hour, day of month, month, day of week.
        timezone: A name of the IANA time zone database.
        after: RFC 3339 time; the tick is the first after it. By default the time of the deferral.
    """

    requires = ("cronsim",)
    extra = "torpor[cron]"

    def __init__(self, expression: str, *, timezone: str = "UTC", after: str | None = None) -> None:
        self.expression = _expression(expression)
        self.timezone = arguments.text(timezone, "timezone", most=100)
        self.after = None if after is None else _moment(after)
        self._zone = _zone(self.timezone)
        self._due = 0.0

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        given = {"expression": self.expression, "timezone": self.timezone, "after": self.after}
        return "cron", arguments.differing(given, {"timezone": "UTC"})

    def bind(self, services: Services) -> None:
        """Compute the tick. Raises ValueError for an expression without a tick and for an unknown time zone."""
        super().bind(services)
        if self._zone is None:
            raise ValueError(f"timezone {self.timezone!r}: no time zone database; install tzdata")
        self._due = _tick(
            self.expression, self._zone, services.now() if self.after is None else times.epoch(self.after)
        )

    def due(self) -> float:
        """Return the tick, in seconds since the epoch."""
        return self._due

    def payload(self) -> str:
        """Return the event."""
        return times.rfc3339(self._due)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Sleep until the tick; for triggers that run others."""
        self.last_look = f"the next tick is at {self.payload()}"
        await self.services.sleep(max(0.0, self._due - self.services.now()))
        yield TriggerEvent(self.payload())


def _expression(value: object) -> str:
    fields = arguments.text(value, "expression", most=200).split()
    if len(fields) != len(FIELDS):
        raise ValueError(f"expression {value!r} has {len(fields)} fields; it must have five: {', '.join(FIELDS)}")
    for name, field in zip(FIELDS, fields, strict=True):
        if not _FIELD.fullmatch(field):
            raise ValueError(f"expression {value!r}: {field!r} is not valid for the {name}")
    return " ".join(fields)


def _moment(value: object) -> str:
    try:
        return times.rfc3339(times.epoch(arguments.text(value, "after")))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"after: {error}") from error


def _zone(name: str) -> tzinfo | None:
    """Return the zone; None if this image has no time zone database, so that the triggerer checks it."""
    if name == "UTC":
        return UTC
    import zoneinfo  # noqa: PLC0415 - imported on first use

    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError) as error:
        raise ValueError(f"timezone {name!r} is not a name such as Europe/Berlin") from error
    except zoneinfo.ZoneInfoNotFoundError as error:
        if not zoneinfo.available_timezones():
            return None
        raise ValueError(f"timezone {name!r} is unknown; use a name such as Europe/Berlin") from error


def _tick(expression: str, zone: tzinfo, after: float) -> float:
    """Return the first tick after a time. In a repeated hour, the library may return a tick of the first pass again."""
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 - not needed in a task pod

    try:
        ticks = CronSim(expression, datetime.fromtimestamp(after, zone))
        return next(moment for moment in map(datetime.timestamp, ticks) if moment > after)
    except CronSimError as error:
        raise ValueError(f"expression {expression!r}: {error}") from error
    except (StopIteration, OverflowError) as error:
        raise ValueError(f"expression {expression!r} never ticks") from error
