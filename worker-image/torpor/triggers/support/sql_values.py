"""Converts database values to JSON without loss: a number that JSON would round becomes text. Pure."""

import math
from collections.abc import Mapping
from typing import Any


def row(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row by column name. Raises ValueError naming the column whose value has no JSON form."""
    return {str(name): cell(value, str(name)) for name, value in found.items()}


def cell(value: Any, column: str) -> Any:
    """Return a value: times as RFC 3339, decimals and UUIDs as text, intervals in seconds."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case list() | tuple() if not hasattr(value, "_fields"):
            return [cell(one, column) for one in value]
        case Mapping():
            return {str(name): cell(one, column) for name, one in value.items()}
        case _:
            return _spelled(value, column)


def _spelled(value: Any, column: str) -> Any:
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
    from uuid import UUID

    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal() | UUID():
            return str(value)
        case IPv4Address() | IPv4Interface() | IPv4Network() | IPv6Address() | IPv6Interface() | IPv6Network():
            return str(value)
        case bytes() | bytearray() | memoryview():
            raise ValueError(f"column {column!r} contains bytes: select encode({column}, 'base64') or omit it")
        case _:
            raise ValueError(f"column {column!r} has the type {type(value).__name__}: cast it to text in the query")
