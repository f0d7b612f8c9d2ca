"""`api/run/.../task/KEY/logs`: the logs of one instance as a stream, and as a file."""

import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any

from aiohttp import web
from torpor_client.errors import UserError
from torpor_client.logs import log_text, selection
from torpor_client.logs.line_cutter import LineCutter
from torpor_client.logs.pods import CONTAINER
from torpor_client.logs.selection import Filter
from torpor_client.logs.source import LogLine, LogSource
from torpor_kubernetes.client import errors as api_errors
from torpor_views.instance import InstanceView

from torpor_ui import errors
from torpor_ui.errors import ProblemError
from torpor_ui.feeds.run import RunFeed
from torpor_ui.http.context import caller_of
from torpor_ui.http.download import open_download
from torpor_ui.http.event_stream import HEARTBEAT_SECONDS, EventStream, open_stream
from torpor_ui.logs.joined_logs import joined
from torpor_ui.logs.log_follower import LogFollower
from torpor_ui.logs.log_reader import ListedLogs, LogReader, LogSubject
from torpor_ui.presentation import log_lines, results
from torpor_ui.routes.instance_reader import FoundInstance, InstanceReader
from torpor_ui.routes.run_routes import ARCHIVED, LIVE
from torpor_ui.routes.services import Services

_NUMBER_DIGITS = 6
_CONTAINER = re.compile(r"[a-z0-9-]{1,63}")
_PIECE = 64 * 1024


class LogRoutes:
    """The endpoints of logs."""

    def __init__(self, services: Services) -> None:
        self._reader = InstanceReader(services)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes, which come before that of the instance."""
        places = [f"{base}/task/{{key:.+}}" for base in (LIVE, ARCHIVED)]
        return [
            *(web.get(f"{place}/logs", self.stream) for place in places),
            *(web.get(f"{place}/logs.txt", self.download) for place in places),
        ]

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Send the last lines of each log, and with `follow=1` those that come, until the instance has ended."""
        found = await self._reader.find(request)
        chosen, follow = _filter(request, found.view), request.query.get("follow") == "1" and not found.archived
        reader = LogReader(caller_of(request), _subject(found, request))
        async with AsyncExitStack() as stack:
            stream = await stack.enter_async_context(open_stream(request))
            feed = await stack.enter_async_context(self._reader.feed(request)) if follow else None
            current = _current(feed, found.view) if feed is not None else None
            follower = LogFollower(reader, chosen, current, partial(_explained, found, chosen, _options(request)))
            await _send(stream, follower)
        return stream.response

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Send all lines as a text file."""
        found = await self._reader.find(request)
        reader = LogReader(caller_of(request), _subject(found, request))
        listed = await reader.listed(_filter(request, found.view))
        headers = results.log_headers(found.run.name, found.view.ref).as_dict()
        piece = bytearray("".join(f"# {note}\n" for note in listed.notes).encode("utf-8", "replace"))

        def opened(source: LogSource) -> AsyncGenerator[LogLine, None]:
            return _readable(reader, source)

        async with (
            open_download(request, headers) as file,
            aclosing(joined(listed.selected.sources, opened)) as lines,
        ):
            async for line in lines:
                piece += log_lines.as_text(line).encode("utf-8", "replace")
                if len(piece) >= _PIECE:
                    await file.write(bytes(piece))
                    piece.clear()
            await file.write(bytes(piece))
        return file.response


async def _send(stream: EventStream, follower: LogFollower) -> None:
    """Send batches as they come. Each waits until the viewer has taken the one before."""
    sent = time.monotonic()
    try:
        async with aclosing(follower.batches()) as batches:
            async for batch in batches:
                lines: list[dict[str, Any]] = [log_lines.as_json(line) for line in batch.lines]
                lines += [log_lines.note(sentence, time.time()) for sentence in batch.notes]
                if lines:
                    await stream.send("lines", lines)
                    sent = time.monotonic()
                elif time.monotonic() - sent >= HEARTBEAT_SECONDS:
                    await stream.heartbeat()
                    sent = time.monotonic()
    except api_errors.ApiError as error:
        raise errors.from_api(error) from error
    await stream.send("end", {})


async def _readable(reader: LogReader, source: LogSource) -> AsyncGenerator[LogLine, None]:
    """The lines of a log, with a line that says why it ends too early."""
    last = source.start
    try:
        async with aclosing(reader.lines(source, LineCutter(divide=True))) as lines:
            async for line in lines:
                last = line.at
                yield line
    except (api_errors.ApiError, ProblemError) as error:
        yield LogLine(last, source, f"# the rest of this log cannot be read: {error}")


def _explained(found: FoundInstance, chosen: Filter, options: Sequence[str], listed: ListedLogs) -> str:
    """Return why there are no lines, as `torpor logs` says it."""
    logs = selection.SelectedLogs(
        selected=listed.selected,
        not_started=listed.not_started,
        instances=[found.view],
        archive_read=listed.archive_read,
    )
    try:
        return selection.explained(found.run, chosen, logs, options)
    except UserError as error:
        return str(error)


def _options(request: web.Request) -> list[str]:
    """The filters of a request as options of `torpor logs`."""
    return [f"--{name} {value}" for name in ("attempt", "segment", "container") if (value := request.query.get(name))]


def _subject(found: FoundInstance, request: web.Request) -> LogSubject:
    """Return whose logs to read. Raises ProblemError (400)."""
    view, container = found.view, request.query.get("container") or CONTAINER
    if not _CONTAINER.fullmatch(container):
        raise errors.invalid(f"container is {container[:40]!r}; use the name of a container")
    return LogSubject(
        namespace=view.namespace, run_uid=found.run.uid, view=view, live=not found.archived, container=container
    )


def _current(feed: RunFeed, view: InstanceView) -> Any:
    def current() -> InstanceView | None:
        instance = feed.instance(view.name)
        return None if instance is None or feed.gone or feed.ended else instance.view

    return current


def _filter(request: web.Request, view: InstanceView) -> Filter:
    """Return which logs of an instance to show. Raises ProblemError (400)."""
    since = request.query.get("from", "")
    try:
        seconds = float(since) if since else 0.0
        start = log_text.nanoseconds_of_epoch(seconds) if 0 <= seconds < 1e11 else -1  # noqa: PLR2004 - the year 5138
    except ValueError:
        start = -1
    if start < 0:
        raise errors.invalid(f"from is {since[:40]!r}; use seconds since the epoch")
    return Filter(
        task=view.task,
        path=view.path,
        attempt=_number(request, "attempt"),
        segment=_number(request, "segment"),
        since=start,
    )


def _number(request: web.Request, name: str) -> int | None:
    text = request.query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _NUMBER_DIGITS):
        raise errors.invalid(f"{name} is {text[:40]!r}; use a whole number")
    return int(text)
