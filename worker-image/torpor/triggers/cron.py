"""Waits for the next tick of a cron expression in a time zone.

`after` or `cursor` is stored on the TaskRun, so each triggerer computes the same tick, also after its clock has jumped.
`torpor_wire.cron` has the rules. A task pod only parses the expression.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, timedelta, tzinfo
from typing import Any

from torpor_wire import times
from torpor_wire.cron import expression as expressions

from torpor.triggers import cursors
from torpor.triggers.base import BaseTrigger
from torpor.triggers.cursors import UNSET, Cursor
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import arguments


class Cron(BaseTrigger):
    """Fires at the next tick of a cron expression. The event is that time in UTC, as text.

    With `cursor`, the event is `{at, cursor}`, both the tick.

        Cron("30 6 * * MON-FRI", timezone="Europe/Berlin")

    Args:
        expression: Five fields (minute, hour, day of month, month, day of week), six with seconds first, or a name such
            as `@daily`.
        timezone: A name of the IANA time zone database.
        after: RFC 3339 time; the tick is the first after it. By default the time of the deferral.
        delay: Delay after the tick: a timedelta, seconds, or text such as `30s`.
        cursor: The tick that fired last; the tick is the first after it. Excludes `after`.
    """

    def __init__(
        self,
        expression: str,
        *,
        timezone: str = "UTC",
        after: str | None = None,
        delay: timedelta | float | str = 0.0,
        cursor: Cursor = UNSET,
    ) -> None:
        self.expression = _expression(expression)
        self.timezone = arguments.text(timezone, "timezone", most=100)
        self.after = None if after is None else _moment(after, "after")
        self.delay = arguments.seconds(delay, "delay")
        self.cursor = _moment(cursor, "cursor") if isinstance(cursor, str) else cursors.cursor(cursor)
        if self.after is not None and isinstance(self.cursor, str):
            raise ValueError("give either after or cursor")
        self._zone = _zone(self.timezone)
        self._tick = 0.0

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        return "cron", arguments.differing(self, Cron.__init__) | cursors.stored(self.cursor)

    def bind(self, services: Services) -> None:
        """Compute the tick. Raises ValueError for an expression without a tick in its time zone."""
        super().bind(services)
        if self._zone is None:
            raise ValueError(f"timezone {self.timezone!r}: no time zone database; install tzdata")
        start = self.cursor if isinstance(self.cursor, str) else self.after
        self._tick = _tick(self.expression, self._zone, services.now() if start is None else times.epoch(start))

    def due(self) -> float:
        """Return when the trigger fires, in seconds since the epoch: the tick and the delay."""
        return self._tick + self.delay

    def payload(self) -> str | dict[str, Any]:
        """Return the event."""
        tick = times.rfc3339(self._tick)
        return tick if self.cursor is UNSET else cursors.with_cursor({"at": tick}, self.cursor, tick)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Sleep until the tick; for triggers that run others."""
        self.last_look = f"the next tick is at {times.rfc3339(self._tick)}"
        await self.services.sleep(max(0.0, self.due() - self.services.now()))
        yield TriggerEvent(self.payload())


def _expression(value: object) -> str:
    text = " ".join(arguments.text(value, "expression", most=200).split())
    try:
        expressions.parse(text)
    except ValueError as error:
        raise ValueError(f"expression {error}") from error
    return text


def _moment(value: object, name: str) -> str:
    try:
        return times.rfc3339(times.epoch(arguments.text(value, name)))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name}: {error}") from error


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
    """Return the first tick after a time."""
    from torpor_wire.cron.local_times import LocalTimes  # noqa: PLC0415 - not needed in a task pod
    from torpor_wire.cron.ticks import Ticks  # noqa: PLC0415

    tick = Ticks(times=LocalTimes(expressions.parse(expression)), zone=zone).next(after)
    if tick is None:
        raise ValueError(f"expression {expression!r} never ticks in this time zone")
    return tick
