"""Time as an argument: the one clock that everything which waits or stamps is given.

It exists so that tests and the simulation can put virtual time in its place; nothing here decides anything.
"""

import asyncio
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar


class Clock(Protocol):
    """Moments, durations and waiting."""

    def now(self) -> float:
        """Seconds since the epoch; for what is written on objects."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start, never going back; for measuring how long something took."""

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds; at once, but not without letting others run, if there are none to wait."""


class SystemClock:
    """The clock of the machine."""

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
    """What `work` returns or raises. Raises TimeoutError, and cancels it, where it takes longer."""
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
            # Not awaited: what does not end when it is cancelled would hold up whoever set the limit.
            working.add_done_callback(_retrieve)
            working.cancel()


def _retrieve(working: "asyncio.Future[Any]") -> None:
    if not working.cancelled():
        working.exception()


def text(moment: float) -> str:
    """`1700000000.5` as `2023-11-14T22:13:20.500000Z`."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
