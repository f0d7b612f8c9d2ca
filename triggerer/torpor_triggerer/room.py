"""Who of the waits that ask may run here: the `capacity` oldest, in whatever order they came.

One list in order of age; its first part runs, the rest queues. So one that is older than others takes the room of the
youngest, as when a list brings more waits than there is room for, in the order of their names; and room that frees is
the oldest's of those that queue. Pure.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from torpor_api.store import Key


class Age(NamedTuple):
    """A wait's place in the order: since when it waits, in seconds since the epoch, then its name."""

    since: float
    key: Key


class Room:
    """Room for so many, and the order of those that ask for it."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._ages: list[Age] = []

    def enter(self, age: Age) -> Key | None:
        """Ask for room. Returns who has none for it: the youngest of those that had, or the one that asks."""
        at = bisect_left(self._ages, age)
        if self._ages[at : at + 1] != [age]:
            self._ages.insert(at, age)
        return self._ages[max(at, self._capacity)].key if len(self._ages) > self._capacity else None

    def leave(self, age: Age) -> Key | None:
        """Ask no more. Returns who may run for it."""
        at = bisect_left(self._ages, age)
        if self._ages[at : at + 1] != [age]:
            return None
        del self._ages[at]
        return self._ages[self._capacity - 1].key if at < self._capacity <= len(self._ages) else None

    def queue(self) -> Iterator[Key]:
        """Those that have no room, oldest first."""
        return (age.key for age in self._ages[self._capacity :])
