"""HTTP status codes as a set of ranges, from the spellings that people use. Pure."""

import re
from collections.abc import Iterable
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

_RANGE = re.compile(r"([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?")


def ranges(status: object) -> Ranges:
    """`200`, `"200-299"` or a list of those. Raises TypeError or ValueError saying what is taken."""
    given = status if isinstance(status, Iterable) and not isinstance(status, str | bytes) else [status]
    found = tuple(sorted(_range(one) for one in given))
    if not found:
        raise ValueError("status names no code that would do")
    return found


def spelled(found: Ranges) -> list[int | str]:
    """The list that `ranges` reads back."""
    return [first if first == last else f"{first}-{last}" for first, last in found]


def holds(found: Ranges, status: int) -> bool:
    """Whether a code is in one of the ranges."""
    return any(first <= status <= last for first, last in found)


def _range(one: object) -> tuple[int, int]:
    if isinstance(one, bool) or not isinstance(one, int | str):
        raise TypeError(f"status takes codes such as 200 and ranges such as '200-299', not {one!r:.100}")
    match = _RANGE.fullmatch(str(one))
    if match is None:
        raise ValueError(f"status {one!r:.100} is neither a code such as 200 nor a range such as '200-299'")
    first = int(match[1])
    last = int(match[2] or first)
    if last < first:
        raise ValueError(f"status {one!r} ends before it begins")
    return first, last
