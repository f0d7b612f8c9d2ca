"""The clock, passed as an argument to everything that waits or records times.

Tests and the simulation pass a clock with virtual time.
"""

import asyncio
import time
from collections.abc import Awaitable, Coroutine
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar


class Clock(Protocol):
    """Tells the time and sleeps."""

    def now(self) -> float:
        """Seconds since the epoch, for timestamps on objects."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start, for durations. Never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Sleep. Yields to other tasks even if `seconds` is not positive."""


class SystemClock:
    """The system clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(max(0.0, seconds))


T = TypeVar("T")


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return or raise what `work` does. Cancels it and raises TimeoutError after `seconds`."""
    working = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((working, timer), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise TimeoutError(f"not done within {seconds:g} s")
    finally:
        timer.cancel()
        if not working.done():
            # Not awaited: work that ignores its cancellation would delay the caller.
            working.add_done_callback(_retrieve)
            working.cancel()


async def together(*work: Awaitable[None]) -> None:
    """Await all of them at once. Raises the first error after all have ended."""
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if outcome is not None:
            raise outcome


def _retrieve(working: "asyncio.Future[Any]") -> None:
    if not working.cancelled():
        working.exception()


def text(moment: float) -> str:
    """Format `1700000000.5` as `2023-11-14T22:13:20.500000Z`."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
