"""Lists the logs of an instance, and opens one: that of a pod, or from the archive that of a wait or a former pod.

Nothing is kept: lines pass through as they arrive.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from torpor_client.logs import log_text, selection
from torpor_client.logs.line_cutter import LineCutter
from torpor_client.logs.pods import CONTAINER, of_container
from torpor_client.logs.selection import Filter, LogCandidates, LogSelection
from torpor_client.logs.source import LogLine, LogSource, Nanoseconds
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Object
from torpor_kubernetes.client.resources import PODS
from torpor_views.instance import InstanceView
from torpor_wire import constants

from torpor_ui import errors
from torpor_ui.cluster.caller import Caller
from torpor_ui.errors import ProblemError

FOLLOW_SECONDS = 3600.0
READ_SECONDS = 900.0
_ENTRIES_MAX = 5000
_ARCHIVE_PAGES = 10
_LINES_AT_ONCE = 200
"""Lines of a chunk to read before other tasks get their turn: a chunk can have thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSubject:
    """Whose logs to read, of which container. `live`: its pods may exist."""

    namespace: str
    run_uid: str
    view: InstanceView
    live: bool = True
    container: str = CONTAINER


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedLogs:
    """The logs to read. `notes`: what cannot be read, and why. `not_started`: pods whose container has not started."""

    selected: LogSelection
    notes: tuple[str, ...] = ()
    not_started: int = 0
    archive_read: bool = True


class LogReader:
    """Reads logs with a caller's credentials."""

    def __init__(self, caller: Caller, subject: LogSubject) -> None:
        self._caller = caller
        self._subject = subject

    async def listed(self, chosen: Filter) -> ListedLogs:
        """Return the logs that a filter chooses. Raises ProblemError if neither pods nor the archive can be listed."""
        subject, notes, archive_read = self._subject, list[str](), True
        pods = await self._pods() if subject.live else []
        try:
            archived = await self._archived()
        except ProblemError as error:
            if not subject.live:
                raise
            archived, archive_read = [], False
            notes.append(f"{error.problem.message}: logs of waits and former pods are missing")
        view = subject.view
        candidates = LogCandidates(tasks=[view.task], instances=[view], pods=pods, archived=archived)
        selected = selection.select(candidates, chosen)
        notes += [f"{each.source.name}: {each.reason or 'its log is not kept'}" for each in selected.missing]
        return ListedLogs(
            selected=selected,
            notes=tuple(notes),
            not_started=selection.not_started(candidates, chosen),
            archive_read=archive_read,
        )

    async def lines(
        self, source: LogSource, cutter: LineCutter, *, since: Nanoseconds = 0, tail: int | None = None
    ) -> AsyncGenerator[LogLine, None]:
        """Yield the lines that a log has now. Raises ProblemError and ApiError."""
        chunks = self._archive_chunks(source) if source.archived else self._pod_chunks(source, since=since, tail=tail)
        async with aclosing(chunks):
            async for line in _parsed(source, _lines(chunks, cutter)):
                if line.at >= since:
                    yield line

    async def follow(self, source: LogSource, cutter: LineCutter, since: Nanoseconds) -> AsyncGenerator[LogLine, None]:
        """Yield the lines of a pod from about `since` on, until its container ends. Raises ApiError."""
        chunks = self._pod_chunks(source, since=since, tail=None, follow=True)
        async with aclosing(chunks):
            async for line in _parsed(source, _lines(chunks, cutter)):
                yield line

    async def is_running(self, source: LogSource) -> bool:
        """Whether the container of a pod still runs. An unclear answer counts as running."""
        try:
            pod = await self._caller.api.get(PODS, self._subject.namespace, source.pod)
        except api_errors.NotFound:
            return False
        except api_errors.ApiError:
            return True
        return (pod.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}

    async def _pods(self) -> list[Object]:
        selector = f"{constants.LABEL_TASKRUN_UID}={self._subject.view.uid}"
        pods = (await self._caller.api.list(PODS, self._subject.namespace, label_selector=selector)).items
        return [dict(of_container(pod, self._subject.container)) for pod in pods]

    async def _archived(self) -> list[Mapping[str, Any]]:
        subject, items, token = self._subject, list[Mapping[str, Any]](), ""
        path = f"/namespaces/{quote(subject.namespace, safe='')}/runs/{quote(subject.run_uid, safe='')}/logs"
        for _ in range(_ARCHIVE_PAGES):
            query = {"task": subject.view.task} | ({"continue": token} if token else {})
            if subject.container != CONTAINER:
                query["container"] = subject.container
            page = await self._caller.archive.json(subject.namespace, path, query)
            entries = [entry for entry in page.get("items") or () if isinstance(entry, dict)]
            items += [entry for entry in entries if selection.of_archive(entry).key.path == subject.view.path]
            token = str(page.get("continue") or "")
            if not token or len(items) >= _ENTRIES_MAX:
                break
        return items

    def _archive_chunks(self, source: LogSource) -> AsyncGenerator[bytes, None]:
        namespace = self._subject.namespace
        path = f"/namespaces/{quote(namespace, safe='')}/logs/{quote(source.id, safe='')}"
        return self._caller.archive.chunks(namespace, path)

    def _pod_chunks(
        self, source: LogSource, *, since: Nanoseconds, tail: int | None, follow: bool = False
    ) -> AsyncGenerator[bytes, None]:
        query = {"container": self._subject.container, "timestamps": "true"} | ({"follow": "true"} if follow else {})
        if since:
            query["sinceTime"] = log_text.written(since)
        if tail is not None:
            query["tailLines"] = str(tail)
        path = PODS.path(self._subject.namespace, source.pod, "log")
        seconds = FOLLOW_SECONDS if follow else READ_SECONDS
        return self._caller.transport.chunks(path, query=query, seconds=seconds)


async def _lines(chunks: AsyncIterator[bytes], cutter: LineCutter) -> AsyncIterator[str]:
    async for chunk in chunks:
        for number, line in enumerate(cutter.feed(chunk), 1):
            yield line
            if number % _LINES_AT_ONCE == 0:
                await asyncio.sleep(0)
    for line in cutter.finish():
        yield line


async def _parsed(source: LogSource, lines: AsyncIterator[str]) -> AsyncIterator[LogLine]:
    """The lines with their times, which never decrease within a log.

    Raises ProblemError for the sentence without a time by which a node answers if it has no log.
    """
    last, first = source.start, True
    async for line in lines:
        at, text = log_text.parse_line(line)
        if first and at is None and not source.archived:
            raise errors.unavailable(f"the node has no log: {line[:300]}")
        first = False
        last = max(last, at or 0)
        yield LogLine(last, source, text)
