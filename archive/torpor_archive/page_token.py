"""The token of a page in lists: the position of its last item, opaque to the client. Pure."""

import base64
import binascii
import json
from typing import Any

from torpor_archive import errors
from torpor_archive.errors import ErrorResponse


def encode(*position: float | str) -> str:
    """Return the token for the page after a position."""
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode()


def decode(text: str, *kinds: type) -> tuple[Any, ...] | ErrorResponse:
    """Return the position, whose parts must be of these types, or an ErrorResponse (400)."""
    try:
        position = json.loads(base64.urlsafe_b64decode(text.encode()))
    except (ValueError, RecursionError, binascii.Error):
        position = None
    if (
        not isinstance(position, list)
        or list(map(type, position)) != list(kinds)
        or any("\0" in str(part) for part in position)
    ):
        return errors.invalid("`continue` must be the token from the previous page")
    return tuple(position)
