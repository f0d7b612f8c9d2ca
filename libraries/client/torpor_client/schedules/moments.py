"""Times as users write them and as the commands print them. Pure."""

from datetime import UTC, datetime
from typing import Any

from torpor_wire import times

from torpor_client.errors import UsageError


def parse(text: str, option: str) -> float:
    """Return the seconds since the epoch of a date or a time, in UTC without an offset. Raises UsageError."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option} {text!r} is not a time; write 2026-11-01 or 2026-11-01T02:00:00Z") from error


def shown(value: Any) -> str:
    """Return a time of a status in UTC to the second; other text as it is, and nothing for None."""
    try:
        return stamp(times.epoch(value)) if isinstance(value, str) else ""
    except ValueError:
        return str(value)


def stamp(moment: float) -> str:
    """Return a time as RFC 3339 in UTC to the second, or to the millisecond if it has a fraction."""
    return times.rfc3339(moment).replace(".000Z", "Z")
