"""Data of the views as JSON for `-o json`: camelCase, times as RFC 3339, without empty fields. Pure."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from torpor_wire import times

_MOMENTS = frozenset({"at", "start", "end", "started", "ended", "since", "created", "completed", "deadline", "next_at"})


def to_json(value: Any) -> Any:
    """Return a dataclass, or a collection of them, as JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        return {_camel(name): _field(name, one) for name, one in found.items() if one not in (None, "", (), [], {})}
    if isinstance(value, Mapping):
        return {str(key): to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(one) for one in value]
    return str(value) if isinstance(value, str) else value


def _field(name: str, value: Any) -> Any:
    return times.rfc3339(value) if name in _MOMENTS and isinstance(value, float | int) else to_json(value)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
