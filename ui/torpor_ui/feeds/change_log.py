"""Which keys have changed since a viewer was last told: no queue for each viewer, one position. Pure."""

from collections.abc import Hashable
from itertools import islice
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
KEPT = 5000
"""Keys of the latest changes. A viewer that is further behind gets everything again."""


class ChangeLog(Generic[K]):
    """The keys that changed, each at its latest change, oldest first."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._changes: dict[K, int] = {}
        self._forgotten = 0
        self.position = 0
        """Of the latest change."""

    def record(self, key: K) -> None:
        """Record that a key has changed now."""
        self.position += 1
        self._changes.pop(key, None)
        self._changes[key] = self.position
        if len(self._changes) > self._kept:
            for old in list(islice(self._changes, self._kept // 10 + 1)):
                self._forgotten = self._changes.pop(old)

    def reset(self) -> None:
        """Forget all changes, so that every viewer gets everything again."""
        self.position += 1
        self._changes.clear()
        self._forgotten = self.position

    def since(self, position: int) -> list[K] | None:
        """Return the keys that changed after a position, oldest change first; None if some of them are forgotten."""
        if position < self._forgotten:
            return None
        changed: list[K] = []
        for key in reversed(self._changes):
            if self._changes[key] <= position:
                break
            changed.append(key)
        changed.reverse()
        return changed
