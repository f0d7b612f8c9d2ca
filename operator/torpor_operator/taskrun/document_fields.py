"""The parts of an outcome document: objects with known keys, and values in messages. Pure."""

from collections.abc import Mapping
from typing import Any

from torpor_wire import canonical

_SHOWN_MAX = 100


class InvalidDocumentError(ValueError):
    """A part of the document that is invalid."""


def object_with(value: object, what: str, known: set[str]) -> Mapping[str, Any]:
    """The value as an object with no other than the known keys. Raises InvalidDocumentError."""
    if not isinstance(value, dict):
        raise InvalidDocumentError(f"{what} is {shown(value)}: write a JSON object")
    if unknown := value.keys() - known:
        names = ", ".join(sorted(f'"{name}"' for name in known))
        raise InvalidDocumentError(f"{what} has the unknown key {shown(min(unknown))}: the keys are {names}")
    return value


def shown(value: object) -> str:
    """The value as JSON, shortened for a message."""
    text = canonical.plain(value)
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."
