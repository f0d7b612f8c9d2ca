"""Moments at which something is due, as a heap: a million of them cost no task and no wake-up.

Pure. Taking one back leaves its place in the heap until it comes up or the dead outnumber the living.
"""

import asyncio
import heapq
import itertools
import logging
from collections.abc import Callable
from typing import Generic, Never, TypeVar

from torpor_api.timing import Clock

T = TypeVar("T")

_SMALL = 64


class Timer(Generic[T]):
    """One moment and what is due then; `item` is None once it was taken back."""

    __slots__ = ("item", "moment", "order")

    def __init__(self, moment: float, order: int, item: T) -> None:
        self.moment = moment
        self.order = order
        self.item: T | None = item

    def __lt__(self, other: "Timer[T]") -> bool:
        return (self.moment, self.order) < (other.moment, other.order)


class Timers(Generic[T]):
    """In order of moment, then of being added."""

    def __init__(self) -> None:
        self._heap: list[Timer[T]] = []
        self._orders = itertools.count()
        self._dead = 0

    def __len__(self) -> int:
        return len(self._heap) - self._dead

    def add(self, moment: float, item: T) -> Timer[T]:
        """Make something due; what is returned can be taken back."""
        timer = Timer(moment, next(self._orders), item)
        heapq.heappush(self._heap, timer)
        return timer

    def discard(self, timer: Timer[T]) -> None:
        """Take it back; that it was due already, or was taken back before, is no error."""
        if timer.item is None:
            return
        timer.item = None
        self._dead += 1
        if self._dead > _SMALL and 2 * self._dead > len(self._heap):
            self._heap = [one for one in self._heap if one.item is not None]
            heapq.heapify(self._heap)
            self._dead = 0

    def next_moment(self) -> float | None:
        """When the first is due; None where there is none."""
        self._drop_dead()
        return self._heap[0].moment if self._heap else None

    def pop_due(self, now: float) -> list[T]:
        """Everything due at or before `now`, in order."""
        due: list[T] = []
        while self._heap and self._heap[0].moment <= now:
            timer = heapq.heappop(self._heap)
            if timer.item is None:
                self._dead -= 1
            else:
                due.append(timer.item)
                timer.item = None
        return due

    def _drop_dead(self) -> None:
        while self._heap and self._heap[0].item is None:
            heapq.heappop(self._heap)
            self._dead -= 1


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
