"""Puts the lines of several running pods in the order of time, as far as a short delay allows. Pure."""

import heapq
from collections.abc import Iterator
from itertools import count

from torpor_cli.logs.source import LogLine, Nanoseconds

DELAY_S = 0.3
"""Seconds for which a line is held, since a line of another pod may be older and arrive later."""
HELD_MAX = 5_000


class ReorderBuffer:
    """Lines that arrived a moment ago. Times are in seconds of a monotonic clock."""

    def __init__(self, delay: float = DELAY_S, most: int = HELD_MAX) -> None:
        self._delay = delay
        self._most = most
        self._numbers = count()
        self._held: list[tuple[Nanoseconds, int, float, LogLine]] = []

    def add(self, line: LogLine, now: float) -> None:
        """Hold a line that arrives now."""
        heapq.heappush(self._held, (line.at, next(self._numbers), now, line))

    def due(self, now: float) -> Iterator[LogLine]:
        """Yield the lines that were held long enough, and the oldest of too many."""
        while self._held and (len(self._held) > self._most or self._held[0][2] + self._delay <= now):
            yield heapq.heappop(self._held)[3]

    def rest(self) -> Iterator[LogLine]:
        """Yield all lines."""
        while self._held:
            yield heapq.heappop(self._held)[3]
