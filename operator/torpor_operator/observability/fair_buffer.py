"""Items that wait to be exported, with a bound and a share for each namespace. Pure.

What takes them may be slow or down, and must cost neither memory nor time. A namespace whose runs end by the thousand
fills its own share, and what is taken takes turns between namespaces.
"""

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class FairBuffer(Generic[T]):
    """At most `total` items, `per_namespace` of one namespace. What does not fit is dropped and counted."""

    def __init__(self, *, total: int, per_namespace: int) -> None:
        self._total = total
        self._per_namespace = per_namespace
        self._waiting: dict[str, deque[T]] = {}
        self._count = 0
        self.dropped = 0

    def __len__(self) -> int:
        return self._count

    def add(self, namespace: str, items: Sequence[T]) -> None:
        """Add what belongs together, all or nothing: a part of a trace misleads."""
        waiting = self._waiting.get(namespace) or deque()
        if self._count + len(items) > self._total or len(waiting) + len(items) > self._per_namespace:
            self.dropped += len(items)
            return
        waiting.extend(items)
        if waiting:
            self._waiting[namespace] = waiting
        self._count += len(items)

    def take(self, limit: int) -> list[T]:
        """Remove and return the next items, one of each namespace in turn."""
        taken: list[T] = []
        while self._waiting and len(taken) < limit:
            namespace = next(iter(self._waiting))
            waiting = self._waiting.pop(namespace)
            taken.append(waiting.popleft())
            if waiting:
                self._waiting[namespace] = waiting
        self._count -= len(taken)
        return taken
