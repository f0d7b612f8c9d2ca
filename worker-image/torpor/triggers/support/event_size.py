"""Keeps events within their size limit. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from torpor_wire import canonical, constants


def listed(event: Mapping[str, Any], name: str, items: Sequence[Any]) -> dict[str, Any]:
    """Return the event with the first items that fit, and `truncated` if some are missing.

    Raises NotJsonError for items that are not JSON.
    """
    room = constants.EVENT_MAX - _size({**event, name: [], "truncated": True})
    shown: list[Any] = []
    for item in items:
        room -= _size(item) + len(",")
        if room < 0:
            return {**event, name: shown, "truncated": True}
        shown.append(item)
    return {**event, name: shown}


def text(event: Mapping[str, Any], name: str, value: str) -> dict[str, Any]:
    """Return the event with as much of a text as fits, and `truncated` if some is missing."""
    whole = {**event, name: value}
    if _size(whole) <= constants.EVENT_MAX:
        return whole
    shown = value[: constants.EVENT_MAX]
    while _size({**event, name: shown, "truncated": True}) > constants.EVENT_MAX and shown:
        shown = shown[: len(shown) * 7 // 8]
    return {**event, name: shown, "truncated": True}


def mapped(event: Mapping[str, Any], name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event with the first fields that fit, and `truncated` if some are missing."""
    found = listed(event, name, [[key, value] for key, value in fields.items()])
    return {**found, name: dict(found[name])}


def _size(value: object) -> int:
    return len(canonical.plain(value).encode())
