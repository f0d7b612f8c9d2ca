"""Stores a result that the archive makes from bodies that it has. It is like one that a pod uploads."""

from dataclasses import asdict
from http import HTTPStatus

from aiohttp import web

from torpor_archive.auth.policy import TaskRunAccess
from torpor_archive.http.services import ArchiveServices
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage import chunks, results, validation
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.tables import RESULTS
from torpor_archive.storage.upload import BodyStream


async def store_derived(
    services: ArchiveServices, place: NamespaceId, taskrun: TaskRunAccess, body_format: BodyFormat, source: BodyStream
) -> web.Response:
    """Store the body as the result of the TaskRun, and return its description. Raises RefusedError."""
    validator, entries = validation.validator_for(body_format)
    async with services.uploads.upload(RESULTS, place, body_format, chunks.RESULT) as session:
        last = await session.receive(source, validator)
        summary = session.summary(entries.keys if entries else None)
        attempt, segment, launch = taskrun.launch
        row = {"namespace": place.name, "namespace_uid": place.uid}
        row |= {"taskrun": taskrun.uid, "workflow": taskrun.workflow}
        order = {"attempt": attempt, "segment": segment, "launch": launch}
        await session.finish(last, summary, results.store({**row, **order, "digest": summary.digest}))
    answer = asdict(summary) | {"type": body_format.type, "name": body_format.name}
    return web.json_response(answer, status=HTTPStatus.CREATED)
