"""Stores results: the end of each upload, and a result that the archive makes from bodies that it has."""

from dataclasses import asdict
from http import HTTPStatus

from aiohttp import web

from torpor_archive.auth.policy import TaskRunAccess
from torpor_archive.http.services import ArchiveServices
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage import chunks, results, validation
from torpor_archive.storage.bodies import BodySummary
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.tables import RESULTS
from torpor_archive.storage.upload import BodyStream, UploadSession


async def store_derived(
    services: ArchiveServices, place: NamespaceId, taskrun: TaskRunAccess, body_format: BodyFormat, source: BodyStream
) -> web.Response:
    """Store the body as the result of the TaskRun, and return its description. Raises RefusedError."""
    validator, entries = validation.validator_for(body_format)
    async with services.uploads.upload(RESULTS, place, body_format, chunks.RESULT) as session:
        last = await session.receive(source, validator)
        summary = session.summary(entries.keys if entries else None)
        await finish(session, place, taskrun, last, summary)
    return described(summary, body_format)


async def finish(
    session: UploadSession, place: NamespaceId, taskrun: TaskRunAccess, last: chunks.Chunk, summary: BodySummary
) -> None:
    """Store what was received as the result of the present launch of the TaskRun."""
    attempt, segment, launch = taskrun.launch
    row = {"namespace": place.name, "namespace_uid": place.uid}
    row |= {"taskrun": taskrun.uid, "workflow": taskrun.workflow}
    order = {"attempt": attempt, "segment": segment, "launch": launch}
    await session.finish(last, summary, results.store({**row, **order, "digest": summary.digest}))


def described(summary: BodySummary, body_format: BodyFormat) -> web.Response:
    """The answer to an upload: what was stored."""
    answer = asdict(summary) | {"type": body_format.type, "name": body_format.name}
    return web.json_response(answer, status=HTTPStatus.CREATED)
