"""The argument `cursor` of triggers: the position after the last event (ADR 0035). Pure.

A trigger with a cursor fires for the next thing after it, and its event contains the cursor after that thing. Nothing
that happens between two waits is lost, and nothing fires twice.

Objects, files and Workflows are ordered by time and name. A later look may find an earlier one: several have the same
time, and what is written at the same time becomes visible in any order. So a trigger leaves out the newest ones until
they have settled, and the cursor also contains the time up to which nothing earlier can appear.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from torpor_wire import canonical, constants, times, trigger

from torpor.triggers import events

SETTLE = 2.0
"""Seconds after which nothing earlier becomes visible: times may have whole seconds."""
_BATCH_MAX = 200
"""More than fit into an event."""
_NAME_MAX = 800
_KEPT = 700
_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


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


class CursorPosition(NamedTuple):
    """A place in the order. `at` is in microseconds since the epoch."""

    at: int
    name: str


class CursorProgress(NamedTuple):
    """What a cursor contains: the last thing that fired, and the time up to which nothing earlier can appear."""

    last: CursorPosition
    complete: int

    def __str__(self) -> str:
        return f"{_text(self.last.at)} {_text(self.complete)} {self.last.name}"


def position(seconds: float, name: str) -> CursorPosition:
    """Return the place of a thing with this time, in seconds since the epoch. The end of a long name is hashed."""
    at = min(max(round(seconds * 1e6), _FIRST), _LAST - 1)
    if len(name) > _NAME_MAX:
        name = name[:_KEPT] + hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    return CursorPosition(at, name)


def timestamp(seconds: float) -> str:
    """Return the time of a thing as a cursor contains it, in microseconds."""
    return _text(position(seconds, "").at)


def progress(value: Cursor) -> CursorProgress:
    """Return what a cursor contains; of a time alone, everything after it is still to come. Raises ValueError."""
    if not isinstance(value, str):
        return CursorProgress(CursorPosition(_FIRST, ""), _FIRST)
    at, _, rest = value.partition(" ")
    complete, _, name = rest.partition(" ")
    try:
        if not rest:
            return CursorProgress(CursorPosition(_microseconds(at) + 1, ""), _FIRST)
        return CursorProgress(CursorPosition(_microseconds(at), name), _microseconds(complete))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"cursor {value[:100]!r} is neither a time nor the cursor of an event: {error}") from error


class SettlingWindow:
    """Decides up to which time nothing earlier can appear any more.

    That is the newest time that was seen `seconds` ago, or `seconds` before the newest one, whatever is later. Both are
    times of the source, so its clock need not agree with that of the triggerer.
    """

    def __init__(self, seconds: float, complete: int) -> None:
        self.seconds = seconds
        self._complete = complete
        self._seen: tuple[int, float] | None = None

    def complete(self, newest: int, now: float) -> int:
        """Return that time, in microseconds. `newest` is the latest time of a thing, `now` is in seconds."""
        seen, at = self._seen = self._seen or (newest, now)
        if now - at >= self.seconds:
            self._complete = max(self._complete, seen)
            self._seen = newest, now
        self._complete = max(self._complete, newest - round(self.seconds * 1e6))
        return self._complete


class SettledItems(NamedTuple):
    """The things after a cursor that have settled, and how many others there are, as the end of a sentence."""

    items: Sequence[tuple[CursorPosition, Any]]
    complete: int
    remark: str


def settled(
    items: Sequence[tuple[CursorPosition, Any]], after: CursorProgress, window: SettlingWindow, now: float
) -> SettledItems:
    """Return the things to fire for, in their order."""
    new = sorted((item for item in items if item[0] > after.last), key=lambda item: item[0])
    if not new:
        return SettledItems((), after.complete, "")
    complete = window.complete(new[-1][0].at, now)
    ready = [item for item in new if item[0].at <= complete]
    left = len(new) - len(ready)
    return SettledItems(ready, complete, f"; {left} newer ones wait for {window.seconds:g} s" if left else "")


def batch(name: str, items: Sequence[tuple[CursorPosition, Any]], complete: int) -> dict[str, Any]:
    """Return an event `{count, name, cursor}` with the first items that fit, and the cursor after the last of them.

    The first item always counts. If it does not fit, it is missing and `truncated` is true.
    """
    items = items[:_BATCH_MAX]
    longest = max(
        (str(CursorProgress(place, complete)) for place, _ in items), key=lambda text: len(canonical.plain(text))
    )
    fitting = events.fit_items({"count": len(items), trigger.CURSOR: longest}, name, [item for _, item in items])[name]
    count = max(1, len(fitting))
    after = str(CursorProgress(items[count - 1][0], complete))
    lacks = {} if fitting else {"truncated": True}
    return {"count": count, name: fitting, **lacks, trigger.CURSOR: after}


def _text(at: int) -> str:
    return (_EPOCH + at * _MICROSECOND).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _microseconds(text: str) -> int:
    times.epoch(text)  # rejects times without an offset
    return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND
