"""The HTTP API for files of tasks (ADR 0064): stored by the pod of their task, read by pods of the same Workflow."""

import re
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from aiohttp import web
from sqlalchemy.ext.asyncio import AsyncConnection
from torpor_wire import names

from torpor_archive.auth import policy
from torpor_archive.auth.policy import Caller, TaskRunAccess
from torpor_archive.errors import ErrorResponse, RefusedError, invalid, not_found
from torpor_archive.http import middleware
from torpor_archive.http.routes import TASKRUN_HEADER, check_body_length, check_result_reader
from torpor_archive.http.services import ArchiveServices
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage import bodies, chunks, content, file_objects, object_bodies, results
from torpor_archive.storage.bodies import BodySummary, ByteRange, Refer, StoredBody
from torpor_archive.storage.chunks import BodyLimits
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.file_objects import FileBucket, FileUpload, SignedParts
from torpor_archive.storage.object_bodies import PartWriter
from torpor_archive.storage.tables import RESULTS
from torpor_archive.storage.validation import AnyBytes

OFFSET = "offset"
PARTS = "application/vnd.torpor.parts+json"
"""The media type of the URLs of a file's objects. A reader that accepts it connects to the object store itself."""
DIRECT_HEADER = "Torpor-Direct"
"""A pod that sends it can also upload parts to the archive itself."""
_PART = BodyLimits(size=file_objects.PART, lines=0)
_UPLOAD = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class FileRoutes:
    """The request handlers."""

    def __init__(self, services: ArchiveServices, *, bucket: FileBucket | None = None) -> None:
        self._services = services
        self._bucket = bucket

    def add_to(self, application: web.Application) -> None:
        """Register each handler at its path. The metrics use the route names."""
        namespace = "/v1/namespaces/{namespace}"
        application.add_routes(
            [
                web.put(namespace + "/taskruns/{name}/files/{file}", self.put_file, name="put_file"),
                web.post(namespace + "/taskruns/{name}/files/{file}/parts", self.put_parts, name="put_parts"),
                web.put(namespace + "/taskruns/{name}/files/{file}/parts/{number}", self.put_part, name="put_part"),
                web.post(namespace + "/taskruns/{name}/files/{file}/finish", self.finish_parts, name="finish_parts"),
                web.get(namespace + "/files/{uid}/{file}/{digest}", self.get_file, name="get_file", allow_head=False),
            ]
        )

    async def put_file(self, request: web.Request) -> web.StreamResponse:
        """Store a file of the calling pod's own TaskRun. It replaces that of an earlier launch."""
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        file = middleware.file_name(request)
        caller = await self._services.authenticate_pod(request, namespace)
        taskrun = await self._check_writer(caller, namespace, name, file)
        body_format = middleware.unwrap(content.parse_kind(request.headers))
        check_body_length(request, chunks.FILE)
        place = await self._services.namespaces.of_object(namespace, taskrun.created)
        async with self._services.uploads.upload(RESULTS, place, body_format, chunks.FILE) as session:
            last = await session.receive(request.content, AnyBytes())
            summary = session.summary()
            await self._check_writer(caller, namespace, name, file)  # another pod may have claimed it meanwhile
            await session.finish(last, summary, results.store(_row(place, taskrun, file, summary.digest)))
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
        async with self._services.downloads.acquire(namespace):
            return await self._send(request, found[0])

    async def _find(self, request: web.Request, namespace: str) -> tuple[StoredBody, str] | None:
        uid, digest = middleware.identifier(request, "uid"), middleware.identifier(request, "digest")
        owner, name = names.file_owner(uid, middleware.file_name(request)), request.headers.get(TASKRUN_HEADER, "")
        if not name:
            await check_result_reader(self._services.reviews, request, namespace)
            return await results.find(
                self._services.database, await self._services.namespaces.current(namespace), owner, digest
            )
        caller = await self._services.authenticate_pod(request, namespace)
        taskrun = await self._services.reviews.get_recent_taskrun(namespace, name, caller)
        place = await self._services.namespaces.current(namespace)
        found = await results.find(self._services.database, place, owner, digest, of_workflow=taskrun.workflow)
        workflow = found[1] if found else taskrun.workflow
        middleware.unwrap(policy.check_get_file(caller, name, taskrun, workflow))
        return found

    async def _check_writer(self, caller: Caller, namespace: str, name: str, file: str) -> TaskRunAccess:
        taskrun = await self._services.reviews.get_taskrun(namespace, name)
        middleware.unwrap(policy.check_put_file(caller, name, file, taskrun))
        return taskrun

    async def put_parts(self, request: web.Request) -> web.StreamResponse:
        """Begin an upload, or go on with it: send URLs for the next objects, which the calling pod then uploads.

        Without an object store: 409, or for a pod that can send parts to the archive, no URLs.
        """
        namespace, name, file = self._target(request)
        if DIRECT_HEADER not in request.headers:
            self._require_bucket()
        middleware.check_parameters(request.query, ("first", "upload"))
        caller = await self._services.authenticate_pod(request, namespace)
        taskrun = await self._check_writer(caller, namespace, name, file)
        first = middleware.number(request.query, "first", 0, 2**31)
        place = await self._services.namespaces.of_object(namespace, taskrun.created)
        upload_id = _upload_id(request.query.get("upload") or file_objects.new_upload())
        upload = FileUpload.of_file(place, taskrun.uid, file, upload_id)
        await self._check_size(place, upload, first * file_objects.PART + 1)
        if "upload" in request.query:
            await object_bodies.touch(self._services.database, upload, self._services.clock.now())
            await self._require_bucket().settle(upload, [file_objects.PART] * first)
        else:
            await self._begin(upload, middleware.unwrap(content.parse_kind(request.headers)))
        signed = SignedParts(first=first, urls=(), headers={})
        if self._bucket is not None:
            signed = await self._bucket.sign("PUT", upload.staged, first, file_objects.BATCH)
        return web.json_response({"upload": upload.id, "part": file_objects.PART, **asdict(signed)})

    async def _begin(self, upload: FileUpload, body_format: BodyFormat) -> None:
        begin = object_bodies.begin if self._bucket is not None else object_bodies.begin_chunks
        await begin(self._services.database, upload, body_format, self._services.clock.now())

    async def put_part(self, request: web.Request) -> web.StreamResponse:
        """Store a part of a file in the database. A repeated part replaces it."""
        namespace, name, file = self._target(request)
        middleware.check_parameters(request.query, ("upload",))
        caller = await self._services.authenticate_pod(request, namespace)
        taskrun = await self._check_writer(caller, namespace, name, file)
        number = middleware.number(request.match_info, "number", 0, 2**31)
        place = await self._services.namespaces.of_object(namespace, taskrun.created)
        upload = FileUpload.of_file(place, taskrun.uid, file, _upload_id(request.query.get("upload", "")))
        await object_bodies.require_unfinished(self._services.database, upload)
        await self._check_size(place, upload, number * file_objects.PART + 1)
        body_format = middleware.unwrap(content.parse_kind(request.headers))
        check_body_length(request, _PART)
        writer = PartWriter(self._services.database, upload, number, self._services.clock.now())
        async with self._services.uploads.upload(RESULTS, place, body_format, _PART, writer) as session:
            last = await session.receive(request.content, AnyBytes())
            summary = session.summary()
            await self._check_writer(caller, namespace, name, file)  # another pod may have claimed it meanwhile
            await session.finish(last, summary, _refer_nothing)
        return web.json_response(asdict(summary), status=HTTPStatus.CREATED)

    async def finish_parts(self, request: web.Request) -> web.StreamResponse:
        """Make the parts of an upload the file of the TaskRun."""
        namespace, name, file = self._target(request)
        middleware.check_parameters(request.query, ("upload", "size", "digest"))
        caller = await self._services.authenticate_pod(request, namespace)
        taskrun = await self._check_writer(caller, namespace, name, file)
        upload_id, digest = _upload_id(request.query.get("upload", "")), request.query.get("digest", "")
        size = middleware.number(request.query, "size", 0, 2**62)
        if not _DIGEST.fullmatch(digest):
            raise RefusedError(invalid("digest is not a SHA-256 in hexadecimal"))
        place = await self._services.namespaces.of_object(namespace, taskrun.created)
        upload, summary = FileUpload.of_file(place, taskrun.uid, file, upload_id), BodySummary(size=size, digest=digest)
        if not await object_bodies.is_complete(self._services.database, upload):
            await self._check_size(place, upload, size)
            if self._bucket is not None:
                await self._bucket.settle(upload, file_objects.part_sizes(size), is_whole=True)
            await self._check_writer(caller, namespace, name, file)  # another pod may have claimed it meanwhile
            await self._finish(upload, summary, results.store(_row(place, taskrun, file, digest)))
            self._services.uploads.quota.add(RESULTS, place, size)
        return web.json_response(asdict(summary), status=HTTPStatus.CREATED)

    async def _finish(self, upload: FileUpload, summary: BodySummary, refer: Refer) -> None:
        database, now = self._services.database, self._services.clock.now()
        if self._bucket is not None:
            await object_bodies.finish(database, upload, summary, refer, now)
        else:
            await object_bodies.finish_chunks(database, upload, summary, refer)

    async def _check_size(self, place: NamespaceId, upload: FileUpload, size: int) -> None:
        """Raise RefusedError for a file above the limit (413), or above what the namespace has left (507)."""
        if size > chunks.FILE.size:
            raise RefusedError(chunks.body_too_large(chunks.FILE, size))
        remaining = await self._services.uploads.quota.remaining(RESULTS, place)
        if remaining is None:
            return
        unfinished = await object_bodies.unfinished_size(self._services.database, upload)
        if size > remaining - unfinished:
            raise RefusedError(self._services.uploads.quota.exceeded(RESULTS, place))

    def _require_bucket(self) -> FileBucket:
        if self._bucket is None:
            message = "files are not in an object store; upload the file to the archive"
            raise RefusedError(ErrorResponse(status=HTTPStatus.CONFLICT, reason="NoObjectStore", message=message))
        return self._bucket

    def _target(self, request: web.Request) -> tuple[str, str, str]:
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        return namespace, name, middleware.file_name(request)

    async def _send(self, request: web.Request, body: StoredBody) -> web.StreamResponse:
        """Send the body, or the URLs of its objects. Closes the connection if the database fails midway."""
        start = min(middleware.number(request.query, OFFSET, 0, 2**62), body.size)
        if body.objects is None:
            pieces = bodies.read_chunks(self._services.database, body, ByteRange(start=start, end=body.size))
        elif request.headers.get("Accept") == PARTS:
            first = start // file_objects.PART
            count = min(file_objects.BATCH, len(file_objects.part_sizes(body.size)) - first)
            signed = await self._require_bucket().sign("GET", body.objects, first, max(count, 0))
            answer = {"part": file_objects.PART, **asdict(signed)}
            return web.json_response(answer, content_type=PARTS)
        else:
            pieces = self._require_bucket().read(body.objects, body.size, start)
        response = web.StreamResponse(headers=body.format.headers() | {"ETag": f'"{body.digest}"'})
        response.content_length = body.size - start
        piece = await anext(pieces, b"")  # before the response starts, so that an error can still be sent
        return await self._services.downloads.send(request, response, piece, pieces)


def _row(place: NamespaceId, taskrun: TaskRunAccess, file: str, digest: str) -> dict[str, Any]:
    attempt, segment, launch = taskrun.launch
    row = {"namespace": place.name, "namespace_uid": place.uid, "workflow": taskrun.workflow, "digest": digest}
    order = {"attempt": attempt, "segment": segment, "launch": launch}
    return {**row, **order, "taskrun": names.file_owner(taskrun.uid, file)}


async def _refer_nothing(connection: AsyncConnection, body: str) -> bool:
    """Nothing refers to a body before its last part."""
    del connection, body
    return True


def _upload_id(text: str) -> str:
    if not _UPLOAD.fullmatch(text):
        raise RefusedError(invalid("upload is not the id of an upload"))
    return text
