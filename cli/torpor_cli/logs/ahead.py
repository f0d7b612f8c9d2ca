"""Opens a log in a thread, so that the requests of many logs take the time of one."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Protocol

from torpor_cli.logs.source import LogLine


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
