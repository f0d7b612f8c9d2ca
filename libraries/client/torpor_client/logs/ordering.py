"""The order of the lines of running pods, and what has been shown of a log. Pure.

A log that is read again continues without a gap or a repetition.
"""

import heapq
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from torpor_client.logs.source import LogLine, Nanoseconds


@dataclass(slots=True)
class LogCursor:
    """The time of the last line that was shown, and the number of lines with this time."""

    at: Nanoseconds = 0
    count: int = 0

    def note(self, line: LogLine) -> None:
        """Remember a line that is shown."""
        if line.at > self.at:
            self.at, self.count = line.at, 0
        if line.at == self.at:
            self.count += 1


def unseen(lines: Iterable[LogLine], progress: LogCursor) -> Generator[LogLine, None, None]:
    """Return the lines after those that the progress has, and remember them in it.

    The API server reads a log from a whole second on, so the first lines may be known.
    """
    last, known = progress.at, progress.count
    for line in lines:
        if line.at < last:
            continue
        if line.at == last and known:
            known -= 1
            continue
        progress.note(line)
        yield line


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
