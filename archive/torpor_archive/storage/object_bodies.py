"""Bodies of files that are uploaded in parts: begun before the upload, so that what is abandoned is deleted.

Their bytes are in the object store, or in chunks of the database. A part that fails is sent again, and not the file.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace

from sqlalchemy import ColumnElement, Select, case, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.storage import bodies
from torpor_archive.storage.bodies import BodySummary, Refer
from torpor_archive.storage.chunks import CHUNK, Chunk
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.database import Database
from torpor_archive.storage.file_objects import PART, FileUpload
from torpor_archive.storage.tables import BODIES, CHUNKS

_NO_UPLOAD = errors.not_found("there is no such upload; begin a new one")


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


async def begin_chunks(database: Database, upload: FileUpload, body_format: BodyFormat, now: float) -> None:
    """Note an upload to the database, and delete an earlier one of the same file that has not ended.

    While an upload is unfinished, the name of its body is the prefix that tells whose it is.
    """
    siblings = select(BODIES.c.id).where(_of_file(upload), BODIES.c.complete.is_(False), BODIES.c.id != upload.body)
    for body in await database.read(lambda connection: _list_ids(connection, siblings)):
        await bodies.delete_chunks(database, body)
    row = {"id": upload.body, "complete": False, "created": now, "type": body_format.type, "name": upload.staged}
    await database.write(lambda connection: connection.execute(bodies.insert(connection, BODIES, {**row, "size": 0})))


async def unfinished_size(database: Database, upload: FileUpload) -> int:
    """Return the bytes of unfinished uploads of other files of its namespace to the database."""
    of_others = BODIES.c.name.startswith(upload.of_namespace, autoescape=True) & ~_of_file(upload)
    total = select(func.sum(BODIES.c.size)).where(of_others, BODIES.c.complete.is_(False))
    return int(await database.read(lambda connection: connection.scalar(total)) or 0)


async def _list_ids(connection: AsyncConnection, query: Select[tuple[str]]) -> list[str]:
    return [str(row[0]) for row in await connection.execute(query)]


def _of_file(upload: FileUpload) -> ColumnElement[bool]:
    return BODIES.c.name.startswith(upload.staged.removesuffix(f"{upload.id}/"), autoescape=True)


class PartWriter:
    """Writes one part of an upload to the database. A repeated part replaces it."""

    def __init__(self, database: Database, upload: FileUpload, number: int, now: float) -> None:
        self.body = upload.body
        self._database = database
        self._number = number
        self._now = now

    async def add(self, chunk: Chunk) -> None:
        """Store a chunk. Raises RefusedError (503) if the database is unavailable."""
        await self._database.write(lambda connection: self._add(connection, chunk))

    async def finish(self, chunk: Chunk, summary: BodySummary, refer: Refer) -> bool:
        """Store the last chunk of the part, and keep the upload from being abandoned. `refer` is not used."""
        del refer
        end = self._number * PART + summary.size

        async def work(connection: AsyncConnection) -> bool:
            await self._add(connection, chunk)
            unfinished = update(BODIES).where(BODIES.c.id == self.body, BODIES.c.complete.is_(False))
            larger = case((BODIES.c.size < end, end), else_=BODIES.c.size)
            await connection.execute(unfinished.values(size=larger, created=self._now))
            return True

        return await self._database.write(work)

    async def abandon(self) -> None:
        """Leave the chunks of the part, which is sent again."""

    async def _add(self, connection: AsyncConnection, chunk: Chunk) -> None:
        begin = self._number * (PART // CHUNK)
        if await connection.scalar(_unfinished(self.body)) is None:
            raise RefusedError(_NO_UPLOAD)
        if chunk.seq == 0:
            former = (CHUNKS.c.body == self.body) & CHUNKS.c.seq.between(begin, begin + PART // CHUNK - 1)
            await connection.execute(delete(CHUNKS).where(former))
        moved = replace(chunk, seq=begin + chunk.seq, at=self._number * PART + chunk.at)
        await connection.execute(bodies.insert(connection, CHUNKS, bodies.chunk_row(self.body, moved)))


async def require_unfinished(database: Database, upload: FileUpload) -> None:
    """Raise RefusedError (404) if there is no such unfinished upload to the database."""
    if await database.read(lambda connection: connection.scalar(_unfinished(upload.body))) is None:
        raise RefusedError(_NO_UPLOAD)


async def finish_chunks(database: Database, upload: FileUpload, summary: BodySummary, refer: Refer) -> None:
    """Complete an upload to the database, and make a row refer to it. Raises RefusedError (400, 404, 403)."""
    of_body = CHUNKS.c.body == upload.body
    found = select(func.coalesce(func.sum(CHUNKS.c.size), 0), func.coalesce(func.max(CHUNKS.c.at + CHUNKS.c.size), 0))

    async def work(connection: AsyncConnection) -> None:
        if await connection.scalar(_unfinished(upload.body)) is None:
            raise RefusedError(_NO_UPLOAD)
        total, end = (await connection.execute(found.where(of_body))).one()
        if (total, end) != (summary.size, summary.size):  # no part overlaps another: each has a range of its own
            message = f"the archive has {total} of {summary.size} bytes, up to byte {end}: upload the missing parts"
            raise RefusedError(errors.invalid(message))
        values = {"complete": True, "size": summary.size, "digest": summary.digest, "name": None}
        await connection.execute(update(BODIES).where(BODIES.c.id == upload.body).values(**values))
        if not await refer(connection, upload.body):
            await bodies.drop(connection, upload.body)

    await database.write(work)


def _unfinished(body: str) -> Select[tuple[str]]:
    return select(BODIES.c.id).where(BODIES.c.id == body, BODIES.c.complete.is_(False), BODIES.c.name.is_not(None))


async def touch(database: Database, upload: FileUpload, now: float) -> None:
    """Keep an upload from being abandoned. Raises RefusedError (404) if there is none with this prefix."""
    await _of_upload(database, upload, lambda connection: _set_created(connection, (upload.id, upload.body), now))


async def is_complete(database: Database, upload: FileUpload) -> bool:
    """Whether the upload has ended: the response to the request that ended it was lost."""
    found = select(BODIES.c.complete).where(BODIES.c.id == upload.body)
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
        raise RefusedError(_NO_UPLOAD)


async def _set_created(connection: AsyncConnection, ids: Collection[str], now: float) -> None:
    unfinished = update(BODIES).where(BODIES.c.id.in_(list(ids)), BODIES.c.complete.is_(False))
    await connection.execute(unfinished.values(created=now))
