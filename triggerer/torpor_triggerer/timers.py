"""Timers in one heap: a million of them cost no task and no wake-up."""

import asyncio
import heapq
import itertools
import logging
from collections.abc import Callable
from math import inf
from typing import Generic, Never, TypeVar

from torpor_kubernetes.timing import Clock

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
            self._heap = [kept for kept in self._heap if kept.item is not None]
            heapq.heapify(self._heap)
            self._discarded = 0

    def next_moment(self) -> float | None:
        """Return the moment of the first timer."""
        self._drop_discarded()
        return self._heap[0].moment if self._heap else None

    def pop_due(self, now: float) -> T | None:
        """Remove and return the first item, if it is due at `now`."""
        self._drop_discarded()
        if not self._heap or self._heap[0].moment > now:
            return None
        timer = heapq.heappop(self._heap)
        item, timer.item = timer.item, None
        return item

    def _drop_discarded(self) -> None:
        while self._heap and self._heap[0].item is None:
            heapq.heappop(self._heap)
            self._discarded -= 1


SLEEP_MAX = 30.0
AT_ONCE = 50
"""Timers that expire before other tasks run: thousands may have one moment."""

log = logging.getLogger(__name__)


class Timers(Generic[T]):
    """Calls `on_timer` with the item of each expired timer, in order. `on_timer` must not block.

    Moments are of the wall clock, which may be set while this sleeps, or of `now`, such as `clock.monotonic`.
    """

    def __init__(self, clock: Clock, on_timer: Callable[[T], None], now: Callable[[], float] | None = None) -> None:
        self._clock = clock
        self._now = now or clock.now
        self._longest = SLEEP_MAX if now is None else inf
        self._on_timer = on_timer
        self._heap: TimerHeap[T] = TimerHeap()
        self._sleeper: asyncio.Future[None] | None = None
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
            await self._expire_due()
            await self._sleep()

    async def _expire_due(self) -> None:
        expired, now = 0, self._now()
        while (item := self._heap.pop_due(now)) is not None:
            self._expire(item)
            expired += 1
            if expired % AT_ONCE == 0:
                await asyncio.sleep(0)

    def _expire(self, item: T) -> None:
        """An error of one timer must not stop the others."""
        try:
            self._on_timer(item)
        except Exception:
            log.exception("A timer failed")

    async def _sleep(self) -> None:
        now = self._now()
        moment = self._heap.next_moment()
        self._wakes_at = min(inf if moment is None else moment, now + self._longest)
        self._sleeper = self._until(self._wakes_at - now)
        try:
            await asyncio.wait((self._sleeper,))
        finally:
            self._sleeper.cancel()
            self._sleeper = None

    def _until(self, seconds: float) -> "asyncio.Future[None]":
        if seconds == inf:
            return asyncio.get_running_loop().create_future()
        return asyncio.ensure_future(self._clock.sleep(seconds))
