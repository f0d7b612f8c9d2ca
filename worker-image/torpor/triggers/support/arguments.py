"""Validation of the arguments of triggers. Pure; raises TypeError and ValueError naming the argument."""

import math
from datetime import timedelta
from typing import Any

from torpor_wire import times


def text(value: object, name: str, *, most: int = 1024) -> str:
    """Return a non-empty text without control characters."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, not {type(value).__name__}")
    if not value or len(value) > most:
        raise ValueError(f"{name} has {len(value)} characters; 1 to {most} are allowed")
    if not value.isprintable():
        raise ValueError(f"{name} contains a character that is not printable")
    return value


def count(value: object, name: str, *, least: int = 1, most: int = 1_000_000) -> int:
    """Return an integer within its limits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}; it must be {least} to {most}")
    return value


def request_seconds(seconds: float, most: float) -> None:
    """Raise ValueError if a request timeout exceeds the limit of the triggerer."""
    if seconds > most:
        raise ValueError(
            f"timeout is {seconds:g} seconds; this triggerer allows {most:g} for one request "
            "(--max-request-timeout). To limit the deferral, set timeout next to kwargs"
        )


def differing(given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that differ from their defaults, so that equal deferrals have equal text."""
    return {name: value for name, value in given.items() if value is not None and defaults.get(name) != value}


def seconds(value: timedelta | float | str, name: str, *, least: float = 0.0) -> float:
    """Return a duration in seconds. Raises TypeError or ValueError naming the argument."""
    match value:
        case timedelta():
            found = value.total_seconds()
        case str():
            found = _parsed(value, name)
        case int() | float() if not isinstance(value, bool):
            found = float(value)
        case _:
            raise TypeError(f"{name} must be seconds or text such as 30s, not {type(value).__name__}")
    if not math.isfinite(found) or found < least:
        raise ValueError(f"{name} is {found:g} seconds; it must be {least:g} or more")
    return found


def _parsed(text: str, name: str) -> float:
    try:
        return times.seconds(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
