"""Time as an argument: the one clock that everything which waits or stamps is given.

It exists so that tests and the simulation can put virtual time in its place; nothing here decides anything.
"""

import asyncio
import time
from typing import Protocol


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
