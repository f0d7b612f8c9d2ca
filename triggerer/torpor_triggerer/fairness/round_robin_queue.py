"""A bounded queue that namespaces share (`namespace_shares`), read round robin."""

import asyncio
from collections import deque
from typing import Generic, TypeVar

from torpor_kubernetes.fairness.namespace_shares import Shares

T = TypeVar("T")


class RoundRobinQueue(Generic[T]):
    """First in, first out for one owner; round robin for several."""

    def __init__(self, limit: int) -> None:
        self._slots = Shares(limit)
        self._lines: dict[str, deque[T]] = {}
        self._filled = asyncio.Event()

    def put(self, owner: str, item: T) -> bool:
        """Add an item. False if the owner has used its share."""
        if not self._slots.try_acquire(owner):
            return False
        self._lines.setdefault(owner, deque()).append(item)
        self._filled.set()
        return True

    async def get(self) -> T:
        """Return the next item as soon as there is one."""
        await self._filled.wait()
        owner = next(iter(self._lines))
        line = self._lines.pop(owner)
        item = line.popleft()
        if line:
            self._lines[owner] = line  # as the last
        elif not self._lines:
            self._filled.clear()
        self._slots.release(owner)
        return item
