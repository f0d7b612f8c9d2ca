"""Rows of bodies whose bytes are in the object store: begun before the upload, so that what is abandoned is deleted."""

from collections.abc import Awaitable, Callable

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.storage import bodies
from torpor_archive.storage.bodies import BodySummary, Refer
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import BODIES


async def begin(database: Database, upload: str, prefix: str, body_format: BodyFormat, now: float) -> None:
    """Note an upload below a prefix. Earlier uploads of the same file that have not ended are abandoned."""
    siblings = prefix.removesuffix(f"{upload}/")
    former = (BODIES.c.objects.startswith(siblings, autoescape=True)) & BODIES.c.complete.is_(False)
    row = {"id": upload, "complete": False, "created": now, "type": body_format.type, "objects": prefix}

    async def work(connection: AsyncConnection) -> None:
        await connection.execute(update(BODIES).where(former, BODIES.c.id != upload).values(created=0.0))
        await connection.execute(bodies.insert(connection, BODIES, row))

    await database.write(work)


async def touch(database: Database, upload: str, prefix: str, now: float) -> None:
    """Keep an upload from being abandoned. Raises RefusedError (404) if there is none with this prefix."""
    await _of_upload(database, upload, prefix, lambda connection: _set_created(connection, upload, now))


async def finish(database: Database, upload: str, prefix: str, summary: BodySummary, refer: Refer) -> None:
    """Complete an upload, and make a row refer to it. A repeated request succeeds. Raises RefusedError (404, 403)."""

    async def work(connection: AsyncConnection) -> None:
        values = {"complete": True, "size": summary.size, "digest": summary.digest}
        await connection.execute(update(BODIES).where(BODIES.c.id == upload).values(**values))
        if not await refer(connection, upload):
            await bodies.drop(connection, upload)

    await _of_upload(database, upload, prefix, work)


async def _of_upload(
    database: Database, upload: str, prefix: str, work: Callable[[AsyncConnection], Awaitable[None]]
) -> None:
    async def checked(connection: AsyncConnection) -> bool:
        same = select(BODIES.c.id).where(BODIES.c.id == upload, BODIES.c.objects == prefix)
        if await connection.scalar(same) is None:
            return False
        await work(connection)
        return True

    if not await database.write(checked):
        raise RefusedError(errors.not_found("there is no such upload; begin a new one"))


async def _set_created(connection: AsyncConnection, upload: str, now: float) -> None:
    unfinished = update(BODIES).where(BODIES.c.id == upload, BODIES.c.complete.is_(False))
    await connection.execute(unfinished.values(created=now))
