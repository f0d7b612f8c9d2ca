"""Merges logs into one stream in the order of time, with bounded memory and few connections.

A log is opened when the stream reaches its start. At most GROUP logs are open at a time: of more logs that overlap,
each further group is merged into a temporary file first.
"""

import heapq
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from typing import IO, NamedTuple, TypeAlias

from kubectl_torpor.logs.source import LogLine, LogSource, Nanoseconds

GROUP = 32
"""Logs that are open at a time; each is a connection."""

Lines: TypeAlias = Generator[LogLine, None, None]
Read: TypeAlias = Callable[[LogSource], Lines]
"""Opens a log and returns its lines, none before its start."""


class _Stream(NamedTuple):
    """Lines in the order of time, none before `start`."""

    start: Nanoseconds
    open: Callable[[], Lines]


def merge(sources: Iterable[LogSource], read: Read, *, group: int = GROUP) -> Lines:
    """Yield the lines of all logs in the order of time."""
    ordered = sorted(sources, key=lambda source: (source.start, source.key))
    groups = _Groups(read)
    streams = [ordered[first : first + group] for first in range(0, len(ordered), group)]
    return _merged([_Stream(members[0].start, partial(groups.open, members)) for members in streams])


class _Groups:
    """Opens groups of logs: one directly, and those that begin before its end through a file."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._direct = False

    def open(self, members: Sequence[LogSource]) -> Lines:
        lines = _merged([_Stream(one.start, partial(self._read, one)) for one in members])
        return _spooled(lines, members) if self._direct else self._directly(lines)

    def _directly(self, lines: Lines) -> Lines:
        self._direct = True
        with closing(lines):
            yield from lines
        self._direct = False


def _merged(streams: Sequence[_Stream]) -> Lines:
    """Merge streams that are sorted by their start. A stream opens once the merge reaches its start."""
    heap: list[tuple[Nanoseconds, int, LogLine, Lines]] = []
    numbers, waiting = count(), list(reversed(streams))
    with ExitStack() as stack:
        while heap or waiting:
            while waiting and (not heap or waiting[-1].start <= heap[0][0]):
                lines = stack.enter_context(closing(waiting.pop().open()))
                _push(heap, next(numbers), lines)
            if heap:
                _, number, line, lines = heapq.heappop(heap)
                yield line
                _push(heap, number, lines)


def _push(heap: list[tuple[Nanoseconds, int, LogLine, Lines]], number: int, lines: Lines) -> None:
    line = next(lines, None)
    if line is not None:
        heapq.heappush(heap, (line.at, number, line, lines))


def _spooled(lines: Lines, members: Sequence[LogSource]) -> Lines:
    """Write lines into a temporary file, which closes their connections, and yield them from it."""
    numbers = {id(source): number for number, source in enumerate(members)}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
        with closing(lines):
            for line in lines:
                file.write(f"{line.at} {numbers[id(line.source)]} {line.text}\n")
        file.seek(0)
        yield from _read(file, members)


def _read(file: IO[str], members: Sequence[LogSource]) -> Iterator[LogLine]:
    for record in file:
        at, number, text = record.removesuffix("\n").split(" ", 2)
        yield LogLine(int(at), members[int(number)], text)
