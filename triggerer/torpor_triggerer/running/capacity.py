"""Shares the scheduler's slots: the oldest waits of each owner run, equally many of each. Pure.

`status.deferredAt` comes from the task's pod. It counts only where a false value gains nothing: a wait that claims to
be younger than the tolerance of the admission policy (`constants.CLOCK_SLACK_S`) counts from the moment when this
replica first saw it. An older one was written long ago, as after a handover, and keeps its place, but no earlier than
the creation of its TaskRun.
"""

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from torpor_wire import constants, times

from torpor_triggerer.model.packed_wait import PackedWait


class Age(NamedTuple):
    """The sort key of a wait, oldest first. `since` is in whole seconds, so that a list of waits keeps its order."""

    since: int
    claimed: float
    namespace: str
    name: str


def age(wait: PackedWait) -> Age:
    """Return the sort key of a wait that is served."""
    return Age(wait.since, wait.deferred_at, wait.namespace, wait.name)


def counts_from(wait: PackedWait, seen_at: float) -> float:
    """Return the moment from which a wait counts that was first seen at `seen_at`."""
    if wait.deferred_at >= seen_at - constants.CLOCK_SLACK_S:
        return seen_at
    created = wait.unpack().created
    return max(wait.deferred_at, min(times.epoch(created), seen_at)) if created else seen_at


T = TypeVar("T")


class FairSlots(Generic[T]):
    """A number of slots that owners share equally, the oldest items of each owner first. `age` must be unique."""

    def __init__(
        self, capacity: int, age: Callable[[T], tuple[Any, ...]], owner: Callable[[T], str] = lambda _: ""
    ) -> None:
        self._capacity = capacity
        self._age = age
        self._owner = owner
        self._lines: dict[str, list[T]] = {}
        self._running: Counter[str] = Counter()
        self._free = capacity

    def enter(self, item: T) -> T | None:
        """Request a slot. Return the item without one: a running item that loses its slot, or this one."""
        owner = self._owner(item)
        line = self._lines.setdefault(owner, [])
        index = self._index(line, item)
        if self._is_at(line, index, item):
            return None if index < self._running[owner] else item
        line.insert(index, item)
        if self._free:
            self._free -= 1
            self._running[owner] += 1
            return None
        return self._preempt(owner, index)

    def leave(self, item: T) -> T | None:
        """Withdraw an item. Return the queued item that gets its slot."""
        owner = self._owner(item)
        line = self._lines.get(owner, [])
        index = self._index(line, item)
        if not self._is_at(line, index, item):
            return None
        del line[index]
        if not line:
            del self._lines[owner]
        if index >= self._running[owner]:
            return None
        self._take(owner)
        self._free += 1
        return self._next()

    def queue(self) -> Iterator[T]:
        """Return the items without a slot, oldest first."""
        queued = (islice(line, self._running[owner], None) for owner, line in list(self._lines.items()))
        return heapq.merge(*queued, key=self._age)

    def _preempt(self, owner: str, index: int) -> T:
        """Return the item without a slot after an owner got a new item at `index` of its line."""
        richest, most = self._running.most_common(1)[0]
        if most >= self._running[owner] + 2:
            self._take(richest)
            self._running[owner] += 1
            return self._lines[richest][self._running[richest]]
        return self._lines[owner][max(index, self._running[owner])]

    def _next(self) -> T | None:
        """Assign the free slot: to the owner with the fewest, then to the oldest item."""
        queueing = [owner for owner, line in self._lines.items() if len(line) > self._running[owner]]
        if not queueing:
            return None
        owner = min(queueing, key=lambda name: (self._running[name], self._age(self._lines[name][self._running[name]])))
        self._free -= 1
        self._running[owner] += 1
        return self._lines[owner][self._running[owner] - 1]

    def _take(self, owner: str) -> None:
        self._running[owner] -= 1
        if not self._running[owner]:
            del self._running[owner]

    def _index(self, line: list[T], item: T) -> int:
        return bisect_left(line, self._age(item), key=self._age)

    def _is_at(self, line: list[T], index: int, item: T) -> bool:
        return index < len(line) and self._age(line[index]) == self._age(item)
