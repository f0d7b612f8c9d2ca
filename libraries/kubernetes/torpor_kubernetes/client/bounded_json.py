"""Decodes JSON with a limit on nesting.

Python's decoder fails at a depth that depends on the call stack, and recursive code (copies, validation, canonical
JSON) fails earlier. The check runs on the text and costs nearly as much as decoding. Text with few brackets skips it.
Pure.
"""

import json
from typing import Any

MAX_DEPTH = 100
"""Levels of lists and objects. The admission policy accepts 20 in the values of a Workflow; a TaskRun adds a few."""

_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_AS_LISTS = bytes.maketrans(b"{}", b"[]")


class TooDeepError(ValueError):
    """The text exceeds the limit on nesting."""


def loads(data: bytes, *, max_depth: int = MAX_DEPTH) -> Any:
    """Return the decoded value. Raises TooDeepError above `max_depth` levels, ValueError for text that is not JSON."""
    if is_too_deep(data, max_depth):
        raise TooDeepError(_too_deep(max_depth))
    try:
        return json.loads(data)
    except RecursionError as error:  # unbalanced brackets: the decoder reports them
        raise TooDeepError(_too_deep(max_depth)) from error


def is_too_deep(data: bytes, max_depth: int = MAX_DEPTH) -> bool:
    """Return whether JSON text exceeds `max_depth` levels. For text that is not JSON the result is undefined."""
    if data.count(b"[") + data.count(b"{") <= max_depth:
        return False
    # Without escapes each second part between quotes is outside of strings. It costs half of a regular expression.
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data
    brackets = b"".join(plain.split(b'"')[::2]).translate(_AS_LISTS, _NOT_BRACKETS)
    for _ in range(max_depth):
        if not brackets:
            return False
        # Each pass removes the innermost level.
        fewer = brackets.replace(b"[]", b"")
        if len(fewer) == len(brackets):
            return False  # unbalanced: the decoder reports it
        brackets = fewer
    return bool(brackets)


def _too_deep(max_depth: int) -> str:
    return f"the JSON is nested more than {max_depth} levels deep"
