"""Shares the scarce resources of this process between namespaces: connections, threads, memory for responses.

The dynamic threshold of shared-memory switches (Choudhury and Hahne, 1998): a namespace may take one more while it
holds less than `GENEROSITY` times what is free. A single namespace gets some four fifths, several get equal parts over
time, and none has to be counted. One sixteenth is reserved for namespaces that hold nothing: otherwise several greedy
ones in a row would leave nothing until the first releases something.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

GENEROSITY = 7
KEPT = 16
"""One slot in so many is reserved for namespaces that hold none."""


class Shares:
    """A number of slots, taken by owner; for one event loop."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._free = limit
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def held(self, owner: str) -> int:
        """Return the number of slots of an owner."""
        return self._held[owner]

    @property
    def has_free(self) -> bool:
        """Whether any slot is free."""
        return self._free > 0

    def is_open(self, owner: str) -> bool:
        """Whether an owner may take one more slot now."""
        held = self._held[owner]
        return held < GENEROSITY * (self._free - self.limit // KEPT) or (held == 0 and self._free > 0)

    def try_acquire(self, owner: str) -> bool:
        """Take a slot if one is available."""
        if owner in self._waiting or not self.is_open(owner):
            return False
        self._take(owner)
        return True

    async def acquire(self, owner: str) -> None:
        """Take a slot as soon as one is available."""
        if self.try_acquire(owner):
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release(owner)
            else:
                self._leave(owner, turn)
            raise

    def release(self, owner: str) -> None:
        """Release a slot; the waiting owner that holds the fewest gets it."""
        self._free += 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        self._wake_waiters()

    @asynccontextmanager
    async def hold(self, owner: str) -> AsyncIterator[None]:
        """Hold a slot inside the block."""
        await self.acquire(owner)
        try:
            yield
        finally:
            self.release(owner)

    def _take(self, owner: str) -> None:
        self._free -= 1
        self._held[owner] += 1

    def _leave(self, owner: str, turn: "asyncio.Future[None]") -> None:
        line = self._waiting.get(owner)
        if line is not None and turn in line:
            line.remove(turn)
            if not line:
                del self._waiting[owner]

    def _wake_waiters(self) -> None:
        """Among owners that hold equally many, the one served longest ago is first."""
        while self._free and self._waiting:
            owner = min(self._waiting, key=lambda holder: self._held[holder])
            if not self.is_open(owner):
                return
            line = self._waiting.pop(owner)
            turn = line.popleft()
            if line:
                self._waiting[owner] = line
            if not turn.done():
                self._take(owner)
                turn.set_result(None)
