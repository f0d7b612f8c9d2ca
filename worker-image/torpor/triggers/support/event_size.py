"""Events that stay within their limit, whatever was found. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from torpor_wire import canonical, constants


def listed(event: Mapping[str, Any], name: str, items: Sequence[Any]) -> dict[str, Any]:
    """The event with the first of the items, under a name, as many as fit; with `truncated` where that is not all.

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
    """The event with a text, or as much of its beginning as fits, with `truncated` where that is not all."""
    whole = {**event, name: value}
    if _size(whole) <= constants.EVENT_MAX:
        return whole
    shown = value[: constants.EVENT_MAX]
    while _size({**event, name: shown, "truncated": True}) > constants.EVENT_MAX and shown:
        shown = shown[: len(shown) * 7 // 8]
    return {**event, name: shown, "truncated": True}


def mapped(event: Mapping[str, Any], name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The event with the fields that fit, in their order, with `truncated` where one is left out."""
    found = listed(event, name, [[key, value] for key, value in fields.items()])
    return {**found, name: dict(found[name])}


def _size(value: object) -> int:
    return len(canonical.plain(value).encode())
