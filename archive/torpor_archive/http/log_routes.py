"""The HTTP API of logs (ADR 0029).

Users list and read logs, triggerers send lines of waits, and the operator reads which logs are settled. Each handler
authenticates the caller first, and authorizes before it reads the body.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from aiohttp import web
from torpor_kubernetes.client import decoding

from torpor_archive import page_token
from torpor_archive.auth.reviews import AccessReviews
from torpor_archive.errors import RefusedError, forbidden, invalid, not_found, too_large, unavailable
from torpor_archive.http import middleware
from torpor_archive.http.downloads import Downloads
from torpor_archive.logs.objects import LogBucket, ObjectsError
from torpor_archive.logs.waits import MAX_BODY, WaitLogs
from torpor_archive.namespaces import NamespaceFinder
from torpor_archive.storage import log_entry, log_store
from torpor_archive.storage.database import Database
from torpor_archive.storage.log_entry import MAIN, LogState
from torpor_archive.storage.log_store import LogFilters

PAGE = 1000
PAGE_MAX = 5000
IDS_MAX = 1000
BODY_SECONDS = 60.0
"""How long a client may take to send a list of pods, or the lines of waits."""
_TASK = re.compile(r"[A-Za-z0-9_.-]{1,253}")
_LIST_PARAMETERS = ("task", "attempt", "segment", "failed", "container", "limit", "continue")
_CONTAINER = re.compile(r"[a-z0-9-]{1,63}")


class LogRoutes:
    """The request handlers."""

    def __init__(  # noqa: PLR0913 - the parts that main() builds
        self,
        database: Database,
        reviews: AccessReviews,
        namespaces: NamespaceFinder,
        downloads: Downloads,
        *,
        waits: WaitLogs,
        objects: LogBucket | None,
    ) -> None:
        self._namespaces = namespaces
        self._database = database
        self._reviews = reviews
        self._waits = waits
        self._objects = objects
        self._downloads = downloads

    def add_to(self, application: web.Application) -> None:
        """Register each handler at its path. The metrics use the route names."""
        namespace = "/v1/namespaces/{namespace}"
        application.add_routes(
            [
                web.get(namespace + "/runs/{uid}/logs", self.list_logs, name="list_logs", allow_head=False),
                web.get(namespace + "/logs/{id}", self.get_log, name="get_log", allow_head=False),
                web.post(namespace + "/logs/status", self.post_status, name="post_log_status"),
                web.post(namespace + "/logs/waits", self.post_waits, name="post_wait_logs"),
            ]
        )

    async def list_logs(self, request: web.Request) -> web.StreamResponse:
        """Send the entries of a run, live or archived, by the time at which they started."""
        namespace, uid = middleware.identifier(request, "namespace"), middleware.identifier(request, "uid")
        await self._check_reader(request, namespace)
        limit = middleware.number(request.query, "limit", PAGE, PAGE_MAX) or PAGE
        filters = _filters(request.query, limit + 1)
        place = await self._namespaces.current(namespace)
        async with self._downloads.acquire(namespace):
            rows = await log_store.list_run(self._database, place, uid, filters)
            page: dict[str, Any] = {"items": [log_entry.to_json(row) for row in rows[:limit]]}
            if len(rows) > limit:
                page["continue"] = page_token.encode(rows[limit - 1]["started"], rows[limit - 1]["id"])
            return await self._downloads.send_json(request, page)

    async def get_log(self, request: web.Request) -> web.StreamResponse:
        """Send the lines of one log: each begins with its time and a space."""
        namespace, log = middleware.identifier(request, "namespace"), middleware.identifier(request, "id")
        await self._check_reader(request, namespace)
        row = await log_store.find(self._database, await self._namespaces.current(namespace), log)
        if row is None:
            raise RefusedError(not_found(f"the archive has no log {log} in namespace {namespace}"))
        if row["state"] != LogState.KEPT:
            what = (
                "is being read; try again later" if row["state"] == LogState.PENDING else f"was lost: {row['message']}"
            )
            raise RefusedError(not_found(f"the log {what}"))
        async with self._downloads.acquire(namespace):
            return await self._stream(request, self._text(row))

    async def post_status(self, request: web.Request) -> web.StreamResponse:
        """Return which logs of pods are settled, so that the operator may delete the pods."""
        namespace = middleware.identifier(request, "namespace")
        await self._reviews.check_operator(await middleware.authenticate(request, self._reviews), namespace)
        match await _read_json(request, MAX_BODY):
            case {"pods": list(uids)} if len(uids) <= IDS_MAX and all(isinstance(uid, str) for uid in uids):
                settled = await log_store.settled(self._database, namespace, uids)
                return web.json_response({"settled": sorted(settled)})
            case _:
                raise RefusedError(invalid(f"send an object whose `pods` is a list of up to {IDS_MAX} uids"))

    async def post_waits(self, request: web.Request) -> web.StreamResponse:
        """Store the lines of waits that ended, from a triggerer of their pool."""
        namespace = middleware.identifier(request, "namespace")
        caller = await middleware.authenticate(request, self._reviews)
        stored = await self._waits.store(caller, namespace, await _read_json(request, MAX_BODY))
        return web.json_response({"stored": stored})

    def _text(self, row: log_store.Row) -> AsyncIterator[bytes]:
        if not row["object"]:
            return log_store.read(self._database, row["id"])
        if self._objects is None:
            message = "the log is in an object store, and the archive was started without --objects"
            raise RefusedError(unavailable("ObjectsUnavailable", message))
        return self._objects.read(row["object"])

    async def _stream(self, request: web.Request, text: AsyncIterator[bytes]) -> web.StreamResponse:
        """Send the text. Closes the connection if it cannot be read to the end."""
        try:
            data = await anext(text, b"")  # before the response starts, so that an error can still be sent
        except ObjectsError as error:
            raise RefusedError(unavailable("ObjectsUnavailable", f"cannot read the log: {error}")) from error
        response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
        return await self._downloads.send(request, response, data, text)

    async def _check_reader(self, request: web.Request, namespace: str) -> None:
        caller = await middleware.authenticate(request, self._reviews)
        if not await self._reviews.may_read_logs(caller, namespace):
            message = f"{caller.user} may not get TaskRuns and pods/log in namespace {namespace}"
            raise RefusedError(forbidden(message))


def _filters(query: Mapping[str, str], limit: int) -> LogFilters:
    middleware.check_parameters(query, _LIST_PARAMETERS)
    failed = query.get("failed", "false")
    if failed not in {"true", "false"}:
        raise RefusedError(invalid(f"failed is {failed[:40]!r}; use true or false"))
    numbers = {
        name: middleware.number(query, name, 0, 2**31 - 1) if name in query else None for name in ("attempt", "segment")
    }
    task = query.get("task")
    if task is not None and not _TASK.fullmatch(task):
        raise RefusedError(invalid(f"task is {task[:40]!r}; use the name of a task"))
    container = query.get("container", MAIN)
    if not _CONTAINER.fullmatch(container):
        raise RefusedError(invalid(f"container is {container[:40]!r}; use the name of a container"))
    token = query.get("continue")
    after = middleware.unwrap(page_token.decode(token, str, str)) if token else None
    return LogFilters(task=task, failed=failed == "true", container=container, limit=limit, after=after, **numbers)


async def _read_json(request: web.Request, limit: int) -> Any:
    """Read a JSON body. Raises RefusedError (400, 413)."""
    body = bytearray()
    async with asyncio.timeout(BODY_SECONDS):
        async for data in request.content.iter_any():
            body += data
            if len(body) > limit:
                raise RefusedError(too_large(f"the body has more than {limit} bytes"))
    try:
        return decoding.loads(bytes(body))
    except ValueError as error:
        raise RefusedError(invalid(f"the body is not JSON: {type(error).__name__}")) from error
