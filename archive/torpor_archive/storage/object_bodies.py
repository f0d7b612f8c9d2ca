"""Rows of bodies whose bytes are in the object store: begun before the upload, so that what is abandoned is deleted."""

from collections.abc import Awaitable, Callable, Collection

from sqlalchemy import or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.storage import bodies
from torpor_archive.storage.bodies import BodySummary, Refer
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.database import Database
from torpor_archive.storage.file_objects import FileUpload
from torpor_archive.storage.tables import BODIES


async def begin(database: Database, upload: FileUpload, body_format: BodyFormat, now: float) -> None:
    """Note an upload and its file. Earlier uploads of the same file that have not ended are abandoned."""
    names = {upload.id: upload.staged, upload.body: upload.prefix}
    siblings = (prefix.removesuffix(f"{upload.id}/") for prefix in names.values())
    former = or_(*(BODIES.c.objects.startswith(prefix, autoescape=True) for prefix in siblings))
    abandoned = update(BODIES).where(former, BODIES.c.complete.is_(False), BODIES.c.id.not_in(list(names)))
    row = {"complete": False, "created": now, "type": body_format.type}
    rows = [{**row, "id": name, "objects": prefix} for name, prefix in names.items()]

    async def work(connection: AsyncConnection) -> None:
        await connection.execute(abandoned.values(created=0.0))
        await connection.execute(bodies.insert(connection, BODIES, rows))

    await database.write(work)


async def touch(database: Database, upload: FileUpload, now: float) -> None:
    """Keep an upload from being abandoned. Raises RefusedError (404) if there is none with this prefix."""
    await _of_upload(database, upload, lambda connection: _set_created(connection, (upload.id, upload.body), now))


async def is_complete(database: Database, upload: FileUpload) -> bool:
    """Whether the upload has ended: the response to the request that ended it was lost."""
    found = select(BODIES.c.complete).where(BODIES.c.id == upload.body, BODIES.c.objects == upload.prefix)
    return bool(await database.read(lambda connection: connection.scalar(found)))


async def finish(database: Database, upload: FileUpload, summary: BodySummary, refer: Refer, now: float) -> None:
    """Complete the file, and make a row refer to it. Raises RefusedError (404, 403).

    The objects of the upload are deleted as those of an abandoned one: after the end of its URLs.
    """

    async def work(connection: AsyncConnection) -> None:
        values = {"complete": True, "size": summary.size, "digest": summary.digest}
        await connection.execute(update(BODIES).where(BODIES.c.id == upload.body).values(**values))
        await _set_created(connection, (upload.id,), now)
        if not await refer(connection, upload.body):
            await bodies.drop(connection, upload.body)

    await _of_upload(database, upload, work)


async def _of_upload(
    database: Database, upload: FileUpload, work: Callable[[AsyncConnection], Awaitable[None]]
) -> None:
    async def checked(connection: AsyncConnection) -> bool:
        same = select(BODIES.c.id).where(BODIES.c.id == upload.id, BODIES.c.objects == upload.staged)
        if await connection.scalar(same) is None:
            return False
        await work(connection)
        return True

    if not await database.write(checked):
        raise RefusedError(errors.not_found("there is no such upload; begin a new one"))


async def _set_created(connection: AsyncConnection, ids: Collection[str], now: float) -> None:
    unfinished = update(BODIES).where(BODIES.c.id.in_(list(ids)), BODIES.c.complete.is_(False))
    await connection.execute(unfinished.values(created=now))
