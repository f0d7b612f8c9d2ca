"""Timers in one heap: a million of them cost no task and no wake-up."""

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
    """A moment and an item. `item` is None once it expired or was discarded."""

    __slots__ = ("item", "moment", "order")

    def __init__(self, moment: float, order: int, item: T) -> None:
        self.moment = moment
        self.order = order
        self.item: T | None = item

    def __lt__(self, other: "Timer[T]") -> bool:
        return (self.moment, self.order) < (other.moment, other.order)


class TimerHeap(Generic[T]):
    """Timers by moment, then by insertion. Pure.

    A discarded timer stays in the heap until it is due, or until discarded timers outnumber the others.
    """

    def __init__(self) -> None:
        self._heap: list[Timer[T]] = []
        self._orders = itertools.count()
        self._discarded = 0

    def __len__(self) -> int:
        return len(self._heap) - self._discarded

    def add(self, moment: float, item: T) -> Timer[T]:
        """Add a timer."""
        timer = Timer(moment, next(self._orders), item)
        heapq.heappush(self._heap, timer)
        return timer

    def discard(self, timer: Timer[T]) -> None:
        """Remove a timer. Does nothing if it expired or was discarded."""
        if timer.item is None:
            return
        timer.item = None
        self._discarded += 1
        if self._discarded > _SMALL and 2 * self._discarded > len(self._heap):
            self._heap = [one for one in self._heap if one.item is not None]
            heapq.heapify(self._heap)
            self._discarded = 0

    def next_moment(self) -> float | None:
        """Return the moment of the first timer."""
        self._drop_discarded()
        return self._heap[0].moment if self._heap else None

    def pop_due(self, now: float) -> list[T]:
        """Remove and return all items due at `now`, in order."""
        due: list[T] = []
        while self._heap and self._heap[0].moment <= now:
            timer = heapq.heappop(self._heap)
            if timer.item is None:
                self._discarded -= 1
            else:
                due.append(timer.item)
                timer.item = None
        return due

    def _drop_discarded(self) -> None:
        while self._heap and self._heap[0].item is None:
            heapq.heappop(self._heap)
            self._discarded -= 1


SLEEP_MAX = 30.0

log = logging.getLogger(__name__)


class Timers(Generic[T]):
    """Calls `on_timer` with the item of each expired timer, in order. `on_timer` must not block."""

    def __init__(self, clock: Clock, on_timer: Callable[[T], None]) -> None:
        self._clock = clock
        self._on_timer = on_timer
        self._heap: TimerHeap[T] = TimerHeap()
        self._sleeper: asyncio.Task[None] | None = None
        self._wakes_at = float("-inf")

    def add(self, moment: float, item: T) -> Timer[T]:
        """Add a timer. A moment in the past expires at once."""
        timer = self._heap.add(moment, item)
        if self._sleeper is not None and moment < self._wakes_at:
            self._sleeper.cancel()
        return timer

    def discard(self, timer: Timer[T]) -> None:
        """Remove a timer."""
        self._heap.discard(timer)

    async def run(self) -> Never:
        """Expire timers until cancelled."""
        while True:
            for item in self._heap.pop_due(self._clock.now()):
                self._expire(item)
            await self._sleep()

    def _expire(self, item: T) -> None:
        """An error of one timer must not stop the others."""
        try:
            self._on_timer(item)
        except Exception:
            log.exception("A timer failed")

    async def _sleep(self) -> None:
        now = self._clock.now()
        moment = self._heap.next_moment()
        self._wakes_at = now + SLEEP_MAX if moment is None else min(moment, now + SLEEP_MAX)
        self._sleeper = asyncio.ensure_future(self._clock.sleep(self._wakes_at - now))
        try:
            await asyncio.wait((self._sleeper,))
        finally:
            self._sleeper.cancel()
            self._sleeper = None
