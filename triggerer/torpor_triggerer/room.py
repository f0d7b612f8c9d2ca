"""Who of the waits that ask may run here: the `capacity` oldest, in whatever order they came.

One list in order of age; its first part runs, the rest queues. So one that is older than others takes the room of the
youngest, as when a list brings more waits than there is room for, in the order of their names; and room that frees is
the oldest's of those that queue. Pure.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Room(Generic[T]):
    """Room for so many, and the order of those that ask for it: by `age`, which no two have in common."""

    def __init__(self, capacity: int, age: Callable[[T], tuple[Any, ...]]) -> None:
        self._capacity = capacity
        self._age = age
        self._asking: list[T] = []

    def enter(self, one: T) -> T | None:
        """Ask for room. Returns who has none for it: the youngest of those that had, or the one that asks."""
        at = self._at(one)
        if not self._is_at(at, one):
            self._asking.insert(at, one)
        return self._asking[max(at, self._capacity)] if len(self._asking) > self._capacity else None

    def leave(self, one: T) -> T | None:
        """Ask no more. Returns who may run for it."""
        at = self._at(one)
        if not self._is_at(at, one):
            return None
        del self._asking[at]
        return self._asking[self._capacity - 1] if at < self._capacity <= len(self._asking) else None

    def queue(self) -> Iterator[T]:
        """Those that have no room, oldest first."""
        return islice(self._asking, self._capacity, None)

    def _at(self, one: T) -> int:
        return bisect_left(self._asking, self._age(one), key=self._age)

    def _is_at(self, at: int, one: T) -> bool:
        return at < len(self._asking) and self._age(self._asking[at]) == self._age(one)
