"""Moments as Leases and Events have them: exactly six digits after the second, else the API server refuses them."""

from datetime import UTC, datetime


def text(moment: float) -> str:
    """`1700000000.5` as `2023-11-14T22:13:20.500000Z`."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
