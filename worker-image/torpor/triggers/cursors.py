"""The argument `cursor` of triggers: the position after the last event (adr/0035). Pure.

A trigger with a cursor fires for the next thing after it, and its event contains the cursor after that thing. Nothing
that happens between two waits is lost, and nothing fires twice.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeAlias

from torpor_wire import constants, trigger


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"


UNSET = Unset.UNSET
"""No argument `cursor`: the event has no cursor either. None means that there is no position yet."""

Cursor: TypeAlias = str | Unset | None


def cursor(value: object) -> Cursor:
    """Return a valid argument. Raises TypeError or ValueError."""
    match value:
        case None | Unset():
            return value
        case str() if len(value) <= constants.CURSOR_MAX:
            return value
        case str():
            raise ValueError(f"cursor has {len(value)} characters; {constants.CURSOR_MAX} are allowed")
        case _:
            raise TypeError(f"cursor must be text or null, not {type(value).__name__}")


def stored(value: Cursor) -> dict[str, str | None]:
    """Return the argument as `serialize` returns it: null is kept, because it differs from no argument."""
    return {} if isinstance(value, Unset) else {trigger.CURSOR: value}


def with_cursor(event: Mapping[str, Any], given: Cursor, after: str) -> dict[str, Any]:
    """Return the event with the cursor after it, if the trigger has the argument."""
    return dict(event) if isinstance(given, Unset) else {**event, trigger.CURSOR: after}
