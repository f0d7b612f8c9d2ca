"""Functions that arguments of triggers name by their paths."""

from typing import Any


async def has_rows(response: Any) -> bool:
    """Whether a response of the HTTP service has rows."""
    return bool(response.json()["rows"])
