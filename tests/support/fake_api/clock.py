"""Virtual time: nothing passes until a test says so, and then everything that was due happens in order."""

import asyncio
import heapq
import itertools
from collections import deque

BUSY = 100_000


class VirtualClock:
    """A `torpor_kubernetes.timing.Clock` that moves only by `advance`; `jump` moves the wall clock alone."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._start = start
        self._elapsed = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._start + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), woken))
        await woken

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an administrator or NTP would."""
        self._start += seconds

    def next_wake(self) -> float | None:
        """When (monotonic) the next sleeper wakes; None if all that is left waits for something else."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def advance(self, seconds: float) -> None:
        """Let time pass: each sleeper wakes at its moment, and all come to rest before time goes on."""
        until = self._elapsed + seconds
        await settle()
        while (wake := self.next_wake()) is not None and wake <= until:
            self._elapsed = max(self._elapsed, wake)
            heapq.heappop(self._sleepers)[2].set_result(None)
            await settle()
        self._elapsed = until


async def settle() -> None:
    """Return when every other task waits for something. Sees the event loop alone: no sockets, no threads."""
    ready: deque[object] = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    for _ in range(BUSY):
        await asyncio.sleep(0)
        if not ready:
            return
    raise AssertionError("the tasks do not come to rest: one of them polls without sleeping")
