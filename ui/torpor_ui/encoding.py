"""JSON as the page gets it."""

import json
import math
from collections.abc import Mapping
from typing import Any


def encode(value: Any) -> bytes:
    """Return compact JSON. Lone surrogates become replacement characters, since UTF-8 has no place for them.

    Numbers that JSON does not have become texts: Python reads `1e999` and `NaN` of a result as such numbers.
    """
    try:
        text = _dumped(value)
    except ValueError:
        text = _dumped(_finite(value))
    return text.encode("utf-8", "replace")


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case Mapping():
            return {_finite(key): _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value
