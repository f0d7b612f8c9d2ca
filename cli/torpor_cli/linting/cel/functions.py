"""The functions and operators that rules of the API server use: standard CEL, strings, lists and optionals. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from torpor_wire import times

Value = Any
"""None, a boolean, a number, a string, a list, a mapping, a Type or an Optional."""


class CelError(Exception):
    """An evaluation that fails, such as a missing key."""


@dataclass(frozen=True, slots=True)
class Type:
    """The value of `type(x)` and of names such as `list`."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing."""

    present: bool
    value: Value = None


NONE = Optional(present=False)
TYPES = {name: Type(name) for name in ("null_type", "bool", "int", "double", "string", "list", "map", "type")}


def type_of(value: Value) -> Type:
    """Return the CEL type of a value."""
    match value:
        case None:
            return TYPES["null_type"]
        case bool():
            return TYPES["bool"]
        case int():
            return TYPES["int"]
        case float():
            return TYPES["double"]
        case str():
            return TYPES["string"]
        case list():
            return TYPES["list"]
        case Mapping():
            return TYPES["map"]
        case timedelta():
            return Type("duration")
        case Type():
            return TYPES["type"]
        case _:
            raise CelError(f"no type for {value!r}")


def equal(one: Value, other: Value) -> bool:
    """Whether two values are equal; unlike in Python, true is not 1."""
    match one, other:
        case (list(), list()):
            return len(one) == len(other) and all(map(equal, one, other))
        case (Mapping(), Mapping()):
            return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
        case Optional(), Optional():
            return one.present == other.present and equal(one.value, other.value)
        case _:
            return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def field(value: Value, name: Value) -> Value:
    """Return `value.name` or `value[name]`. Raises CelError if it is missing."""
    match value:
        case Optional():
            return optional_field(value, name)
        case Mapping() if name in value:
            return value[name]
        case list() if isinstance(name, int) and 0 <= name < len(value):
            return value[name]
        case _:
            raise CelError(f"no such key: {name}")


def optional_field(value: Value, name: Value) -> Optional:
    """Return `value.?name` or `value[?name]`."""
    if isinstance(value, Optional):
        return optional_field(value.value, name) if value.present else NONE
    try:
        return Optional(present=True, value=field(value, name))
    except CelError:
        return NONE


def contains(item: Value, container: Value) -> bool:
    """Return `item in container`."""
    if isinstance(container, Mapping):
        return isinstance(item, str | int) and item in container
    if isinstance(container, list):
        return any(equal(item, one) for one in container)
    raise CelError("in needs a list or a map")


def _or_value(optional: Optional, other: Value) -> Value:
    return optional.value if optional.present else other


def _added(one: Value, other: Value) -> Value:
    same = type_of(one) == type_of(other) or (isinstance(one, int | float) and isinstance(other, int | float))
    if not same or isinstance(one, Mapping | bool | None):
        raise CelError(f"+ is not defined for ({type_of(one).name}, {type_of(other).name})")
    return one + other


def _index_of(container: Value, item: Value) -> int:
    if isinstance(container, str):
        return container.find(item)
    return next((index for index, one in enumerate(container) if equal(item, one)), -1)


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise CelError(f"string is not defined for {type_of(value).name}")


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))


def _matches(text: str, pattern: str) -> bool:
    try:
        return _pattern(pattern).search(text) is not None
    except re.error as error:
        raise CelError(f"{pattern!r} is not a regular expression:  {error}") from error


def _timestamp(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise CelError(f"{text!r} has no offset")
    return moment


def _formatted(text: str, values: list[Value]) -> str:
    """Return `text.format(values)` for `%s`."""
    parts = text.split("%s")
    shown = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in values]
    if len(parts) != len(shown) + 1:
        raise CelError("format needs a value for each %s")
    return "".join(part + value for part, value in zip(parts, [*shown, ""], strict=True))


def _quoted(_strings: Value, text: str) -> str:
    """Return `strings.quote(text)`."""
    return json.dumps(text, ensure_ascii=False)


def _joined(parts: Value, separator: str = "") -> str:
    return separator.join(parts)


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "_==_": equal,
    "_!=_": lambda one, other: not equal(one, other),
    "_<_": lambda one, other: one < other,
    "_<=_": lambda one, other: one <= other,
    "_>_": lambda one, other: one > other,
    "_>=_": lambda one, other: one >= other,
    "_+_": _added,
    "_-_": lambda one, other: one - other,
    "_*_": lambda one, other: one * other,
    "-_": lambda one: -one,
    "!_": lambda one: not one,
    "_[_]": field,
    "_?._": optional_field,
    "_[?_]": optional_field,
    "@in": contains,
    "contains": lambda text, part: part in text,
    "duration": lambda text: timedelta(seconds=times.seconds(text)),
    "dyn": lambda value: value,
    "endsWith": lambda text, part: text.endswith(part),
    "format": _formatted,
    "hasValue": lambda optional: optional.present,
    "indexOf": _index_of,
    "int": int,
    "join": _joined,
    "lowerAscii": lambda text: text.lower(),
    "matches": _matches,
    "orValue": _or_value,
    "quote": _quoted,
    "replace": lambda text, old, new: text.replace(old, new),
    "size": len,
    "slice": lambda items, start, end: items[start:end],
    "split": lambda text, separator: text.split(separator),
    "startsWith": lambda text, part: text.startswith(part),
    "string": _text,
    "substring": lambda text, start, end=None: text[start:end],
    "sum": sum,
    "timestamp": _timestamp,
    "trim": lambda text: text.strip(),
    "type": type_of,
    # A chain such as authorizer.group('g').resource('r').check('verb').allowed(): no check is granted.
    **dict.fromkeys(("group", "resource", "namespace", "check"), lambda authorizer, _name: authorizer),
    "allowed": lambda _authorizer: False,
    "upperAscii": lambda text: text.upper(),
    "value": lambda optional: field([optional.value] if optional.present else [], 0),
}
