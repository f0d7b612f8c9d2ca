"""Orders the writes of a process to the API server: namespaces take turns, and each has a rate.

No write is dropped. A write waits while its namespace has used up its rate, or while other namespaces have fewer writes
in progress. A namespace that is alone gets nearly all places. Urgent writes of a namespace (what ends or resumes a
task) precede its others, but of five writes one is not urgent, so none waits for ever.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from torpor_api.fairness.namespace_shares import Shares
from torpor_api.fairness.token_buckets import TokenBuckets
from torpor_api.timing import Clock

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

    @asynccontextmanager
    async def place(self, namespace: str, *, urgent: bool = False) -> AsyncIterator[None]:
        """Hold a place inside the block, as soon as it is the turn of this write."""
        await self._acquire(namespace, urgent=urgent)
        try:
            yield
        finally:
            self._release(namespace)

    async def _acquire(self, namespace: str, *, urgent: bool) -> None:
        line = self._lines.setdefault(namespace, _Line())
        kind = line.urgent if urgent else line.other
        turn = asyncio.get_running_loop().create_future()
        kind.append(turn)
        self._serve()
        try:
            while not turn.done():
                await self._wait(turn, self._delay(namespace, len(kind) if urgent else len(line)))
                self._serve()
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(namespace)
            else:
                turn.cancel()
                self._leave(namespace, turn)
            raise

    def _release(self, namespace: str) -> None:
        self._places.release(namespace)
        self._serve()

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

    def _next(self) -> str | None:
        now = self._clock.monotonic()
        able = [name for name in self._lines if self._places.is_open(name) and self._buckets.has(name, now)]
        return min(able, key=self._places.held, default=None)

    def _delay(self, namespace: str, length: int) -> float:
        """Seconds until the namespace's rate allows the last write of its line; 0 if only places are missing."""
        return self._buckets.delay(namespace, self._clock.monotonic(), ahead=max(length - 1, 0))

    async def _wait(self, turn: _Turn, delay: float) -> None:
        if delay <= 0.0:
            await asyncio.wait((turn,))
            return
        timer = asyncio.ensure_future(self._clock.sleep(delay))
        try:
            await asyncio.wait((turn, timer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()

    def _leave(self, namespace: str, turn: _Turn) -> None:
        line = self._lines.get(namespace)
        if line is None:
            return
        for kind in (line.urgent, line.other):
            if turn in kind:
                kind.remove(turn)
        if not line:
            del self._lines[namespace]
