"""Encodes Python values that JSON lacks as `{"__type": ..., "__var": ...}` (ADR 0024).

The worker and the triggerer use it for the kwargs of triggers, the state of a task over a deferral, and events. The
form is that of Airflow, with text instead of numbers, so that people can read it with kubectl and write it in a
Workflow. Decoding never imports or creates a class that the text names: the types are those of this module. Results are
plain JSON.
"""

import binascii
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from typing import Any

from torpor_wire import canonical, secret_ref, times
from torpor_wire.secret_ref import KeyRef

DEPTH_MAX = 100
"""The limit on nesting, for encoding and decoding."""

_TYPE, _VAR = "__type", "__var"
_ARCHIVED = "stored"
_WRITTEN = {_TYPE, _VAR}
_DIGITS_MAX = 4096
_PAIR = 2
_OTHER_MODULES = (("decimal", "Decimal", "decimal"), ("uuid", "UUID", "uuid"), ("pathlib", "PurePath", None))
"""Module, class, and name of the type; a path is written as text."""
_DEEP = f"nested more than {DEPTH_MAX} deep"


def encode(value: object, at: str = "$") -> Any:
    """Return the value as JSON; `canonical` checks keys and numbers.

    An aware datetime becomes UTC and a set a sorted list, so that equal values have equal text. A mapping with a key
    `__type` is escaped, so that data never looks like a type. One with a key that is not a string becomes pairs. A path
    becomes its text, and an Enum its value. Raises NotJsonError, naming the path below `at`, for unsupported types,
    cycles and deep nesting.
    """
    return _encoded(value, at, 0)


def decode(value: Any) -> Any:
    """Return the encoded value. Raises ValueError for an unknown type, an invalid value and deep nesting."""
    return _decoded(value, 0)


def text(value: object, at: str = "$") -> str:
    """Return the encoded value as compact JSON text. Raises NotJsonError."""
    return canonical.plain(encode(value, at), at)


def archived_event(about: Mapping[str, canonical.Json]) -> str:
    """Return the text of `status.event` for an event in the archive, from the archive's description: size and digest.

    It is a type that `decode` does not know, so data cannot be confused with it.
    """
    return canonical.plain({_TYPE: _ARCHIVED, _VAR: {"size": about["size"], "digest": about["digest"]}})


def description_of_event(event: object) -> Mapping[str, canonical.Json] | None:
    """Return the description of an event in the archive, None for an event that is on its TaskRun."""
    match event:
        case {"__type": "stored", "__var": {"size": int() as size, "digest": str() as digest}}:
            return {"size": size, "digest": digest, "type": "bytes"}
        case _:
            return None


def readable(value: Any, depth: int = 0) -> Any:
    """Return an encoded value as plain JSON without types, for people and expressions."""
    if depth > DEPTH_MAX:
        return value
    if isinstance(value, Mapping):
        if value.keys() != _WRITTEN:
            return {name: readable(item, depth + 1) for name, item in value.items()}
        inner = value[_VAR]
        if value[_TYPE] == "dict":
            return _readable_pairs(inner, depth) if isinstance(inner, list) else _readable_entries(inner, depth)
        return readable(inner, depth + 1)
    return [readable(item, depth + 1) for item in value] if isinstance(value, list | tuple) else value


def type_of(value: Any) -> str | None:
    """Return the name of an encoded type, None for plain JSON."""
    if not isinstance(value, Mapping) or value.keys() != _WRITTEN:
        return None
    name = value[_TYPE]
    return name if isinstance(name, str) and (name in _TEXTS or name in _COLLECTIONS or name == "dict") else None


def unwrapped(value: Any) -> Any:
    """Return the contents of an encoded container, such as the list of a tuple."""
    while isinstance(value, Mapping) and value.keys() == _WRITTEN and value[_TYPE] in {"dict", "tuple"}:
        value = value[_VAR]
    return value


def _readable_entries(inner: Any, depth: int) -> Any:
    """Return the entries of an escaped mapping."""
    return {name: readable(item, depth + 1) for name, item in inner.items()} if isinstance(inner, Mapping) else inner


def _readable_pairs(pairs: list[Any], depth: int) -> Any:
    """Return a mapping whose keys are no texts as an object: JSON has no other keys."""
    entries = [pair for pair in pairs if isinstance(pair, list) and len(pair) == _PAIR]
    return {_key_text(readable(key, depth + 1)): readable(item, depth + 1) for key, item in entries}


def _key_text(key: object) -> str:
    return key if isinstance(key, str) else canonical.plain(key)


def _encoded(value: object, at: str, depth: int) -> Any:
    if depth > DEPTH_MAX:
        raise canonical.NotJsonError(f"{at[:_DIGITS_MAX]} is {_DEEP} or contains itself")
    match value:
        case float() if not math.isfinite(value):
            return _typed("float", str(float(value)))
        case str() | int() | float() | None:
            return value
        case Enum():
            return _encoded(value.value, at, depth + 1)
        case KeyRef():
            return value.written()
        case date() | time() | timedelta():
            return _of_time(value)
        case bytes() | bytearray():
            return _typed("bytes", binascii.b2a_base64(value, newline=False).decode())
        case _:
            return _container(value, at, depth)


def _of_time(value: date | time | timedelta) -> Any:
    match value:
        case datetime():
            return _typed("datetime", _moment(value))
        case timedelta():
            return _typed("timedelta", value.total_seconds())
        case _:
            return _typed("time" if isinstance(value, time) else "date", value.isoformat())


def _container(value: object, at: str, depth: int) -> Any:
    match value:
        case set() | frozenset():
            return _typed("set" if isinstance(value, set) else "frozenset", _sorted(value, at, depth))
        case Mapping() if not all(isinstance(name, str) for name in value):
            return _typed("dict", _pairs(value, at, depth))
        case Mapping():
            return _marked(value, {name: _encoded(item, f"{at}.{name}", depth + 1) for name, item in value.items()})
        case tuple():
            return _typed("tuple", _items(value, at, depth))
        case Sequence() if not isinstance(value, memoryview):
            return _items(value, at, depth)
        case _:
            return _of_other_modules(value, at)


def _pairs(value: Mapping[Any, Any], at: str, depth: int) -> list[Any]:
    """Return the entries of a mapping as `[key, value]`."""
    return [
        [_encoded(name, f"a key of {at}", depth + 1), _encoded(item, f"{at}.{name!r:.40}", depth + 1)]
        for name, item in value.items()
    ]


def _of_other_modules(value: object, at: str) -> Any:
    """Encode values of modules that are imported only if such values exist, so that a task pod starts without them."""
    for module, class_name, name in _OTHER_MODULES:
        kind = getattr(sys.modules.get(module), class_name, None)
        if kind is not None and isinstance(value, kind):
            return str(value) if name is None else _typed(name, str(value))
    raise canonical.NotJsonError(f"{at} is of type {type(value).__name__}, which is not JSON")


def _moment(value: datetime) -> str:
    try:
        return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat()
    except OverflowError:  # within a day of datetime.min and datetime.max
        return value.isoformat()


def _marked(value: Mapping[Any, Any], encoded: dict[Any, Any]) -> dict[Any, Any]:
    return _typed("dict", encoded) if _TYPE in value else encoded


def _items(values: Sequence[Any], at: str, depth: int) -> list[Any]:
    return [_encoded(item, f"{at}[{place}]", depth + 1) for place, item in enumerate(values)]


def _sorted(values: set[Any] | frozenset[Any], at: str, depth: int) -> list[Any]:
    encoded = [_encoded(item, f"{at}[]", depth + 1) for item in values]
    return sorted(encoded, key=lambda item: canonical.text(item, f"{at}[]"))


def _typed(name: str, value: object) -> dict[str, object]:
    return {_TYPE: name, _VAR: value}


def _decoded(value: Any, depth: int) -> Any:
    if depth > DEPTH_MAX:
        raise ValueError(f"it is {_DEEP}")
    if isinstance(value, Mapping):
        return _read(value, depth) if value.keys() == _WRITTEN else dict(_entries(value, depth))
    return [_decoded(item, depth + 1) for item in value] if isinstance(value, list | tuple) else value


def _entries(values: Mapping[Any, Any], depth: int) -> Iterator[tuple[Any, Any]]:
    return ((name, _decoded(item, depth + 1)) for name, item in values.items())


def _read(written: Mapping[str, Any], depth: int) -> Any:
    name, content = written[_TYPE], written[_VAR]
    match name, content:
        case "dict", Mapping():
            return dict(_entries(content, depth))
        case "dict", list() | tuple():
            return _of_pairs(content, depth)
        case "tuple" | "set" | "frozenset", list() | tuple():
            return _collected(name, [_decoded(item, depth + 1) for item in content])
        case secret_ref.FIELD | secret_ref.CONFIG_MAP_FIELD, parts:
            return secret_ref.of_parts(parts, name)
        case "timedelta", int() | float() if not isinstance(content, bool):
            return _duration(content)
        case str(), str() if name in _TEXTS:
            return _of_text(name, str(content))
        case _:
            raise ValueError(
                f"{_TYPE} {name!r:.100} with a {type(content).__name__}: it must be {', '.join(_TEXTS)} as text, "
                "tuple, set and frozenset as a list, dict as an object or pairs, and timedelta in seconds"
            )


def _collected(name: str, items: list[Any]) -> Any:
    try:
        return _COLLECTIONS[name](items)
    except TypeError:  # in a set
        raise ValueError(f"a {name} with a list, a set or an object in it") from None


def _of_pairs(pairs: Sequence[Any], depth: int) -> dict[Any, Any]:
    if not all(isinstance(pair, list | tuple) and len(pair) == _PAIR for pair in pairs):
        raise ValueError("a dict with a list that does not consist of pairs")
    try:
        return {_decoded(name, depth + 1): _decoded(item, depth + 1) for name, item in pairs}
    except TypeError:
        raise ValueError("a dict with a list, a set or an object as a key") from None


def _of_text(name: str, content: str) -> Any:
    try:
        return _TEXTS[name](content)
    except (ArithmeticError, LookupError):
        raise ValueError(f"{content[:100]!r} is not a {name}") from None


def _duration(seconds: float) -> timedelta:
    try:
        return timedelta(seconds=seconds)
    except OverflowError as error:
        raise ValueError(f"a timedelta of {seconds:g} seconds is too long") from error


def _decimal(content: str) -> Any:
    from decimal import Decimal  # noqa: PLC0415 - only such values pay for the import

    if len(content) > _DIGITS_MAX:
        raise ValueError(f"a decimal of {len(content)} characters; {_DIGITS_MAX} are allowed")
    return Decimal(content)


def _uuid(content: str) -> Any:
    from uuid import UUID  # noqa: PLC0415 - only such values pay for the import

    return UUID(content)


_COLLECTIONS: Mapping[str, Callable[[list[Any]], Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_TEXTS: Mapping[str, Callable[[str], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "float": {str(number): number for number in (math.nan, math.inf, -math.inf)}.__getitem__,
    "timedelta": lambda content: timedelta(seconds=times.seconds(content)),
    "bytes": lambda content: binascii.a2b_base64(content, strict_mode=True),
    "decimal": _decimal,
    "uuid": _uuid,
}
