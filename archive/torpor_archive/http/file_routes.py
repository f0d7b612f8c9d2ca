"""The HTTP API for files of tasks (ADR 0064): stored by the pod of their task, read by pods of the same Workflow."""

from dataclasses import asdict
from http import HTTPStatus

from aiohttp import web
from torpor_wire import names

from torpor_archive.auth import policy
from torpor_archive.auth.policy import Caller, TaskRunAccess
from torpor_archive.auth.reviews import AccessReviews
from torpor_archive.errors import RefusedError, not_found
from torpor_archive.http import middleware
from torpor_archive.http.downloads import Downloads
from torpor_archive.http.routes import TASKRUN_HEADER, check_body_length, check_result_reader
from torpor_archive.namespaces import NamespaceFinder
from torpor_archive.storage import bodies, chunks, content, results
from torpor_archive.storage.bodies import ByteRange, StoredBody
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import RESULTS
from torpor_archive.storage.upload import Uploads
from torpor_archive.storage.validation import AnyBytes

OFFSET = "offset"


class FileRoutes:
    """The request handlers."""

    def __init__(
        self,
        database: Database,
        reviews: AccessReviews,
        namespaces: NamespaceFinder,
        downloads: Downloads,
        *,
        uploads: Uploads,
    ) -> None:
        self._database = database
        self._reviews = reviews
        self._namespaces = namespaces
        self._downloads = downloads
        self._uploads = uploads

    def add_to(self, application: web.Application) -> None:
        """Register each handler at its path. The metrics use the route names."""
        namespace = "/v1/namespaces/{namespace}"
        application.add_routes(
            [
                web.put(namespace + "/taskruns/{name}/files/{file}", self.put_file, name="put_file"),
                web.get(namespace + "/files/{uid}/{file}/{digest}", self.get_file, name="get_file", allow_head=False),
            ]
        )

    async def put_file(self, request: web.Request) -> web.StreamResponse:
        """Store a file of the calling pod's own TaskRun. It replaces that of an earlier launch."""
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        file = middleware.file_name(request)
        caller = await self._authenticate_pod(request, namespace)
        taskrun = await self._check_writer(caller, namespace, name, file)
        body_format = middleware.unwrap(content.parse_kind(request.headers))
        check_body_length(request, chunks.FILE)
        place = await self._namespaces.of_object(namespace, taskrun.created)
        async with self._uploads.upload(RESULTS, place, body_format, chunks.FILE) as session:
            last = await session.receive(request.content, AnyBytes())
            summary = session.summary()
            await self._check_writer(caller, namespace, name, file)  # another pod may have claimed it meanwhile
            attempt, segment, launch = taskrun.launch
            row = {"namespace": place.name, "namespace_uid": place.uid, "workflow": taskrun.workflow}
            row |= {"taskrun": names.file_owner(taskrun.uid, file), "digest": summary.digest}
            order = {"attempt": attempt, "segment": segment, "launch": launch}
            await session.finish(last, summary, results.store({**row, **order}))
        answer = asdict(summary) | {"type": body_format.type}
        return web.json_response(answer, status=HTTPStatus.CREATED)

    async def get_file(self, request: web.Request) -> web.StreamResponse:
        """Send a file, from a byte on, to a pod of the same Workflow or to a user that may get TaskRuns."""
        namespace = middleware.identifier(request, "namespace")
        middleware.check_parameters(request.query, (OFFSET,))
        found = await self._find(request, namespace)
        if found is None:
            uid, file = request.match_info["uid"], request.match_info["file"]
            raise RefusedError(not_found(f"the archive has no file {file[:40]} of the TaskRun with uid {uid[:40]}"))
        async with self._downloads.acquire(namespace):
            return await self._send(request, found[0])

    async def _find(self, request: web.Request, namespace: str) -> tuple[StoredBody, str] | None:
        uid, digest = middleware.identifier(request, "uid"), middleware.identifier(request, "digest")
        owner, name = names.file_owner(uid, middleware.file_name(request)), request.headers.get(TASKRUN_HEADER, "")
        if not name:
            await check_result_reader(self._reviews, request, namespace)
            return await results.find(self._database, await self._namespaces.current(namespace), owner, digest)
        caller = await self._authenticate_pod(request, namespace)
        taskrun = await self._reviews.get_recent_taskrun(namespace, name, caller)
        place = await self._namespaces.current(namespace)
        found = await results.find(self._database, place, owner, digest, of_workflow=taskrun.workflow)
        workflow = found[1] if found else taskrun.workflow
        middleware.unwrap(policy.check_get_file(caller, name, taskrun, workflow))
        return found

    async def _check_writer(self, caller: Caller, namespace: str, name: str, file: str) -> TaskRunAccess:
        taskrun = await self._reviews.get_taskrun(namespace, name)
        middleware.unwrap(policy.check_put_file(caller, name, file, taskrun))
        return taskrun

    async def _authenticate_pod(self, request: web.Request, namespace: str) -> Caller:
        caller = await middleware.authenticate(request, self._reviews)
        middleware.unwrap(policy.check_pod(caller, namespace))
        return caller

    async def _send(self, request: web.Request, body: StoredBody) -> web.StreamResponse:
        """Send the body. Closes the connection if the database fails midway."""
        start = min(middleware.number(request.query, OFFSET, 0, 2**62), body.size)
        response = web.StreamResponse(headers=body.format.headers() | {"ETag": f'"{body.digest}"'})
        response.content_length = body.size - start
        pieces = bodies.read_chunks(self._database, body, ByteRange(start=start, end=body.size))
        first = await anext(pieces, b"")  # before the response starts, so that an error can still be sent
        return await self._downloads.send(request, response, first, pieces)
