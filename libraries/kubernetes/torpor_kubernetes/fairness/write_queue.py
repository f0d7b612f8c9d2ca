"""Orders the writes of a process to the API server: namespaces take turns, and each has a rate.

No write is dropped. A write waits while its namespace has used up its rate, or while other namespaces have fewer writes
in progress. A namespace that is alone gets nearly all places. Urgent writes of a namespace (what ends or resumes a
task) precede its others, but of five writes one is not urgent, so none waits for ever.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass, field

from torpor_kubernetes.fairness.namespace_shares import Shares
from torpor_kubernetes.fairness.token_buckets import TokenBuckets
from torpor_kubernetes.timing import Clock

URGENT_IN_A_ROW = 4
_Turn = asyncio.Future[None]


@dataclass(slots=True, kw_only=True)
class _Line:
    """The waiting writes of one namespace."""

    urgent: deque[_Turn] = field(default_factory=deque)
    other: deque[_Turn] = field(default_factory=deque)
    urgent_in_a_row: int = 0

    def __len__(self) -> int:
        return len(self.urgent) + len(self.other)

    def pop(self) -> _Turn:
        """The write that is next."""
        if self.urgent and (not self.other or self.urgent_in_a_row < URGENT_IN_A_ROW):
            self.urgent_in_a_row += 1
            return self.urgent.popleft()
        self.urgent_in_a_row = 0
        return self.other.popleft()


class WriteQueue:
    """`places`: writes in progress over all namespaces. `rate`, `burst`: writes of one namespace a second, at once."""

    def __init__(self, clock: Clock, *, places: int, rate: float, burst: float) -> None:
        self._clock = clock
        self._places = Shares(places)
        self._buckets = TokenBuckets[str](rate=rate, burst=burst)
        self._lines: dict[str, _Line] = {}  # the namespace that was served longest ago first
        self._timer: asyncio.Task[None] | None = None
        self._wakes_at = 0.0

    @asynccontextmanager
    async def place(self, namespace: str, *, urgent: bool = False) -> AsyncIterator[None]:
        """Hold a place inside the block, as soon as it is the turn of this write."""
        await self._acquire(namespace, urgent=urgent)
        try:
            yield
        finally:
            self._places.release(namespace)
            self._serve()

    async def _acquire(self, namespace: str, *, urgent: bool) -> None:
        line = self._lines.setdefault(namespace, _Line())
        turn = asyncio.get_running_loop().create_future()
        (line.urgent if urgent else line.other).append(turn)
        self._serve()
        self._wake_for(namespace)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(namespace, turn)
            else:
                self._places.release(namespace)
                self._serve()
            raise

    def _serve(self) -> None:
        """Give free places to the waiting namespaces that hold the fewest; among equals, to the longest unserved."""
        while (namespace := self._next()) is not None:
            line = self._lines.pop(namespace)
            turn = line.pop()
            if line:
                self._lines[namespace] = line
            if not turn.done() and self._places.try_acquire(namespace):
                self._buckets.take(namespace, self._clock.monotonic())
                turn.set_result(None)
            self._wake_for(namespace)

    def _next(self) -> str | None:
        now, best, fewest = self._clock.monotonic(), None, self._places.limit
        for namespace in self._lines if self._places.has_free else ():
            held = self._places.held(namespace)
            if held < fewest and self._places.is_open(namespace) and self._buckets.has(namespace, now):
                best, fewest = namespace, held
                if held == 0:
                    break
        return best

    def _wake_for(self, namespace: str) -> None:
        """Serve again when a namespace whose writes wait for its rate may go on."""
        if namespace not in self._lines:
            return
        now = self._clock.monotonic()
        delay = self._buckets.delay(namespace, now)
        if delay <= 0.0 or (self._timer is not None and self._wakes_at <= now + delay):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._wakes_at = now + delay
        # An empty context: the timer belongs to no write.
        self._timer = asyncio.get_running_loop().create_task(self._wake_after(delay), context=Context())

    async def _wake_after(self, delay: float) -> None:
        await self._clock.sleep(delay)
        self._timer = None
        self._serve()
        for namespace in tuple(self._lines):
            self._wake_for(namespace)

    def _leave(self, namespace: str, turn: _Turn) -> None:
        line = self._lines.get(namespace)
        if line is None:
            return
        for kind in (line.urgent, line.other):
            if turn in kind:
                kind.remove(turn)
        if not line:
            del self._lines[namespace]
        if not self._lines and self._timer is not None:
            self._timer.cancel()
            self._timer = None
