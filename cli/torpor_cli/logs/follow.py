"""Follows a run: the logs of pods as they are written, of new pods as they start, and of waits as they end.

A thread reads each log; the caller's thread puts the lines in order. Memory is bounded: a full queue stops the readers.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from torpor_client.logs import selection
from torpor_client.logs.ordering import LogCursor, ReorderBuffer, unseen
from torpor_client.logs.pods import of_pod
from torpor_client.logs.selection import Filter
from torpor_client.logs.source import LogLine, LogSource

from torpor_cli.cluster.api import ApiClient, Object, ObjectSelection
from torpor_cli.cluster.archive import ArchiveProxy
from torpor_cli.cluster.errors import ClusterError, NotFoundError
from torpor_cli.cluster.watch import Changed, Deleted, ListSnapshot, Update, watch
from torpor_cli.errors import CliError
from torpor_cli.logs.reader import LogReader, container_runs

READERS = 50
"""Pods whose logs are read at a time; each is a connection."""
ARCHIVE_S = 5.0
"""Seconds between two lists of the archive's logs."""
OBJECTS_S = 5.0
"""Seconds between two lists of the pods of objects."""
SETTLE_S = 10.0
"""Seconds after the end of the run for which logs that are still being written are read."""
_TICK_S = 0.1
_QUEUE = 1_000
_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What to follow. By id, `shown`: the progress of logs so far; `complete`: logs that are shown already.

    `until` is a time of the monotonic clock, None for the end of the run. `objects` lists the logs of pods that
    objects of tasks have created; None if the run has no such task.
    """

    api: ApiClient
    namespace: str
    workflow: Object
    pods: ObjectSelection
    run: ObjectSelection
    tasks: tuple[str, ...]
    chosen: Filter
    shown: dict[str, LogCursor] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)
    until: float | None = None
    objects: Callable[[], Sequence[LogSource]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finished:
    """A reader has read a log to its end, or failed. `gone`: the pod was deleted, and the archive may have the rest."""

    source: LogSource
    problem: str = ""
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _ArchivedLogs:
    """The archive's list of logs."""

    items: list[Object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ObjectLogs:
    """The logs of the pods of objects."""

    sources: Sequence[LogSource]


_Message: TypeAlias = LogLine | Update | _Finished | _ArchivedLogs | _ObjectLogs | CliError
Note: TypeAlias = Callable[[str], None]


class LogFollower:
    """Joins the logs of a run until it ends."""

    def __init__(self, followed: Followed, reader: LogReader, note: Note) -> None:
        self._followed = followed
        self._reader = reader
        self._note = note
        self._messages: queue.Queue[_Message] = queue.Queue(maxsize=_QUEUE)
        self._held = ReorderBuffer()
        self._joined: set[str] = set(followed.complete)
        self._lost: dict[str, LogSource] = {}
        self._waiting: deque[LogSource] = deque()
        self._active = 0
        self._ended_at: float | None = None
        self._final_list = threading.Event()
        self._final_objects = threading.Event()
        if followed.objects is None:
            self._final_objects.set()

    def lines(self) -> Iterator[LogLine]:
        """Yield lines in the order of time until the run has ended and its logs are read. Raises CliError."""
        followed = self._followed
        self._start(self._watch, followed.pods)
        self._start(self._watch, followed.run)
        self._start(self._poll_archive)
        if followed.objects is not None:
            self._start(self._poll_objects, followed.objects)
        while not self._over():
            with suppress(queue.Empty):
                self._take(self._messages.get(timeout=_TICK_S))
            yield from self._held.due(time.monotonic())
        yield from self._held.rest()
        for source in self._lost.values():
            self._note(f"{source.name}: the pod was deleted before its log was read, and the archive does not have it")

    def _take(self, message: _Message) -> None:  # noqa: C901 - a case for each kind of message
        match message:
            case LogLine():
                self._held.add(message, time.monotonic())
            case _Finished():
                self._active -= 1
                self._finished(message)
            case _ArchivedLogs():
                self._join_wanted(map(selection.of_archive, filter(selection.kept, message.items)))
            case _ObjectLogs():
                self._join_wanted(message.sources)
            case ListSnapshot() if message.selection is self._followed.run:
                self._run_seen(message.items)
            case Changed() if message.selection is self._followed.run:
                self._run_seen([message.item])
            case Deleted() if message.selection is self._followed.run:
                self._run_seen([])
            case ListSnapshot():
                self._pods_seen(message.items)
            case Changed() | Deleted():
                self._pods_seen([message.item])
            case CliError():
                raise message

    def _finished(self, message: _Finished) -> None:
        if message.gone:
            self._joined.discard(message.source.id)
            self._lost[message.source.id] = message.source
        elif message.problem:
            self._note(f"{message.source.name}: {message.problem}")
        else:
            self._lost.pop(message.source.id, None)
        self._next_reader()

    def _run_seen(self, workflows: Sequence[Object]) -> None:
        """Note the end of the run: its completion, its deletion, or another run of its name."""
        same = [item for item in workflows if item["metadata"]["uid"] == self._uid]
        ended = not same or bool((same[0].get("status") or {}).get("completionTime"))
        if ended and self._ended_at is None:
            self._ended_at = time.monotonic()

    def _pods_seen(self, pods: Sequence[Object]) -> None:
        for pod in pods:
            source = of_pod(pod, self._followed.tasks)
            if source is not None and self._wanted(source):
                self._join(source)

    def _wanted(self, source: LogSource) -> bool:
        return source.id not in self._joined and selection.chooses(self._followed.chosen, source)

    @property
    def _uid(self) -> str:
        uid: str = self._followed.workflow["metadata"]["uid"]
        return uid

    def _over(self) -> bool:
        """Whether the time is over, or the run has ended and its logs are read, or had time to be."""
        until = self._followed.until
        if until is not None and time.monotonic() >= until:
            return True
        if self._ended_at is None:
            return False
        listed = (
            self._final_list.is_set() and self._final_objects.is_set()
        )  # before the check of the queue, in which the list may be
        settled = listed and not self._active and not self._waiting and self._messages.empty()
        return settled or time.monotonic() > self._ended_at + SETTLE_S

    def _join(self, source: LogSource) -> None:
        self._joined.add(source.id)
        self._waiting.append(source)
        if self._active >= READERS and len(self._waiting) == 1:
            self._note(f"{READERS} logs are followed at a time; further ones are shown when these end")
        self._next_reader()

    def _join_wanted(self, sources: Iterable[LogSource]) -> None:
        """Read the waits that ended, the pods that were gone before they could be read, and those of objects."""
        for source in filter(self._wanted, sources):
            self._join(source)

    def _next_reader(self) -> None:
        while self._waiting and self._active < READERS:
            source = self._waiting.popleft()
            self._active += 1
            self._start(self._read, source)

    @staticmethod
    def _start(work: Callable[..., None], *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _read(self, source: LogSource) -> None:
        """Read a log to its end. A pod's log continues after a lost connection."""
        progress = self._followed.shown.setdefault(source.id, LogCursor())
        try:
            if source.archived:
                self._put_all(unseen(self._reader.read(source), progress))
            else:
                self._follow(source, progress)
        except NotFoundError:
            self._messages.put(_Finished(source=source, gone=True))
        except CliError as error:
            self._messages.put(_Finished(source=source, problem=str(error)))
        else:
            self._messages.put(_Finished(source=source))

    def _follow(self, source: LogSource, progress: LogCursor) -> None:
        while True:
            try:
                self._put_all(unseen(self._reader.follow(source, progress.at), progress))
            except ClusterError as error:
                if error.status:  # a response; without one the connection is lost
                    raise
            if not container_runs(self._followed.api, self._followed.namespace, source):
                return
            time.sleep(_PAUSE_S)

    def _put_all(self, lines: Iterator[LogLine]) -> None:
        for line in lines:
            self._messages.put(line)

    def _watch(self, selected: ObjectSelection) -> None:
        try:
            for update in watch(self._followed.api, selected, noted=self._note):
                self._messages.put(update)
        except CliError as error:
            self._messages.put(error)

    def _poll_archive(self) -> None:
        """List the archive's logs until the run has ended. Without an archive, the waits have no lines."""
        archive, uid = ArchiveProxy(self._followed.api), self._uid
        while True:
            ended = self._ended_at is not None
            try:
                self._messages.put(_ArchivedLogs(items=archive.logs(self._followed.namespace, uid)))
            except CliError:
                if ended:
                    break
            if ended:
                break
            self._pause(ARCHIVE_S)
        self._final_list.set()

    def _poll_objects(self, list_logs: Callable[[], Sequence[LogSource]]) -> None:
        """List the pods of objects until the run has ended. They have no label of the run to watch."""
        while True:
            ended = self._ended_at is not None
            with suppress(CliError):
                self._messages.put(_ObjectLogs(sources=list_logs()))
            if ended:
                break
            self._pause(OBJECTS_S)
        self._final_objects.set()

    def _pause(self, seconds: float) -> None:
        """Wait, but not longer than to the end of the run."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._ended_at is None:
            time.sleep(_TICK_S)
