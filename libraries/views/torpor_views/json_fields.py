"""Reads fields of JSON leniently: a field that is missing or has a wrong type is as if it were unset. Pure.

An object may come from an older or a newer version, or from another client. A view shows what it understands.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache, partial
from typing import Any, TypeAlias, TypeVar

from torpor_wire import constants, times
from torpor_wire.text import printable

Fields: TypeAlias = Mapping[str, Any]
E = TypeVar("E", bound=StrEnum)
V = TypeVar("V")

_NONE: Fields = {}
_NUMBER_MAX = 2**53
_PATH, _READER = "path", "reader"


def read_from(path: str, reader: Callable[[Any], V]) -> V:
    """Return a field of a dataclass that `read` fills. `path` is its place in the JSON, such as `spec.task`.

    The reader gets None for a value that is missing, so its result for None is also the default.
    """
    return dataclasses.field(default_factory=partial(reader, None), metadata={_PATH: path, _READER: reader})


def read(kind: type, body: Fields) -> dict[str, Any]:
    """Return the fields of a dataclass that have a path, by name."""
    values = {}
    for parents, members in _members(kind).items():
        parent = body
        for key in parents:
            parent = fields(parent.get(key))
        for name, key, reader in members:
            values[name] = reader(parent.get(key))
    return values


@cache
def _members(kind: type) -> Mapping[Sequence[str], Sequence[tuple[str, str, Callable[[Any], Any]]]]:
    """Return name, key and reader of each field, by the path of the object that has the key."""
    members: dict[Sequence[str], list[tuple[str, str, Callable[[Any], Any]]]] = {}
    for field in dataclasses.fields(kind):
        if _PATH in field.metadata:
            *parents, key = field.metadata[_PATH].split(".")
            members.setdefault(tuple(parents), []).append((field.name, key, field.metadata[_READER]))
    return members


def fields(value: object) -> Fields:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else _NONE


def items(value: object) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list | tuple) else ()


def objects(value: object) -> tuple[Fields, ...]:
    """Return the objects of a list."""
    return tuple(item for item in items(value) if isinstance(item, Mapping))


def text(value: object) -> str:
    """Return the value if it is text, else an empty text."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list."""
    return tuple(item for item in items(value) if isinstance(item, str))


def is_given(value: object) -> bool:
    """Return whether the value is an object that is not empty."""
    return bool(fields(value))


def number(value: object, default: int = 0) -> int:
    """Return the value if it is a whole number of reasonable size, else the default."""
    return value if type(value) is int and abs(value) <= _NUMBER_MAX else default


def number_from_one(value: object) -> int:
    """Return the value if it is a whole number of reasonable size, else 1."""
    return number(value, 1)


def count(value: object) -> int:
    """Return the value if it is a positive number, else 1."""
    return max(number_from_one(value), 1)


def truth(value: object) -> bool:
    """Return whether the value is true."""
    return value is True


def moment(value: object) -> float | None:
    """Return an RFC 3339 text as seconds since the epoch; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        return times.epoch(value)
    except (ValueError, OverflowError):
        return None


def duration(value: object) -> float | None:
    """Return a duration such as `1h30m` in seconds; None for anything else."""
    try:
        return times.seconds(value) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def word(kind: type[E], value: object) -> E | None:
    """Return the member of an enumeration; None for an unknown word."""
    try:
        return kind(value) if isinstance(value, str) else None
    except ValueError:
        return None


def decoded(value: object) -> Any:
    """Return the value of a JSON text; None if it is none."""
    try:
        return json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return None


def one_line(value: object, limit: int = 300) -> str:
    """Return text as one printable line of at most so many characters."""
    line = " ".join(printable(text(value)).split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def message_line(value: object) -> str:
    """Return a message of a status as one printable line. It is not cut: its end often says what to do."""
    return one_line(value, constants.MESSAGE_MAX)
