"""Validation of the arguments of triggers, and references to keys of Secrets. Pure.

Errors are TypeError and ValueError, and name the argument.

A Workflow writes `{"secretRef": {"name": ..., "key": ...}}`, a task `SecretRef(name, key)`. On a TaskRun both are
marked (`torpor_wire.secret_ref`). The triggerer replaces the reference by the text as `Revealed` before it creates the
trigger. So a class can accept a password from a Secret and reject one that is readable on the TaskRun. A class accepts
both forms, because a task pod creates it with the reference.
"""

import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

from torpor_wire import secret_ref, times
from torpor_wire.secret_ref import KeyRef
from torpor_wire.trigger import CURSOR


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


def flag(value: object, name: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be true or false, not {value!r:.100}")
    return value


def request_seconds(seconds: float, most: float) -> None:
    """Raise ValueError if a request timeout exceeds the limit of the triggerer."""
    if seconds > most:
        raise ValueError(
            f"timeout is {seconds:g} seconds; this triggerer allows {most:g} for one request "
            "(--max-request-timeout). To limit the deferral, set timeout next to kwargs"
        )


def differing(trigger: object, init: Any, **replaced: Any) -> dict[str, Any]:
    """Return the arguments that differ from their defaults, so that equal deferrals have equal text.

    `init` is the `__init__` of the class. Each of its parameters but `cursor` is an attribute of the same name, unless
    `replaced` has its value.
    """
    names = init.__code__.co_varnames[1 : init.__code__.co_argcount + init.__code__.co_kwonlyargcount]
    defaults = init.__kwdefaults__ or {}
    given = {name: replaced[name] if name in replaced else getattr(trigger, name) for name in names if name != CURSOR}
    return {name: value for name, value in given.items() if value is not None and defaults.get(name) != value}


def seconds(value: timedelta | float | str, name: str, *, least: float = 0.0) -> float:
    """Return a duration in seconds. Raises TypeError or ValueError naming the argument."""
    match value:
        case timedelta():
            length = value.total_seconds()
        case str():
            length = _parsed(value, name)
        case int() | float() if not isinstance(value, bool):
            length = float(value)
        case _:
            raise TypeError(f"{name} must be seconds or text such as 30s, not {type(value).__name__}")
    if not math.isfinite(length) or length < least:
        raise ValueError(f"{name} is {length:g} seconds; it must be {least:g} or more")
    return length


def _parsed(text: str, name: str) -> float:
    try:
        return times.seconds(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


Reference: TypeAlias = Mapping[str, Mapping[str, str]]


class Revealed(str):
    """A value from a Secret. It equals its text, and its repr hides it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def url_of_server(url: object, parse: Callable[[object], Any]) -> str | Reference:
    """Return a URL that `parse` accepts, or a reference. Raises ValueError for a password that is not from a Secret."""
    if is_reference(url):
        return reference(url, "url")
    if getattr(parse(url), "password", "") and not isinstance(url, Revealed):
        raise ValueError(
            "url contains a password, and the TaskRun would show it; "
            "put the URL in a Secret and give {secretRef: {name: ..., key: ...}}"
        )
    return url if isinstance(url, Revealed) else str(url)


def reference_or_text(value: object, name: str) -> str | Reference:
    """Return a text, such as one from a Secret, or a reference to one. Raises TypeError or ValueError."""
    if is_reference(value):
        return reference(value, name)
    checked = text(value.strip() if isinstance(value, Revealed) else value, name)
    return Revealed(checked) if isinstance(value, Revealed) else checked


def is_reference(value: object) -> bool:
    """Return whether a value has the form of a reference, valid or not."""
    return secret_ref.field_of(value) is not None


def reference(value: object, name: str) -> Reference:
    """Return a valid reference. Raises ValueError naming the argument.

    A reference without the mark of an author (`SecretRef` or `ConfigMapRef`) stays unmarked, and is rejected when it is
    stored.
    """
    if isinstance(value, KeyRef):
        return value
    try:
        parsed = secret_ref.of_field(value if isinstance(value, Mapping) else {})
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return {parsed.field: parsed.parts()}
