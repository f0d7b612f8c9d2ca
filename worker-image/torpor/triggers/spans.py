"""Durations as people give them to a trigger: a timedelta, seconds, or text such as `5s`. Pure."""

import math
from datetime import timedelta

from torpor_wire import times


def seconds(value: timedelta | float | str, name: str, *, least: float = 0.0) -> float:
    """The duration in seconds. Raises TypeError or ValueError naming the argument."""
    match value:
        case timedelta():
            found = value.total_seconds()
        case str():
            found = _parsed(value, name)
        case int() | float() if not isinstance(value, bool):
            found = float(value)
        case _:
            raise TypeError(f"{name} takes seconds or text such as 30s, not {type(value).__name__}")
    if not math.isfinite(found) or found < least:
        raise ValueError(f"{name} is {found:g} seconds; it takes {least:g} or more")
    return found


def _parsed(text: str, name: str) -> float:
    try:
        return times.seconds(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
