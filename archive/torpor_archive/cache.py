"""What was learned a moment ago, so that a reader of a thousand items is not looked up a thousand times.

Bounded in number and in age: what an answer allows, it allows for that long after it has become wrong.
"""

from typing import Generic, TypeVar

from torpor_api.clock import Clock

K = TypeVar("K")
V = TypeVar("V")

SECONDS = 10.0
ENTRIES = 4096


class Cache(Generic[K, V]):
    """Values by key; the oldest goes first."""

    def __init__(self, clock: Clock, *, seconds: float = SECONDS, entries: int = ENTRIES) -> None:
        self._clock = clock
        self._seconds = seconds
        self._entries = entries
        self._kept: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        """What was kept, while it is young enough."""
        found = self._kept.get(key)
        return None if found is None or found[0] < self._clock.monotonic() else found[1]

    def keep(self, key: K, value: V) -> V:
        """Keep it, and give it back."""
        self._kept.pop(key, None)
        self._kept[key] = (self._clock.monotonic() + self._seconds, value)
        if len(self._kept) > self._entries:
            del self._kept[next(iter(self._kept))]
        return value
