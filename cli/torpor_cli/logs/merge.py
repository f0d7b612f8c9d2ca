"""Merges logs into one stream in the order of time, with bounded memory and few connections.

Logs are opened in groups, in the order of their start, when the stream reaches the first of a group. A thread opens
each log, so that the requests of many take the time of one. Of groups that overlap, each further one is merged into a
temporary file first, which closes its connections.
"""

import heapq
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import count
from queue import SimpleQueue
from typing import IO, NamedTuple, Protocol, TypeAlias

from torpor_client.logs.source import LogLine, LogSource, Nanoseconds


class ClosableLines(Iterator[LogLine], Protocol):
    """The lines of a log, which holds a connection until it is closed or read to its end."""

    def close(self) -> None:
        """Close the connection."""


class PrefetchedLog:
    """The lines of a log, of which a thread fetches the first. The thread does not keep the process alive."""

    def __init__(self, lines: ClosableLines) -> None:
        self._lines = lines
        self._first: SimpleQueue[LogLine | BaseException | None] = SimpleQueue()
        self._fetched = False
        self._closed = False
        threading.Thread(target=self._fetch, daemon=True).start()

    def __iter__(self) -> "PrefetchedLog":
        return self

    def __next__(self) -> LogLine:
        if self._fetched:
            return next(self._lines)
        self._fetched = True
        match self._first.get():
            case BaseException() as error:
                raise error
            case None:
                raise StopIteration
            case line:
                return line

    def close(self) -> None:
        """Close the log; if its thread still waits for the first line, the thread does it."""
        self._closed = True
        with suppress(ValueError):  # the generator is executing
            self._lines.close()

    def _fetch(self) -> None:
        try:
            self._first.put(next(self._lines, None))
        except BaseException as error:  # noqa: BLE001 - the reader of the lines raises it
            self._first.put(error)
        if self._closed:
            self._lines.close()


GROUP = 32
"""Logs that are opened together; each is a connection."""

Read: TypeAlias = Callable[[LogSource], ClosableLines]
"""Opens a log and returns its lines, none before its start."""


class _TimedLines(NamedTuple):
    """Lines in the order of time, none before `start`."""

    start: Nanoseconds
    lines: ClosableLines


def merge(sources: Iterable[LogSource], read: Read, *, group: int = GROUP) -> Generator[LogLine, None, None]:
    """Yield the lines of all logs in the order of time."""
    ordered = sorted(sources, key=lambda source: (source.start, source.key))
    groups = _Groups(read)
    members = [ordered[first : first + group] for first in range(0, len(ordered), group)]
    return _merged([_TimedLines(each[0].start, groups.lines(each)) for each in members])


class _Groups:
    """Opens groups of logs: one directly, and those that begin before its end through a file."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._direct = False

    def lines(self, members: Sequence[LogSource]) -> Generator[LogLine, None, None]:
        """Yield the lines of a group. Nothing is opened before the first line is taken."""
        lines = _merged([_TimedLines(source.start, PrefetchedLog(self._read(source))) for source in members])
        if self._direct:
            yield from _spooled(lines, members)
        else:
            self._direct = True
            yield from lines
            self._direct = False


def _merged(streams: Sequence[_TimedLines]) -> Generator[LogLine, None, None]:
    """Merge streams that are sorted by their start. The merge takes no line of a stream before it reaches its start."""
    heap: list[tuple[Nanoseconds, int, LogLine, ClosableLines]] = []
    numbers, waiting = count(), list(reversed(streams))
    with ExitStack() as stack:
        for stream in streams:
            stack.enter_context(closing(stream.lines))
        while heap or waiting:
            while waiting and (not heap or waiting[-1].start <= heap[0][0]):
                _push(heap, next(numbers), waiting.pop().lines)
            if heap:
                _, number, line, lines = heapq.heappop(heap)
                yield line
                _push(heap, number, lines)


def _push(heap: list[tuple[Nanoseconds, int, LogLine, ClosableLines]], number: int, lines: ClosableLines) -> None:
    line = next(lines, None)
    if line is not None:
        heapq.heappush(heap, (line.at, number, line, lines))


def _spooled(lines: ClosableLines, members: Sequence[LogSource]) -> Generator[LogLine, None, None]:
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
