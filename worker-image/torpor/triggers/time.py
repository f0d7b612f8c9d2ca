"""Waits until a time.

A duration becomes an absolute time at once, so that it does not restart when another triggerer takes over.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from torpor_wire import times

from torpor import clock
from torpor.triggers.base import BaseTrigger
from torpor.triggers.events import TriggerEvent
from torpor.triggers.support import arguments


class Time(BaseTrigger):
    """Fires at a time. The event is that time as text, in UTC.

        Time("2026-11-21T18:00:00Z")

    Args:
        at: An aware datetime, or RFC 3339 text with an offset.
    """

    def __init__(self, at: datetime | str) -> None:
        self.at = _text(at)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the time in UTC."""
        return "time", {"at": self.at}

    def due(self) -> float:
        """Return the time in seconds since the epoch."""
        return times.epoch(self.at)

    def payload(self) -> str:
        """Return the event."""
        return self.at

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Sleep until the time; for triggerers that do not call `due`, such as Airflow's."""
        await self.services.sleep(max(0.0, self.due() - self.services.now()))
        yield TriggerEvent(self.at)


class Duration(Time):
    """Fires after a duration. Stored as `time`, so the event is the time at which it ends.

        Duration("1h30m")

    Args:
        duration: A timedelta, seconds, or text such as `1h30m`.
    """

    def __init__(self, duration: timedelta | float | str) -> None:
        super().__init__(times.rfc3339(clock.now() + arguments.seconds(duration, "duration")))


def _text(at: object) -> str:
    match at:
        case datetime() if at.tzinfo is None:
            raise ValueError(f"at={at!r} has no time zone; add tzinfo=datetime.UTC or another")
        case datetime():
            return times.rfc3339(at.timestamp())
        case str():
            try:
                return times.rfc3339(times.epoch(at))
            except (ValueError, OverflowError) as error:
                raise ValueError(f"at={at[:100]!r} is not an RFC 3339 time: {error}") from error
        case _:
            raise TypeError(f"at must be a datetime or text such as 2026-11-20T08:00:00Z, not {type(at).__name__}")
