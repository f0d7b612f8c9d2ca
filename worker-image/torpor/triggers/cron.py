"""Waiting for the next tick of a cron expression, in a time zone.

The tick is the first one `after` a moment, that of the deferral: it is written on the TaskRun then, so that a triggerer
which takes the wait over finds the same tick, however late. Which tick that is, is computed in the triggerer, which has
a library for it (what summer time does to a tick is Debian's cron's); a task pod only looks at the form.
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
    """Fires at the next tick of `expression`, five fields such as `30 6 * * MON-FRI`, in `timezone`.

    The event is that moment, in UTC. `after` is set when the task is deferred, to that moment.
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
        """What differs from the defaults."""
        given = {"expression": self.expression, "timezone": self.timezone, "after": self.after}
        return "cron", arguments.differing(given, {"timezone": "UTC"})

    def bind(self, services: Services) -> None:
        """Also looks for the tick. Raises ValueError for an expression that has none, and for an unknown zone."""
        super().bind(services)
        if self._zone is None:
            raise ValueError(f"timezone {self.timezone!r}: this machine knows no time zones; install tzdata")
        self._due = _tick(
            self.expression, self._zone, services.now() if self.after is None else times.epoch(self.after)
        )

    def due(self) -> float:
        """The tick, in seconds since the epoch."""
        return self._due

    def payload(self) -> str:
        """The event."""
        return times.rfc3339(self._due)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """For whoever runs it beside others."""
        self.last_look = f"the next tick is at {self.payload()}"
        await self.services.sleep(max(0.0, self._due - self.services.now()))
        yield TriggerEvent(self.payload())


def _expression(value: object) -> str:
    fields = arguments.text(value, "expression", most=200).split()
    if len(fields) != len(FIELDS):
        raise ValueError(f"expression {value!r} has {len(fields)} fields; it takes five: {', '.join(FIELDS)}")
    for name, field in zip(FIELDS, fields, strict=True):
        if not _FIELD.fullmatch(field):
            raise ValueError(f"expression {value!r}: {field!r} is nothing that the {name} can be")
    return " ".join(fields)


def _moment(value: object) -> str:
    try:
        return times.rfc3339(times.epoch(arguments.text(value, "after")))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"after: {error}") from error


def _zone(name: str) -> tzinfo | None:
    """The zone; None where there is no database of zones at all, as in a small image, for the triggerer to judge."""
    if name == "UTC":
        return UTC
    import zoneinfo  # noqa: PLC0415 - paid for only where it is used

    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError) as error:
        raise ValueError(f"timezone {name!r} is no name such as Europe/Berlin") from error
    except zoneinfo.ZoneInfoNotFoundError as error:
        if not zoneinfo.available_timezones():
            return None
        raise ValueError(f"timezone {name!r} is not known; names are such as Europe/Berlin") from error


def _tick(expression: str, zone: tzinfo, after: float) -> float:
    """The first tick after a moment. Where an hour comes twice, the library may name a moment of the first again."""
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 - a task pod has no use for it

    try:
        ticks = CronSim(expression, datetime.fromtimestamp(after, zone))
        return next(moment for moment in map(datetime.timestamp, ticks) if moment > after)
    except CronSimError as error:
        raise ValueError(f"expression {expression!r}: {error}") from error
    except (StopIteration, OverflowError) as error:
        raise ValueError(f"expression {expression!r} never ticks") from error
