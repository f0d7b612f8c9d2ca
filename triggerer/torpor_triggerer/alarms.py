"""Rings what is due when it is due: one sleeping task for any number of moments.

Moments are the wall clock's, which may be set while the loop sleeps by another clock, so it never sleeps long.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Generic, Never, TypeVar

from torpor_api.clock import Clock

from torpor_triggerer.timers import Timer, Timers

T = TypeVar("T")

LONGEST_SLEEP = 30.0

log = logging.getLogger(__name__)


class Alarms(Generic[T]):
    """Timers that ring. `ring` is called in order of moment; it notes what is to be done and returns."""

    def __init__(self, clock: Clock, ring: Callable[[T], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._timers: Timers[T] = Timers()
        self._sleeper: asyncio.Task[None] | None = None
        self._wakes_at = float("-inf")

    def add(self, moment: float, item: T) -> Timer[T]:
        """Ring `item` at a moment, at once if it has passed."""
        timer = self._timers.add(moment, item)
        if self._sleeper is not None and moment < self._wakes_at:
            self._sleeper.cancel()
        return timer

    def discard(self, timer: Timer[T]) -> None:
        """Do not ring it."""
        self._timers.discard(timer)

    async def run(self) -> Never:
        """Ring, for ever."""
        while True:
            for item in self._timers.pop_due(self._clock.now()):
                self._ring_or_log(item)
            await self._sleep()

    def _ring_or_log(self, item: T) -> None:
        """One timer never keeps the others from ringing."""
        try:
            self._ring(item)
        except Exception:
            log.exception("what is due cannot be begun")

    async def _sleep(self) -> None:
        now = self._clock.now()
        moment = self._timers.next_moment()
        self._wakes_at = now + LONGEST_SLEEP if moment is None else min(moment, now + LONGEST_SLEEP)
        self._sleeper = asyncio.ensure_future(self._clock.sleep(self._wakes_at - now))
        try:
            await asyncio.wait((self._sleeper,))
        finally:
            self._sleeper.cancel()
            self._sleeper = None
