"""Follows the logs of one instance: what is there, then new lines of its pods, new pods, and waits as they end.

Batches are bounded, and so is the queue between readers and viewer: a viewer that does not read stops the readers.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from torpor_client.errors import UserError
from torpor_client.logs.line_cutter import LineCutter
from torpor_client.logs.ordering import LogCursor, ReorderBuffer
from torpor_client.logs.selection import Filter
from torpor_client.logs.source import LogLine, LogSource
from torpor_kubernetes.client import errors as api_errors
from torpor_views.instance import InstanceView

from torpor_ui.errors import ProblemError
from torpor_ui.logs.joined_logs import joined
from torpor_ui.logs.log_reader import ListedLogs, LogReader
from torpor_ui.logs.tail import LINES_MAX, LogTail

LINE_BYTES = 16 * 1024
"""What the page shows of a line."""
BATCH_LINES = 500
BATCH_CHARACTERS = 256 * 1024
PAUSE_S = 0.25
"""Between two batches of new lines."""
RELIST_S = 5.0
SETTLE_LISTS = 2
"""Lists after the end of the instance: the archive gets the log of a wait a moment later."""
_QUEUE = 1000
_RETRY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBatch:
    """Lines to show, in order. `notes`: sentences on what is missing. Both may be empty: nothing new for a while."""

    lines: Sequence[LogLine] = ()
    notes: Sequence[str] = ()


@dataclass(slots=True)
class _FollowedLog:
    """A log that is being shown."""

    source: LogSource
    cursor: LogCursor = field(default_factory=LogCursor)
    task: asyncio.Task[None] | None = None
    done: bool = False


class LogFollower:
    """The logs of one instance for one viewer.

    `current` returns the instance as it is now, None if it is gone; without it, only what is there is read. `explain`
    returns why there are no lines.
    """

    def __init__(
        self,
        reader: LogReader,
        chosen: Filter,
        current: Callable[[], InstanceView | None] | None,
        explain: Callable[[ListedLogs], str] = lambda _: "",
    ) -> None:
        self._reader = reader
        self._chosen = chosen
        self._current = current
        self._explain = explain
        self._listed: ListedLogs | None = None
        self._logs: dict[str, _FollowedLog] = {}
        self._queue: asyncio.Queue[LogLine] = asyncio.Queue(maxsize=_QUEUE)
        self._notes: list[str] = []
        self._noted: set[str] = set()

    async def batches(self) -> AsyncGenerator[LogBatch, None]:
        """Yield what the logs have, then what comes, until the instance has ended. Raises ProblemError and ApiError."""
        try:
            async with aclosing(self._present()) as present:
                async for batch in present:
                    yield batch
            if self._current is not None:
                async with aclosing(self._coming()) as coming:
                    async for batch in coming:
                        yield batch
            yield LogBatch(notes=self._take_notes())
        finally:
            tasks = [log.task for log in self._logs.values() if log.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _present(self) -> AsyncGenerator[LogBatch, None]:
        """The lines that the logs have now, the last ones of each, in the order of time."""
        lines: list[LogLine] = []
        characters = number = 0
        sources = await self._new_sources()
        async with aclosing(joined(sources, self._last_lines)) as merged:
            async for line in merged:
                lines.append(line)
                characters += len(line.text)
                number += 1
                if len(lines) >= BATCH_LINES or characters >= BATCH_CHARACTERS:
                    yield LogBatch(lines=lines)
                    lines, characters = [], 0
        if not number and not self._notes and self._listed is not None:
            self._note(self._explain(self._listed))
        yield LogBatch(lines=lines, notes=self._take_notes())

    async def _last_lines(self, source: LogSource) -> AsyncGenerator[LogLine, None]:
        """The last lines of a log. What cannot be read is a note."""
        log, tail, since = self._logs[source.id], LogTail(), self._chosen.since
        try:
            lines = self._reader.lines(source, LineCutter(LINE_BYTES), since=since, tail=LINES_MAX)
            async with aclosing(lines):
                async for line in lines:
                    if source.archived:
                        tail.add(line)
                    else:
                        log.cursor.note(line)
                        yield line
        except api_errors.NotFound:
            self._note(f"{source.name}: the pod was deleted while its log was read")
        except (api_errors.ApiError, ProblemError, UserError) as error:
            self._note(f"{source.name}: {_message(error)}")
        if tail.left_out:
            self._note(f"{source.name}: the first {tail.left_out:,} lines are left out; the download has them")
        for line in tail.lines:
            yield line
        log.done = source.archived or not source.running

    async def _coming(self) -> AsyncGenerator[LogBatch, None]:
        held = ReorderBuffer()
        listed, lists_left = time.monotonic(), SETTLE_LISTS
        before = self._place()
        for log in self._logs.values():
            self._start(log)
        while True:
            ended, place = self._ended(), self._place()
            if time.monotonic() - listed >= RELIST_S or (place != before and not ended):
                for source in await self._new_sources():
                    self._start(self._logs[source.id])
                listed, before = time.monotonic(), place
                lists_left -= ended
            await self._collect(held)
            for lines in _batches(list(held.due(time.monotonic()))):
                yield LogBatch(lines=lines, notes=self._take_notes())
            if ended and lists_left <= 0 and self._idle():
                for lines in _batches(list(held.rest())):
                    yield LogBatch(lines=lines)
                return

    async def _collect(self, held: ReorderBuffer) -> None:
        """Move new lines into the buffer, for a moment or until a batch is full."""
        ends = time.monotonic() + PAUSE_S
        characters = 0
        for _ in range(BATCH_LINES):
            left = ends - time.monotonic()
            if left <= 0 or characters >= BATCH_CHARACTERS:
                return
            try:
                line = await asyncio.wait_for(self._queue.get(), left)
            except TimeoutError:
                return
            characters += len(line.text)
            held.add(line, time.monotonic())

    async def _new_sources(self) -> list[LogSource]:
        """The logs that are not shown yet."""
        listed = self._listed = await self._reader.listed(self._chosen)
        for note in listed.notes:
            self._note(note)
        known = {log.source.key for log in self._logs.values() if not log.source.earlier}
        new = [
            source
            for source in listed.selected.sources
            if source.id not in self._logs and (source.earlier or source.key not in known)
        ]
        self._logs.update((source.id, _FollowedLog(source)) for source in new)
        return new

    def _start(self, log: _FollowedLog) -> None:
        if not log.done and log.task is None:
            log.task = asyncio.create_task(self._follow(log))

    async def _follow(self, log: _FollowedLog) -> None:
        """Read a log to its end. A pod's log continues after a lost connection."""
        try:
            if log.source.archived:
                async with aclosing(self._last_lines(log.source)) as lines:
                    async for line in lines:
                        await self._queue.put(line)
                return
            while True:
                with suppress(api_errors.Unreachable):
                    await self._read_on(log)
                if not await self._reader.is_running(log.source):
                    return
                await asyncio.sleep(_RETRY_S)
        except (api_errors.ApiError, ProblemError) as error:
            self._note(f"{log.source.name}: {_message(error)}")
        finally:
            log.done = True

    async def _read_on(self, log: _FollowedLog) -> None:
        """Read the lines after those that are shown. The API server begins at a whole second, so some may be known."""
        cursor = log.cursor
        last, known = cursor.at, cursor.count
        async with aclosing(self._reader.follow(log.source, LineCutter(LINE_BYTES), cursor.at)) as lines:
            async for line in lines:
                if line.at < last:
                    continue
                if line.at == last and known:
                    known -= 1
                    continue
                cursor.note(line)
                await self._queue.put(line)

    def _idle(self) -> bool:
        return self._queue.empty() and all(log.done for log in self._logs.values())

    def _ended(self) -> bool:
        view = self._current() if self._current is not None else None
        return view is None or view.ended

    def _place(self) -> object:
        view = self._current() if self._current is not None else None
        return None if view is None else (view.state, view.attempt, view.segment, view.launch, view.pod)

    def _note(self, sentence: str) -> None:
        if sentence and sentence not in self._noted and len(self._noted) < BATCH_LINES:
            self._noted.add(sentence)
            self._notes.append(sentence)

    def _take_notes(self) -> list[str]:
        notes, self._notes = self._notes, []
        return notes


def _message(error: Exception) -> str:
    return error.problem.message if isinstance(error, ProblemError) else str(error)


def _batches(lines: list[LogLine]) -> Iterator[list[LogLine]]:
    """The lines in parts of at most BATCH_LINES; one empty part if there are none."""
    for start in range(0, max(len(lines), 1), BATCH_LINES):
        yield lines[start : start + BATCH_LINES]
