"""The HTTP API of ADR 0012.

Each handler authenticates the caller first, and authorizes before it reads the body.
"""

from collections.abc import Callable
from dataclasses import replace

from aiohttp import web
from torpor_wire import names

from torpor_archive.auth import policy
from torpor_archive.auth.policy import Caller, TaskRunAccess
from torpor_archive.auth.reviews import AccessReviews
from torpor_archive.errors import ErrorResponse, RefusedError, forbidden, invalid, not_found
from torpor_archive.http import derived_results, middleware
from torpor_archive.http.services import ArchiveServices
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage import bodies, chunks, content, history, results, run_queries, validation
from torpor_archive.storage.bodies import ByteRange, StoredBody
from torpor_archive.storage.content import LENGTH_HEADER, RUN, BodyFormat
from torpor_archive.storage.tables import RESULTS, RUNS

TASKRUN_HEADER = "Torpor-TaskRun"
COMPLETED_HEADER = "Torpor-Completed"
ITEM_PARAMETERS = ("item", "count")
COUNT_MAX = 1_000_000


class Routes:
    """The request handlers."""

    def __init__(self, services: ArchiveServices) -> None:
        self._services = services

    def add_to(self, application: web.Application) -> None:
        """Register each handler at its path. The metrics use the route names."""
        namespace = "/v1/namespaces/{namespace}"
        application.add_routes(
            [
                web.put(namespace + "/taskruns/{name}/result", self.put_result, name="put_result"),
                web.put(namespace + "/taskruns/{name}/event", self.put_event, name="put_event"),
                web.get(namespace + "/results/{uid}/{digest}", self.get_result, name="get_result", allow_head=False),
                web.put(namespace + "/runs/{uid}", self.put_run, name="put_run"),
                web.head(namespace + "/runs/{uid}", self.head_run, name="head_run"),
                web.get(namespace + "/runs/{uid}", self.get_run, name="get_run", allow_head=False),
                web.get(namespace + "/runs", self.list_runs, name="list_runs", allow_head=False),
                web.get("/v1/runs", self.list_all_runs, name="list_all_runs", allow_head=False),
            ]
        )

    async def put_result(self, request: web.Request) -> web.StreamResponse:
        """Store the result of the calling pod's own TaskRun; with `?step=NAME`, that of a step of it."""
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        caller = await self._services.authenticate_pod(request, namespace)
        taskrun = await self._services.reviews.get_taskrun(namespace, name)
        middleware.unwrap(policy.check_put_result(caller, name, taskrun))
        step = request.query.get("step")
        middleware.unwrap(None if step is None else policy.check_step(step, taskrun))
        owner = taskrun if step is None else replace(taskrun, uid=names.step_owner(taskrun.uid, step))
        # An upload may take minutes, and another pod may claim the TaskRun meanwhile.
        return await self._store(
            request, owner, chunks.RESULT, lambda current: policy.check_put_result(caller, name, current)
        )

    async def put_event(self, request: web.Request) -> web.StreamResponse:
        """Store the event of a wait, from a triggerer of its pool; with `?as=result`, as the TaskRun's result."""
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        caller = await middleware.authenticate(request, self._services.reviews)
        taskrun = await self._services.reviews.get_taskrun(namespace, name)
        await self._services.reviews.check_triggerer(caller, namespace, taskrun)
        middleware.unwrap(policy.check_put_event(name, taskrun))
        owner = taskrun if request.query.get("as") == "result" else replace(taskrun, uid=names.event_owner(taskrun.uid))
        return await self._store(request, owner, chunks.EVENT, lambda current: policy.check_put_event(name, current))

    async def _store(
        self,
        request: web.Request,
        taskrun: TaskRunAccess,
        limits: chunks.BodyLimits,
        check: Callable[[TaskRunAccess], ErrorResponse | None],
    ) -> web.StreamResponse:
        """Store a body for a TaskRun. `check` repeats the access check after the upload."""
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        body_format = middleware.unwrap(content.parse_headers(request.headers))
        check_body_length(request, limits)
        validator, entries = validation.validator_for(body_format)
        place = await self._services.namespaces.of_object(namespace, taskrun.created)
        async with self._services.uploads.upload(RESULTS, place, body_format, limits) as session:
            last = await session.receive(request.content, validator)
            if entries is not None:
                entries.reject_duplicates()
            summary = session.summary(entries.keys if entries else None)
            middleware.unwrap(check(await self._services.reviews.get_taskrun(namespace, name)))
            await derived_results.finish(session, place, taskrun, last, summary)
        return derived_results.described(summary, body_format)

    async def get_result(self, request: web.Request) -> web.StreamResponse:
        """Send a result, or some of its items, to a pod of the same Workflow or to a user that may get TaskRuns."""
        namespace = middleware.identifier(request, "namespace")
        uid, digest = middleware.identifier(request, "uid"), middleware.identifier(request, "digest")
        middleware.check_parameters(request.query, ITEM_PARAMETERS)
        name = request.headers.get(TASKRUN_HEADER, "")
        if name:
            result = await self._find_result_for_pod(request, name)
        else:
            await check_result_reader(self._services.reviews, request, namespace)
            result = await results.find(
                self._services.database, await self._services.namespaces.current(namespace), uid, digest
            )
        if result is None:
            raise RefusedError(not_found(f"the archive has no result {digest} of the TaskRun with uid {uid}"))
        async with self._services.downloads.acquire(namespace):
            return await self._send(request, result[0])

    async def _find_result_for_pod(self, request: web.Request, name: str) -> tuple[StoredBody, str] | None:
        """Return the result if the TaskRun of that name, which the calling pod claimed, may read it."""
        namespace = middleware.identifier(request, "namespace")
        uid, digest = middleware.identifier(request, "uid"), middleware.identifier(request, "digest")
        caller = await self._services.authenticate_pod(request, namespace)
        taskrun = await self._services.reviews.get_recent_taskrun(namespace, name, caller)
        place = await self._services.namespaces.current(namespace)
        result = await results.find(self._services.database, place, uid, digest, of_workflow=taskrun.workflow)
        middleware.unwrap(policy.check_get_result(caller, name, taskrun, result[1] if result else taskrun.workflow))
        return result

    async def put_run(self, request: web.Request) -> web.StreamResponse:
        """Store a finished run. It replaces an earlier version, such as that before a clear."""
        namespace, uid = middleware.identifier(request, "namespace"), middleware.identifier(request, "uid")
        await self._services.reviews.check_operator(
            await middleware.authenticate(request, self._services.reviews), namespace
        )
        check_body_length(request, chunks.RUN)
        run = history.RunValidator(namespace, uid)
        place = await self._services.namespaces.current(namespace)
        async with self._services.uploads.upload(RUNS, place, BodyFormat(type=RUN), chunks.RUN) as session:
            last = await session.receive(request.content, validation.JsonLines(run.check_line))
            if not run.summary:
                raise RefusedError(invalid("the body is empty; a run begins with its Workflow"))
            summary, now = session.summary(), self._services.clock.now()
            row = {"namespace": namespace, "uid": uid, "archived": now, "taskruns": run.taskruns, **run.summary}
            row["namespace_uid"] = await self._check_namespace(place, run.summary["created"])
            row["completed_at"] = row["completed_at"] or now
            new = await session.finish(last, summary, history.store(row, run.labels, summary.digest))
        return web.json_response({"uid": uid, "new": new, "size": summary.size, "digest": summary.digest})

    async def head_run(self, request: web.Request) -> web.StreamResponse:
        """Tell the operator which version of a run is stored, by its completion time."""
        namespace, uid = middleware.identifier(request, "namespace"), middleware.identifier(request, "uid")
        await self._services.reviews.check_operator(
            await middleware.authenticate(request, self._services.reviews), namespace
        )
        run = await history.find(self._services.database, await self._services.namespaces.current(namespace), uid)
        if run is None:
            raise RefusedError(_no_run(namespace, uid))
        return web.Response(headers={COMPLETED_HEADER: run[1], "ETag": f'"{run[0].digest}"'})

    async def list_runs(self, request: web.Request) -> web.StreamResponse:
        """Send a page of the namespace's runs to a caller that may list Workflows there."""
        return await self._list(request, middleware.identifier(request, "namespace"))

    async def list_all_runs(self, request: web.Request) -> web.StreamResponse:
        """Send a page of all runs to a caller that may list Workflows in all namespaces."""
        return await self._list(request, None)

    async def _list(self, request: web.Request, namespace: str | None) -> web.StreamResponse:
        caller = await self._check_reader(request, "list", namespace)
        middleware.check_parameters(request.query, run_queries.PARAMETERS)
        chosen = middleware.unwrap(run_queries.parse_filter(request.query, self._services.clock.now()))
        limit = middleware.number(request.query, "limit", run_queries.PAGE, run_queries.PAGE_MAX) or run_queries.PAGE
        token = request.query.get("continue")
        start = middleware.unwrap(run_queries.parse_page_token(token)) if token else None
        place = await self._services.namespaces.current(namespace) if namespace is not None else None
        async with self._services.downloads.acquire(namespace or caller.user):
            page = await run_queries.list_runs(self._services.database, place, chosen, limit, start)
            return await self._services.downloads.send_json(request, page)

    async def get_run(self, request: web.Request) -> web.StreamResponse:
        """Send one run, its Workflow, TaskRuns and Events, to a caller that may get Workflows and TaskRuns there."""
        namespace, uid = middleware.identifier(request, "namespace"), middleware.identifier(request, "uid")
        await self._check_reader(request, "get", namespace)
        await check_result_reader(self._services.reviews, request, namespace)
        middleware.check_parameters(request.query, ITEM_PARAMETERS)
        run = await history.find(self._services.database, await self._services.namespaces.current(namespace), uid)
        if run is None:
            raise RefusedError(_no_run(namespace, uid))
        async with self._services.downloads.acquire(namespace):
            return await self._send(request, run[0])

    async def _check_namespace(self, place: NamespaceId, created: str) -> str:
        """Return the uid for a run that was created at this time. Raises RefusedError if its namespace is gone."""
        if await self._services.namespaces.of_object(place.name, created) != place:
            message = f"the Workflow belongs to an earlier namespace {place.name}, which was deleted meanwhile"
            raise RefusedError(forbidden(message))
        return place.uid

    async def _check_reader(self, request: web.Request, verb: str, namespace: str | None) -> Caller:
        caller = await middleware.authenticate(request, self._services.reviews)
        if not await self._services.reviews.is_allowed(caller, verb, "workflows", namespace or ""):
            where = f"in namespace {namespace}" if namespace else "in all namespaces"
            raise RefusedError(forbidden(f"{caller.user} may not {verb} Workflows {where}"))
        return caller

    async def _send(self, request: web.Request, body: StoredBody) -> web.StreamResponse:
        """Send the body, or the items in the query. Closes the connection if the database fails midway."""
        byte_range = ByteRange(start=0, end=body.size)
        if "item" in request.query:
            item = middleware.number(request.query, "item", 0, 2**62)
            byte_range = await bodies.find_items(
                self._services.database, body, item, middleware.number(request.query, "count", 1, COUNT_MAX)
            )
        length = {} if body.length is None else {LENGTH_HEADER: str(body.length)}
        response = web.StreamResponse(headers=body.format.headers() | length | {"ETag": f'"{body.digest}"'})
        response.content_length = byte_range.end - byte_range.start
        body_chunks = bodies.read_chunks(self._services.database, body, byte_range)
        chunk = await anext(body_chunks, b"")  # before the response starts, so that an error can still be sent
        return await self._services.downloads.send(request, response, chunk, body_chunks)


async def check_result_reader(reviews: AccessReviews, request: web.Request, namespace: str) -> None:
    """Refuse a caller that may not get TaskRuns. A pod must list them: a task pod may get, and not list them."""
    caller = await middleware.authenticate(request, reviews)
    verb = "list" if caller.pod_uid else "get"
    if not await reviews.is_allowed(caller, verb, "taskruns", namespace):
        message = f"{caller.user} may not {verb} TaskRuns in namespace {namespace}"
        task = f"; a task pod sends the header {TASKRUN_HEADER} with the name of its TaskRun"
        raise RefusedError(forbidden(message + (task if caller.pod_uid else "")))


def _no_run(namespace: str, uid: str) -> ErrorResponse:
    return not_found(f"the archive has no run with uid {uid} in namespace {namespace}")


def check_body_length(request: web.Request, limits: chunks.BodyLimits) -> None:
    """Refuse a long body before the client sends it."""
    if request.content_length is not None and request.content_length > limits.size:
        raise RefusedError(chunks.body_too_large(limits, request.content_length))
