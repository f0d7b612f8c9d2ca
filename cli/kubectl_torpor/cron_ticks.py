"""The ticks of a cron expression in a time zone, as the operator computes them: Debian's rules, by cronsim. Pure.

Only the commands that need it import this module: cronsim and the time zones cost 40 ms.
"""

import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from cronsim import CronSim, CronSimError

NAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MEMBERS = "minute, hour, day of month, month, day of week"
_LENGTHS = (5, 6)


class ExpressionError(ValueError):
    """The cron expression is invalid, or it has no tick."""


class ZoneError(ValueError):
    """The time zone is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A cron expression of five or six fields, and its zone. `name` is that of the zone."""

    fields: str
    name: str
    zone: tzinfo

    def after(self, moment: float) -> Iterator[float]:
        """Yield the ticks after a time, in seconds since the epoch. Each occurs once, also in a repeated hour."""
        last = moment
        try:
            for tick in CronSim(self.fields, datetime.fromtimestamp(moment, self.zone)):
                if (found := tick.timestamp()) > last:
                    last = found
                    yield found
        except OverflowError:  # the year 9999
            return

    def between(self, start: float, end: float) -> Iterator[float]:
        """Yield the ticks of a period. `start` is included, `end` is not."""
        for tick in self.after(start - 1):
            if tick >= end:
                return
            if tick >= start:
                yield tick

    def local(self, moment: float) -> str:
        """Return a time in the zone, with its offset."""
        return datetime.fromtimestamp(moment, self.zone).isoformat(timespec="seconds").replace("+00:00", "Z")


def parse(expression: str, timezone: str | None = None) -> Cron:
    """Return the ticks of an expression. Raises ExpressionError and ZoneError."""
    fields = _fields(expression)
    zone = _zone(timezone or "UTC")
    try:
        found = Cron(fields=fields, name=timezone or "UTC", zone=zone)
        if next(found.after(0.0), None) is None:
            raise ExpressionError(f"cron {expression!r} never ticks")
    except CronSimError as error:
        raise ExpressionError(f"cron {expression!r}: {str(error).lower()}; the fields are {_MEMBERS}") from error
    return found


def _fields(expression: str) -> str:
    if expression.startswith("@"):
        if expression.lower() not in NAMES:
            raise ExpressionError(f"cron {expression!r} is unknown; use one of {', '.join(NAMES)}")
        return NAMES[expression.lower()]
    fields = expression.split()
    if len(fields) not in _LENGTHS:
        raise ExpressionError(
            f"cron {expression!r} has {len(fields)} fields; it must have five: {_MEMBERS}, or six with seconds first"
        )
    return " ".join(fields)


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
        raise ZoneError(f"timezone {name!r} is unknown; use a name of IANA such as Europe/Berlin") from error
