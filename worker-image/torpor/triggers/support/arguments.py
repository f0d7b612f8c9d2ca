"""Validation of the arguments of triggers. Pure; raises TypeError and ValueError naming the argument."""

import math
from datetime import timedelta
from typing import Any

from torpor_wire import times


def text(value: object, name: str, *, most: int = 1024) -> str:
    """Return a non-empty text without control characters."""
    if not isinstance(value, str):
        raise TypeError(f"{name} takes text, not {type(value).__name__}")
    if not value or len(value) > most:
        raise ValueError(f"{name} has {len(value)} characters; it takes 1 to {most}")
    if not value.isprintable():
        raise ValueError(f"{name} holds a character that cannot be printed")
    return value


def count(value: object, name: str, *, least: int = 1, most: int = 1_000_000) -> int:
    """Return an integer within its limits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} takes a whole number, not {type(value).__name__}")
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}; it takes {least} to {most}")
    return value


def request_seconds(seconds: float, most: float) -> None:
    """Raise ValueError if a request timeout exceeds the limit of the triggerer."""
    if seconds > most:
        raise ValueError(
            f"timeout is {seconds:g} seconds; this triggerer waits {most:g} for one request "
            "(--max-request-timeout). The trigger's own timeout, beside kwargs, is that of the wait"
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
            raise TypeError(f"{name} takes seconds or text such as 30s, not {type(value).__name__}")
    if not math.isfinite(found) or found < least:
        raise ValueError(f"{name} is {found:g} seconds; it takes {least:g} or more")
    return found


def _parsed(text: str, name: str) -> float:
    try:
        return times.seconds(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
