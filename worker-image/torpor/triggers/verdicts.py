"""What many waits make of one answer, a few at a time, so that others have the loop and expressions are at work."""

from collections.abc import Coroutine, Sequence
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Pending: TypeAlias = "Coroutine[Any, Any, T | None] | Exception | None"

_AT_ONCE = 8


async def each(verdicts: "Sequence[Pending[T]]") -> "list[T | Exception | None]":
    """Each as it is, the coroutines as what they return or raise."""
    import asyncio  # noqa: PLC0415 - a task pod has no use for it

    found: list[Any] = list(verdicts)
    left = [number for number, one in enumerate(found) if isinstance(one, Coroutine)]
    try:
        while left:
            now, left = left[:_AT_ONCE], left[_AT_ONCE:]
            ended = await asyncio.gather(*(found[number] for number in now), return_exceptions=True)
            for number, end in zip(now, ended, strict=True):
                found[number] = end
    finally:
        for number in left:
            found[number].close()
    return found
