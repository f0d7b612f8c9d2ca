"""The protocol of adr/0012: which request is whose, and what it is answered with.

In each, who asks is known before anything is read, and whether they may before a byte of a body is.
"""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, replace
from http import HTTPStatus

from aiohttp import web
from torpor_api.timing import Clock
from torpor_wire import names

from torpor_archive.auth import policy
from torpor_archive.auth.policy import Caller, Standing
from torpor_archive.auth.reviews import Reviews
from torpor_archive.errors import Refusal, RefusedError, forbidden, invalid, not_found
from torpor_archive.http import middleware
from torpor_archive.metrics import Metrics
from torpor_archive.storage import bodies, chunks, content, history, validation
from torpor_archive.storage.bodies import Span, Stored
from torpor_archive.storage.content import LENGTH_HEADER, RUN, Kind
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import RESULTS, RUNS
from torpor_archive.storage.upload import Intake
from torpor_archive.storage.upload_slots import DOWNLOADS, Slots

TASKRUN_HEADER = "Torpor-TaskRun"
COUNT_MAX = 1_000_000
IDLE_SECONDS = 60.0
"""For which a reader may take nothing."""
DOWNLOAD_SECONDS = 900.0


class Routes:
    """The handlers, over what they need."""

    def __init__(self, database: Database, reviews: Reviews, metrics: Metrics, clock: Clock, intake: Intake) -> None:
        self._database = database
        self._reviews = reviews
        self._metrics = metrics
        self._clock = clock
        self._intake = intake
        self._downloads = Slots(DOWNLOADS, "downloads")

    def add_to(self, application: web.Application) -> None:
        """Each at its path; the names are those of the metrics."""
        namespace = "/v1/namespaces/{namespace}"
        application.add_routes(
            [
                web.put(namespace + "/taskruns/{name}/result", self.put_result, name="put_result"),
                web.put(namespace + "/taskruns/{name}/event", self.put_event, name="put_event"),
                web.get(namespace + "/results/{uid}/{digest}", self.get_result, name="get_result", allow_head=False),
                web.put(namespace + "/runs/{uid}", self.put_run, name="put_run"),
                web.get(namespace + "/runs", self.list_runs, name="list_runs", allow_head=False),
                web.get(namespace + "/runs/{uid}", self.get_run, name="get_run", allow_head=False),
            ]
        )

    async def put_result(self, request: web.Request) -> web.StreamResponse:
        """A pod's own result, once it has been claimed and while it runs."""
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        who = await self._pod(request, namespace)
        stands = await self._reviews.stands(namespace, name)
        middleware.accepted(policy.may_write(who, name, stands))
        # The upload may take minutes, in which another pod may claim the TaskRun.
        return await self._keep(request, stands, chunks.RESULT, lambda now: policy.may_write(who, name, now))

    async def put_event(self, request: web.Request) -> web.StreamResponse:
        """The event of a wait, by a triggerer of its pool; with `?as=result` it is the result of the TaskRun."""
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        who = await self._reviews.person(middleware.token(request.headers))
        stands = await self._reviews.stands(namespace, name)
        if not await self._reviews.may(who, "fire", "triggerpools", namespace, stands.pool):
            raise RefusedError(forbidden(f"{who.user} is no triggerer of pool {stands.pool}: it may not `fire` it"))
        middleware.accepted(policy.may_end(name, stands))
        owner = stands if request.query.get("as") == "result" else replace(stands, uid=names.event_owner(stands.uid))
        return await self._keep(request, owner, chunks.EVENT, lambda now: policy.may_end(name, now))

    async def _keep(
        self,
        request: web.Request,
        stands: Standing,
        limits: chunks.Limits,
        judge: Callable[[Standing], Refusal | None],
    ) -> web.StreamResponse:
        """Keep a body of a TaskRun; `judge` says whether it may still be put when all of it is there."""
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        kind = middleware.accepted(content.of(request.headers))
        _check_length(request, limits)
        look, entries = validation.of(kind)
        async with self._intake.upload(RESULTS, namespace, kind, limits) as arrival:
            last = await arrival.receive(request.content, look)
            if entries is not None:
                entries.checked()
            described = arrival.described(entries.keys if entries else None)
            middleware.accepted(judge(await self._reviews.stands(namespace, name)))
            attempt, segment, launch = stands.launch
            row = {"namespace": namespace, "taskrun": stands.uid, "workflow": stands.workflow}
            order = {"attempt": attempt, "segment": segment, "launch": launch}
            await arrival.finish(last, described, RESULTS, {**row, **order, "digest": described.digest})
        answer = asdict(described) | {"type": kind.type, "name": kind.name}
        return web.json_response(answer, status=HTTPStatus.CREATED)

    async def get_result(self, request: web.Request) -> web.StreamResponse:
        """A result, or items of it, for a pod of the same Workflow."""
        namespace = middleware.identifier(request, "namespace")
        who = await self._pod(request, namespace)
        name = request.headers.get(TASKRUN_HEADER, "")
        if not name:
            raise RefusedError(invalid(f"send a header {TASKRUN_HEADER} with the name of the TaskRun that reads"))
        stands = await self._reviews.stood(namespace, name, who)
        uid, digest = middleware.identifier(request, "uid"), middleware.identifier(request, "digest")
        found = await bodies.result(self._database, namespace, uid, digest)
        middleware.accepted(policy.may_read(who, name, stands, found[1] if found else stands.workflow))
        if found is None:
            raise RefusedError(not_found(f"the archive has no result {digest} of the TaskRun with uid {uid}"))
        return await self._send(request, namespace, found[0])

    async def put_run(self, request: web.Request) -> web.StreamResponse:
        """A finished run; what is there already stays as it is."""
        namespace, uid = middleware.identifier(request, "namespace"), middleware.identifier(request, "uid")
        await self._operator(request, namespace)
        _check_length(request, chunks.RUN)
        incoming = history.Incoming(namespace, uid)
        async with self._intake.upload(RUNS, namespace, Kind(type=RUN), chunks.RUN) as arrival:
            last = await arrival.receive(request.content, validation.Lines(incoming.look))
            if not incoming.summary:
                raise RefusedError(invalid("a run begins with its Workflow, and the body is empty"))
            described = arrival.described()
            row = {"namespace": namespace, "uid": uid, "archived": self._clock.now(), **incoming.summary}
            new = await arrival.finish(last, described, RUNS, row)
        return web.json_response({"uid": uid, "new": new, "size": described.size, "digest": described.digest})

    async def list_runs(self, request: web.Request) -> web.StreamResponse:
        """A page of the runs of a namespace, for whoever may list Workflows there."""
        namespace = middleware.identifier(request, "namespace")
        await self._reader(request, "list", namespace)
        limit = middleware.number(request.query, "limit", history.PAGE, history.PAGE_MAX) or history.PAGE
        given = request.query.get("continue")
        start = middleware.accepted(history.after(given)) if given else None
        return web.json_response(await history.page(self._database, namespace, limit, start))

    async def get_run(self, request: web.Request) -> web.StreamResponse:
        """One run, its Workflow and its TaskRuns, for whoever may get Workflows there."""
        namespace, uid = middleware.identifier(request, "namespace"), middleware.identifier(request, "uid")
        await self._reader(request, "get", namespace)
        found = await bodies.run_body(self._database, namespace, uid)
        if found is None:
            raise RefusedError(not_found(f"the archive has no run of uid {uid} in namespace {namespace}"))
        return await self._send(request, namespace, found)

    async def _pod(self, request: web.Request, namespace: str) -> Caller:
        who = await self._reviews.pod(middleware.token(request.headers))
        middleware.accepted(policy.may_ask(who, namespace))
        return who

    async def _operator(self, request: web.Request, namespace: str) -> None:
        who = await self._reviews.person(middleware.token(request.headers))
        if not await self._reviews.may(who, "operate", "taskruns", namespace):
            raise RefusedError(forbidden(f"{who.user} is not the operator: it may not `operate` taskruns"))

    async def _reader(self, request: web.Request, verb: str, namespace: str) -> None:
        who = await self._reviews.person(middleware.token(request.headers))
        if not await self._reviews.may(who, verb, "workflows", namespace):
            raise RefusedError(forbidden(f"{who.user} may not {verb} Workflows in namespace {namespace}"))

    async def _send(self, request: web.Request, namespace: str, stored: Stored) -> web.StreamResponse:
        async with self._downloads.held(namespace):
            return await self._stream(request, stored)

    async def _stream(self, request: web.Request, stored: Stored) -> web.StreamResponse:
        """The body, or what the query asks of it. A database that goes away in the middle breaks the connection."""
        span = Span(start=0, end=stored.size)
        if "item" in request.query:
            item = middleware.number(request.query, "item", 0, 2**62)
            span = await bodies.span(
                self._database, stored, item, middleware.number(request.query, "count", 1, COUNT_MAX)
            )
        length = {} if stored.length is None else {LENGTH_HEADER: str(stored.length)}
        response = web.StreamResponse(headers=stored.kind.headers() | length | {"ETag": f'"{stored.digest}"'})
        response.content_length = span.end - span.start
        pieces = bodies.chunks(self._database, stored, span)
        piece = await anext(pieces, b"")  # before the answer begins, so that a refusal can still be said
        await response.prepare(request)
        try:
            async with asyncio.timeout(DOWNLOAD_SECONDS):
                while piece:
                    self._metrics.bytes.labels("out").inc(len(piece))
                    async with asyncio.timeout(IDLE_SECONDS):
                        await response.write(piece)
                    piece = await anext(pieces, b"")
        except Exception as error:
            # Whatever it is, an answer of its own would be taken for a part of the body.
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionAbortedError(f"a body was broken off: {type(error).__name__}: {error}") from error
        await response.write_eof()
        return response


def _check_length(request: web.Request, limits: chunks.Limits) -> None:
    """So that what says that it is too long need not be sent."""
    if request.content_length is not None and request.content_length > limits.size:
        raise RefusedError(chunks.too_long(limits, request.content_length))
