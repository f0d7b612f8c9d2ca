"""The functions and operators that rules of the API server use: standard CEL, strings, lists and optionals. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from torpor_wire import times

from torpor_cli.linting.schema import go_pattern

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


def equal(left: Value, right: Value) -> bool:
    """Whether two values are equal; unlike in Python, true is not 1."""
    match left, right:
        case (list(), list()):
            return len(left) == len(right) and all(map(equal, left, right))
        case (Mapping(), Mapping()):
            return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
        case Optional(), Optional():
            return left.present == right.present and equal(left.value, right.value)
        case _:
            return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


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
        return any(equal(item, element) for element in container)
    raise CelError("in needs a list or a map")


def _or_value(optional: Optional, other: Value) -> Value:
    return optional.value if optional.present else other


def _added(left: Value, right: Value) -> Value:
    same = type_of(left) == type_of(right) or (isinstance(left, int | float) and isinstance(right, int | float))
    if not same or isinstance(left, Mapping | bool | None):
        raise CelError(f"+ is not defined for ({type_of(left).name}, {type_of(right).name})")
    return left + right


def _index_of(container: Value, item: Value) -> int:
    if isinstance(container, str):
        return container.find(item)
    return next((index for index, element in enumerate(container) if equal(item, element)), -1)


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise CelError(f"string is not defined for {type_of(value).name}")


def _matches(text: str, pattern: str) -> bool:
    try:
        return go_pattern(pattern).search(text) is not None
    except re.error as error:
        raise CelError(f"{pattern!r} is not a regular expression:  {error}") from error


def _found(text: str, pattern: str) -> list[Value]:
    return [match.group() for match in go_pattern(pattern).finditer(text)]


def _timestamp(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise CelError(f"{text!r} has no offset")
    return moment


def _formatted(text: str, values: list[Value]) -> str:
    """Return `text.format(values)` for `%s`."""
    parts = text.split("%s")
    shown = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]
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
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": lambda left, right: left < right,
    "_<=_": lambda left, right: left <= right,
    "_>_": lambda left, right: left > right,
    "_>=_": lambda left, right: left >= right,
    "_+_": _added,
    "_-_": lambda left, right: left - right,
    "_*_": lambda left, right: left * right,
    "-_": lambda operand: -operand,
    "!_": lambda operand: not operand,
    "_[_]": field,
    "_?._": optional_field,
    "_[?_]": optional_field,
    "@in": contains,
    "bytes": lambda text: text.encode(),
    "contains": lambda text, part: part in text,
    "duration": lambda text: timedelta(seconds=times.seconds(text)),
    "dyn": lambda value: value,
    "endsWith": lambda text, part: text.endswith(part),
    "findAll": _found,
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
