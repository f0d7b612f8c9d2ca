"""Decodes JSON with a limit on nesting.

Python's decoder fails at a depth that depends on the call stack, and recursive code (copies, validation, canonical
JSON) fails earlier. The check runs on the text with regular expressions. It costs about as much as decoding, and text
with few brackets skips it. Pure.
"""

import json
import re
from typing import Any

MAX_DEPTH = 100
"""Levels of lists and objects. The admission policy accepts 20 in the values of a Workflow; a TaskRun adds a few."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
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
    brackets = _STRING.sub(b"", data).translate(_AS_LISTS, _NOT_BRACKETS)
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
