"""Who of the waits that ask may run here: of each namespace the oldest, and of the namespaces equally many.

Each namespace has a list in order of age; its first part runs, the rest queues. A namespace that is alone has all the
room. Where there is not enough for all, one that has two more than another gives one up to it, its youngest; room that
frees goes to the namespace that has the least, for the oldest that queues there. Pure.
"""

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Room(Generic[T]):
    """Room for so many, and the order of those that ask for it: by `age`, which no two have in common."""

    def __init__(
        self, capacity: int, age: Callable[[T], tuple[Any, ...]], owner: Callable[[T], str] = lambda _: ""
    ) -> None:
        self._capacity = capacity
        self._age = age
        self._owner = owner
        self._lines: dict[str, list[T]] = {}
        self._running: Counter[str] = Counter()
        self._free = capacity

    def enter(self, one: T) -> T | None:
        """Ask for room. Returns who has none for it: one that had, or the one that asks."""
        owner = self._owner(one)
        line = self._lines.setdefault(owner, [])
        at = self._at(line, one)
        if self._is_at(line, at, one):
            return None if at < self._running[owner] else one
        line.insert(at, one)
        if self._free:
            self._free -= 1
            self._running[owner] += 1
            return None
        return self._make_way(owner, at)

    def leave(self, one: T) -> T | None:
        """Ask no more. Returns who may run for it."""
        owner = self._owner(one)
        line = self._lines.get(owner, [])
        at = self._at(line, one)
        if not self._is_at(line, at, one):
            return None
        del line[at]
        if not line:
            del self._lines[owner]
        if at >= self._running[owner]:
            return None
        self._take(owner)
        self._free += 1
        return self._next()

    def queue(self) -> Iterator[T]:
        """Those that have no room, oldest first."""
        queued = (islice(line, self._running[owner], None) for owner, line in list(self._lines.items()))
        return heapq.merge(*queued, key=self._age)

    def _make_way(self, owner: str, at: int) -> T:
        """Who has no room once one has come to a place in a line."""
        richest, most = self._running.most_common(1)[0]
        if most >= self._running[owner] + 2:
            self._take(richest)
            self._running[owner] += 1
            return self._lines[richest][self._running[richest]]
        return self._lines[owner][max(at, self._running[owner])]

    def _next(self) -> T | None:
        """Who has the room that is free now."""
        queueing = [one for one, line in self._lines.items() if len(line) > self._running[one]]
        if not queueing:
            return None
        owner = min(queueing, key=lambda one: (self._running[one], self._age(self._lines[one][self._running[one]])))
        self._free -= 1
        self._running[owner] += 1
        return self._lines[owner][self._running[owner] - 1]

    def _take(self, owner: str) -> None:
        self._running[owner] -= 1
        if not self._running[owner]:
            del self._running[owner]

    def _at(self, line: list[T], one: T) -> int:
        return bisect_left(line, self._age(one), key=self._age)

    def _is_at(self, line: list[T], at: int, one: T) -> bool:
        return at < len(line) and self._age(line[at]) == self._age(one)
