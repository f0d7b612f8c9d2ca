"""JSON as the page gets it."""

import json
from typing import Any


def encode(value: Any) -> bytes:
    """Return compact JSON. Lone surrogates become replacement characters, since UTF-8 has no place for them."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
