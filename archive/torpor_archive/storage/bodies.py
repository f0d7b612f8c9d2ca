"""Bodies in the database: written chunk by chunk, read from any byte or line.

A transaction may run twice, because a commit can succeed without a response. So this module generates the ids, and an
insert ignores rows that exist. `auth.policy` decides who may read.
"""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import Insert, Integer, LargeBinary, Table, cast, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.storage import chunks
from torpor_archive.storage.chunks import Chunk
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import BODIES, CHUNKS, LOG_GARBAGE

ABANDONED_SECONDS = 3600.0
"""Longer than any upload may take: an older unfinished body is abandoned."""
_BATCH = 32
"""Chunks that one transaction deletes: 16 MiB at most."""
_PAGE = 100

Refer: TypeAlias = Callable[[AsyncConnection, str], Awaitable[bool]]
"""Makes a row refer to a complete body, by its id. Returns False if no row needs the body, which is then deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodySummary:
    """The size and content of a complete body."""

    size: int
    digest: str
    length: int | None = None
    keys: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBody:
    """A complete body. `length` is set for bodies of lines."""

    body: str
    format: BodyFormat
    size: int
    digest: str
    length: int | None
    objects: str | None = None
    """The prefix of the objects that have the bytes, instead of chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    """The bytes from `start` (inclusive) to `end` (exclusive)."""

    start: int
    end: int


class BodyWriter:
    """Writes one body. Nothing refers to it before the last chunk."""

    def __init__(self, database: Database, body_format: BodyFormat, created: float) -> None:
        self.body = uuid.uuid4().hex
        self._database = database
        self._row = {
            "id": self.body,
            "complete": False,
            "created": created,
            "type": body_format.type,
            "name": body_format.name,
        }

    async def add(self, chunk: Chunk) -> None:
        """Store a chunk. Raises RefusedError (503) if the database is unavailable."""
        await self._database.write(lambda connection: self._add(connection, chunk))

    async def finish(self, chunk: Chunk, summary: BodySummary, refer: Refer) -> bool:
        """Store the last chunk, and make a row refer to the body. Returns False if no row needs it."""
        return await self._database.write(lambda connection: self._finish(connection, chunk, summary, refer))

    async def abandon(self) -> None:
        """Delete what was stored so far."""
        await self._database.write(lambda connection: drop(connection, self.body))

    async def _add(self, connection: AsyncConnection, chunk: Chunk) -> None:
        if chunk.seq == 0:
            await connection.execute(insert(connection, BODIES, self._row))
        await connection.execute(insert(connection, CHUNKS, chunk_row(self.body, chunk)))

    async def _finish(self, connection: AsyncConnection, chunk: Chunk, summary: BodySummary, refer: Refer) -> bool:
        await self._add(connection, chunk)
        await connection.execute(
            update(BODIES)
            .where(BODIES.c.id == self.body)
            .values(
                complete=True,
                size=summary.size,
                digest=summary.digest,
                length=summary.length,
                keys=summary.keys,
            )
        )
        needed = await refer(connection, self.body)
        if not needed:
            await drop(connection, self.body)
        return needed


async def read_chunks(database: Database, stored: StoredBody, span: ByteRange) -> AsyncIterator[bytes]:
    """Yield the bytes of a range chunk by chunk, each in its own transaction."""
    at = span.start
    while at < span.end:
        data = await database.read(lambda connection, at=at: _read_chunk(connection, stored.body, at, span.end))  # type: ignore[misc]
        if not data:
            raise RefusedError(errors.not_found("the body was deleted during the download"))
        yield data
        at += len(data)


async def find_items(database: Database, stored: StoredBody, item: int, count: int) -> ByteRange:
    """Return the range of up to `count` items from `item`. Raises RefusedError (416, 400)."""
    if stored.length is None:
        raise RefusedError(errors.invalid(f"a {stored.format.type} has no items; read it without ?item"))
    if item >= stored.length:
        raise RefusedError(errors.out_of_range(f"item {item} does not exist: the result has {stored.length} items"))
    end = stored.size
    if item + count < stored.length:
        end = await database.read(lambda connection: _find_line(connection, stored.body, item + count))
    return ByteRange(start=await database.read(lambda connection: _find_line(connection, stored.body, item)), end=end)


async def delete_unfinished(database: Database, now: float) -> int:
    """Delete abandoned bodies, a bounded number of chunks in each transaction, and return the number of bodies."""
    count = 0
    while unfinished := await database.read(lambda connection: _list_unfinished(connection, now - ABANDONED_SECONDS)):
        for body in unfinished:
            await delete_chunks(database, body)
            count += 1
    return count


async def delete_chunks(database: Database, body: str) -> None:
    """Delete an unfinished body, a bounded number of chunks in each transaction."""
    while await database.write(lambda connection: _drop_some(connection, body)):
        pass


async def release(connection: AsyncConnection, body: str) -> None:
    """Leave a body that no row refers to any more to `delete_unfinished`: it may be too large for one transaction."""
    await connection.execute(update(BODIES).where(BODIES.c.id == body).values(complete=False, created=0.0))


async def drop(connection: AsyncConnection, body: str) -> None:
    """Delete a body in this transaction."""
    await connection.execute(delete(CHUNKS).where(CHUNKS.c.body == body))
    await _delete_row(connection, body)


async def _delete_row(connection: AsyncConnection, body: str) -> None:
    """Delete the row of a body, and note the prefix of its objects for deletion."""
    objects = await connection.scalar(select(BODIES.c.objects).where(BODIES.c.id == body))
    if objects:
        await connection.execute(insert(connection, LOG_GARBAGE, {"object": objects}))
    await connection.execute(delete(BODIES).where(BODIES.c.id == body))


def parse_row(row: Any) -> StoredBody:
    """A body from its row in `bodies`."""
    return StoredBody(
        body=row["id"],
        format=BodyFormat(type=row["type"], name=row["name"]),
        size=row["size"],
        digest=row["digest"],
        length=row["length"],
        objects=row["objects"],
    )


def chunk_row(body: str, chunk: Chunk) -> dict[str, Any]:
    """The row of a chunk of a body."""
    return {
        "body": body,
        "seq": chunk.seq,
        "at": chunk.at,
        "size": len(chunk.data),
        "first": chunk.first,
        "lines": len(chunk.starts),
        "starts": chunks.pack_offsets(chunk.starts),
        "data": chunk.data,
    }


async def _read_chunk(connection: AsyncConnection, body: str, at: int, end: int) -> bytes:
    """Return the bytes from `at` to the end of its chunk, or to `end`."""
    holds = (CHUNKS.c.body == body) & (CHUNKS.c.at <= at) & (CHUNKS.c.at + CHUNKS.c.size > at)
    first = cast(at - CHUNKS.c.at + 1, Integer)  # PostgreSQL's substr requires int4
    wanted = func.substr(CHUNKS.c.data, first, cast(end - at, Integer), type_=LargeBinary)
    return bytes(await connection.scalar(select(wanted).where(holds)) or b"")


async def _find_line(connection: AsyncConnection, body: str, line: int) -> int:
    holds = (CHUNKS.c.body == body) & (CHUNKS.c.first <= line) & (CHUNKS.c.first + CHUNKS.c.lines > line)
    row = (await connection.execute(select(CHUNKS.c.at, CHUNKS.c.first, CHUNKS.c.starts).where(holds))).first()
    if row is None:
        raise RefusedError(errors.not_found("the body was deleted during the download"))
    return int(row.at) + chunks.unpack_offset(row.starts, line - row.first)


async def _list_unfinished(connection: AsyncConnection, before: float) -> list[str]:
    abandoned = select(BODIES.c.id).where(BODIES.c.complete.is_(False), BODIES.c.created < before)
    return list((await connection.execute(abandoned.order_by(BODIES.c.created).limit(_PAGE))).scalars())


async def _drop_some(connection: AsyncConnection, body: str) -> bool:
    """Delete some chunks of a body, and the body after its last chunk. Returns whether there may be more."""
    some = select(CHUNKS.c.seq).where(CHUNKS.c.body == body).order_by(CHUNKS.c.seq).limit(_BATCH)
    deleted = await connection.execute(delete(CHUNKS).where(CHUNKS.c.body == body, CHUNKS.c.seq.in_(some)))
    if deleted.rowcount < _BATCH:
        await _delete_row(connection, body)
    return deleted.rowcount == _BATCH


def insert(connection: AsyncConnection, table: Table, rows: dict[str, Any] | list[dict[str, Any]]) -> Insert:
    """Build an insert of a row, or of several, that ignores existing rows."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table).values(rows).on_conflict_do_nothing()
    return sqlite.insert(table).values(rows).on_conflict_do_nothing()
