"""`api/runs`: live and archived runs in one list, and the stream of the live ones."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from aiohttp import web

from torpor_ui import errors
from torpor_ui.cluster.caller import Caller
from torpor_ui.encoding import encode
from torpor_ui.errors import ProblemError
from torpor_ui.feeds.feed import INTERVAL, wait_for_change
from torpor_ui.feeds.run_list import RunKey, RunListFeed
from torpor_ui.http.context import caller_of, json_response
from torpor_ui.http.event_stream import HEARTBEAT_SECONDS, EventStream, open_stream
from torpor_ui.presentation import run_filters, run_rows
from torpor_ui.presentation.run_filters import RunFilters
from torpor_ui.presentation.run_rows import RunRow
from torpor_ui.routes.services import Services

LIMIT, LIMIT_MAX = 500, 1000
_ARCHIVE_PAGES = 5
"""Pages of the archive that one request reads for rows that the archive itself cannot filter."""
_CURSOR_MAX = 8192


class RunListRoutes:
    """The endpoints of the list of runs."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [web.get("/api/runs", self.page), web.get("/api/runs/stream", self.stream)]

    async def page(self, request: web.Request) -> web.Response:
        """Return a page of runs: all live ones with the first page, and archived ones, the latest end first."""
        caller, filters = caller_of(request), self._filters(request)
        limit, cursor = _limit(request.query.get("limit")), _parse_cursor(request.query.get("cursor"))
        rows: list[RunRow] = []
        notes: list[str] = []
        if filters.source != "archive" and cursor is None:
            rows += await self._live(caller, filters, notes)
        following: dict[str, str] = {}
        if filters.wants_archive:
            archived, following = await self._archived(caller, filters, cursor, limit, notes)
            live = {row.uid for row in rows}
            rows += [row for row in archived if row.uid not in live]
        head = {"columns": run_rows.COLUMNS, "notes": notes, "next": _write_cursor(following)}
        return json_response(await asyncio.to_thread(_page, head, rows))

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Send the live runs, then what changes of them."""
        caller, filters, woken = caller_of(request), self._filters(request), asyncio.Event()
        notes: list[str] = []
        async with open_stream(request) as stream, self._feeds(caller, filters, woken, notes) as feeds:
            for note in notes:
                await stream.send("note", {"message": note})
            await _RunListViewer(stream, feeds, filters).follow(woken)
        return stream.response

    def _filters(self, request: web.Request) -> RunFilters:
        return run_filters.parse(request.query, request.query.getall("label", []))

    async def _live(self, caller: Caller, filters: RunFilters, notes: list[str]) -> list[RunRow]:
        async with self._feeds(caller, filters, asyncio.Event(), notes) as feeds:
            return [row for feed in feeds for row in feed.rows() if filters.accept(row)]

    @asynccontextmanager
    async def _feeds(
        self, caller: Caller, filters: RunFilters, woken: asyncio.Event, notes: list[str]
    ) -> AsyncGenerator[list[RunListFeed], None]:
        """The feeds of the namespaces, each complete; without namespaces that of the whole cluster.

        Of several namespaces, those that cannot be read are left out, and a note says so.
        """
        async with AsyncExitStack() as stack:
            feeds: list[RunListFeed] = []
            for namespace in filters.namespaces or (None,):
                feeds.append(self._services.run_list(caller, namespace))
                feeds[-1].start()
            readable: list[RunListFeed] = []
            for feed in feeds:
                try:
                    await stack.enter_async_context(feed.viewed(woken))
                except ProblemError as error:
                    if feed is feeds[-1] and not readable:
                        raise
                    notes.append(error.problem.message)
                else:
                    readable.append(feed)
            woken.clear()  # a feed that has ended has set it
            yield readable

    async def _archived(
        self, caller: Caller, filters: RunFilters, cursor: dict[str, str] | None, limit: int, notes: list[str]
    ) -> tuple[list[RunRow], dict[str, str]]:
        """Return archived rows, and for each namespace that has more what continues it. Notes say what is missing."""
        rows: list[RunRow] = []
        following: dict[str, str] = {}
        for namespace in list(cursor) if cursor is not None else filters.namespaces or ("",):
            token = (cursor or {}).get(namespace, "")
            query = filters.archive_query() | {"limit": str(limit)}
            try:
                for _ in range(_ARCHIVE_PAGES):
                    more = {"continue": token} if token else {}
                    items, token = await caller.archive.runs(namespace or None, query | more)
                    rows += [row for row in map(run_rows.archived, items) if filters.accept(row)]
                    if not token or len(rows) >= limit:
                        break
            except ProblemError as error:
                notes.append(f"{error.problem.message}. {error.problem.remedy}".strip())
                continue
            if token:
                following[namespace] = token
        return rows, following


class _RunListViewer:
    """What one viewer of the list has been sent."""

    def __init__(self, stream: EventStream, feeds: Sequence[RunListFeed], filters: RunFilters) -> None:
        self._stream = stream
        self._feeds = feeds
        self._filters = filters
        self._shown: set[RunKey] | None = None if filters.accepts_all else set()
        """The runs that the viewer has; not kept where it has all."""

    async def follow(self, woken: asyncio.Event) -> None:
        """Send everything, then changes, until the viewer leaves or a feed ends."""
        positions = await self._send_all()
        while True:
            sent = asyncio.get_running_loop().time()
            if not await wait_for_change(woken, self._feeds, HEARTBEAT_SECONDS):
                await self._stream.heartbeat()
                continue
            positions = await self._send_changes(positions)
            await asyncio.sleep(sent + INTERVAL - asyncio.get_running_loop().time())  # several feeds, one pace

    async def _send_all(self) -> list[int]:
        positions = [feed.log.position for feed in self._feeds]
        rows = [row for feed in self._feeds for row in feed.rows() if self._filters.accept(row)]
        if self._shown is not None:
            self._shown = {(row.namespace, row.name) for row in rows}
        await self._stream.send("rows", await asyncio.to_thread(_encoded, rows, ()))
        return positions

    async def _send_changes(self, positions: list[int]) -> list[int]:
        now = [feed.log.position for feed in self._feeds]
        rows: list[RunRow] = []
        gone: list[str] = []
        for feed, position in zip(self._feeds, positions, strict=True):
            keys = feed.log.since(position)
            if keys is None:
                await self._stream.send("reset", {})
                return await self._send_all()
            for key in keys:
                self._note(key, feed.row(key), rows, gone)
        if rows or gone:
            await self._stream.send("rows", await asyncio.to_thread(_encoded, rows, gone))
        return now

    def _note(self, key: RunKey, row: RunRow | None, rows: list[RunRow], gone: list[str]) -> None:
        if row is not None and self._filters.accept(row):
            rows.append(row)
            if self._shown is not None:
                self._shown.add(key)
        elif self._shown is None or key in self._shown:
            gone.append(f"live/{key[0]}/{key[1]}")
            if self._shown is not None:
                self._shown.discard(key)


def _page(head: dict[str, Any], rows: list[RunRow]) -> bytes:
    """The latest runs first. Of 10,000 rows, this takes more time than an event loop may be blocked for."""
    rows.sort(key=lambda row: (-(row.created or 0.0), row.namespace, row.name))
    return encode(head)[:-1] + b',"rows":' + _encoded_rows(rows) + b"}"


def _encoded(rows: Sequence[RunRow], gone: Sequence[str]) -> bytes:
    """The event of rows, encoded row by row, so that the thread gives way."""
    return b'{"rows":' + _encoded_rows(rows) + b',"gone":' + encode(gone) + b"}"


def _encoded_rows(rows: Sequence[RunRow]) -> bytes:
    return b"[" + b",".join(encode(row.values()) for row in rows) + b"]"


def _limit(given: str | None) -> int:
    if given is None:
        return LIMIT
    if not (given.isascii() and given.isdecimal() and 0 < len(given) < 10):  # noqa: PLR2004
        raise errors.invalid(f"limit is {given[:40]!r}; use a whole number from 1")
    return min(max(int(given), 1), LIMIT_MAX)


def _write_cursor(following: dict[str, str]) -> str | None:
    return base64.urlsafe_b64encode(json.dumps(following).encode()).decode() if following else None


def _parse_cursor(given: str | None) -> dict[str, str] | None:
    if not given:
        return None
    try:
        cursor = json.loads(base64.urlsafe_b64decode(given[:_CURSOR_MAX]))
        valid = isinstance(cursor, dict) and all(isinstance(each, str) for pair in cursor.items() for each in pair)
    except (ValueError, RecursionError):
        valid = False
    if not valid:
        raise errors.invalid("the cursor is not one that this server has given")
    for namespace in cursor:
        run_filters.namespaces(namespace)
    return cursor  # type: ignore[no-any-return]
