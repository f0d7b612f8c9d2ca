"""Moments, days and durations among a trigger's arguments, which JSON cannot say: `{"__type": ..., "__var": ...}`.

Airflow's triggers take them as Python's own values (`DateTimeTrigger(moment=datetime)`), and its spelling is used, with
text where Airflow has numbers, so that kubectl shows what a person reads and a Workflow may write. Worker encodes,
triggerer decodes; whoever compares or hashes sees plain JSON.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from torpor_wire import canonical, times

_TYPE, _VAR = "__type", "__var"
_WRITTEN = {_TYPE, _VAR}


def encode(value: object) -> Any:
    """The value with datetimes, dates and timedeltas in it as JSON; what else is no JSON is left as it is.

    An aware datetime becomes the same moment in UTC, so that equal waits are written alike. Raises NotJsonError for a
    value that refers to itself.
    """
    try:
        return _encoded(value)
    except RecursionError as error:
        raise canonical.NotJsonError("the value refers to itself or is nested too deeply") from error


def decode(value: Any) -> Any:
    """The value that was encoded. Raises ValueError for a type that is not known, or text that is no value of it."""
    if isinstance(value, Mapping):
        return _read(value) if value.keys() == _WRITTEN else _each(decode, value)
    return [decode(item) for item in value] if isinstance(value, list | tuple) else value


def plain(value: Any) -> Any:
    """What a person is to read of an encoded value: `__var` without its type."""
    return value[_VAR] if isinstance(value, Mapping) and value.keys() == _WRITTEN else value


def _encoded(value: object) -> Any:
    match value:
        case datetime():
            return _typed("datetime", (value if value.tzinfo is None else value.astimezone(UTC)).isoformat())
        case date():
            return _typed("date", value.isoformat())
        case timedelta():
            return _typed("timedelta", value.total_seconds())
        case Mapping() if value.keys() == _WRITTEN:
            return _typed("dict", _each(_encoded, value))
        case Mapping():
            return _each(_encoded, value)
        case list() | tuple():
            return [_encoded(item) for item in value]
        case _:
            return value


def _typed(name: str, value: object) -> dict[str, object]:
    return {_TYPE: name, _VAR: value}


def _each(change: Callable[[Any], Any], values: Mapping[Any, Any]) -> dict[Any, Any]:
    return {name: change(value) for name, value in values.items()}


def _read(written: Mapping[str, Any]) -> Any:
    match written[_TYPE], written[_VAR]:
        case "datetime", str() as text:
            return datetime.fromisoformat(text)
        case "date", str() as text:
            return date.fromisoformat(text)
        case "timedelta", str() as text:
            return timedelta(seconds=times.seconds(text))
        case "timedelta", int() | float() as seconds if not isinstance(seconds, bool):
            return _duration(seconds)
        case "dict", Mapping() as inner:
            return _each(decode, inner)
        case name, found:
            raise ValueError(
                f"{_TYPE} {name!r:.100} with a {type(found).__name__}: there are datetime, date and timedelta as text, "
                "and timedelta in seconds"
            )


def _duration(seconds: float) -> timedelta:
    try:
        return timedelta(seconds=seconds)
    except OverflowError as error:
        raise ValueError(f"a timedelta of {seconds:g} seconds is too long") from error
