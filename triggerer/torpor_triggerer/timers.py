"""Moments at which something is due, as a heap: a million of them cost no task and no wake-up.

Pure. Taking one back leaves its place in the heap until it comes up or the dead outnumber the living.
"""

import heapq
import itertools
from typing import Generic, TypeVar

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
