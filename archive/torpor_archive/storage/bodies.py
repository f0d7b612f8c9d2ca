"""Bodies in the database: written chunk by chunk, read from any byte or line.

A transaction may run twice, because a commit can succeed without a response. So this module generates the ids, and an
insert ignores rows that exist. `auth.policy` decides who may read.
"""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Insert, Integer, LargeBinary, Table, cast, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.storage import chunks
from torpor_archive.storage.chunks import Chunk
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import BODIES, CHUNKS, RESULTS, RUNS

ABANDONED_SECONDS = 3600.0
"""Longer than any upload may take: an older unfinished body is abandoned."""


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

    async def finish(self, chunk: Chunk, summary: BodySummary, table: Table, row: dict[str, Any]) -> bool:
        """Store the last chunk, and add a row of `table` that refers to the body. Returns False if the row existed."""
        return await self._database.write(lambda connection: self._finish(connection, chunk, summary, table, row))

    async def abandon(self) -> None:
        """Delete what was stored so far."""
        await self._database.write(lambda connection: _drop(connection, self.body))

    async def _add(self, connection: AsyncConnection, chunk: Chunk) -> None:
        if chunk.seq == 0:
            await connection.execute(_insert(connection, BODIES, self._row))
        await connection.execute(_insert(connection, CHUNKS, _chunk_row(self.body, chunk)))

    async def _finish(
        self, connection: AsyncConnection, chunk: Chunk, summary: BodySummary, table: Table, row: dict[str, Any]
    ) -> bool:
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
        if table is RESULTS:
            await _supersede(connection, row)
        await connection.execute(_insert(connection, table, row | {"body": self.body}))
        same_key = [column == row[column.name] for column in table.primary_key]
        winner = await connection.scalar(select(table.c.body).where(*same_key))
        if winner != self.body:
            await _drop(connection, self.body)
        return winner == self.body


async def _supersede(connection: AsyncConnection, row: dict[str, Any]) -> None:
    """Delete the TaskRun's earlier results. Raises RefusedError (403) if a later launch has stored one."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
        lock = func.pg_advisory_xact_lock(func.hashtextextended(row["taskrun"], 0))
        await connection.execute(select(lock))
    same_key = (RESULTS.c.namespace == row["namespace"]) & (RESULTS.c.taskrun == row["taskrun"])
    order = ("attempt", "segment", "launch")
    for found in (await connection.execute(select(RESULTS).where(same_key))).mappings().all():
        if tuple(found[name] for name in order) > tuple(row[name] for name in order):
            message = f"attempt {found['attempt']} of the TaskRun has stored its result; this launch is earlier"
            raise RefusedError(errors.forbidden(message))
        same = same_key & (RESULTS.c.digest == found["digest"])
        if found["digest"] == row["digest"]:
            await connection.execute(update(RESULTS).where(same).values({name: row[name] for name in order}))
        else:
            await connection.execute(delete(RESULTS).where(same))
            await _drop(connection, found["body"])


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
    """Delete abandoned bodies and return their number."""

    async def work(connection: AsyncConnection) -> int:
        old = BODIES.c.created < now - ABANDONED_SECONDS
        found = await connection.execute(delete(BODIES).where(BODIES.c.complete.is_(False), old))
        return int(found.rowcount)

    return await database.write(work)


async def list_workflows(database: Database, before: float) -> frozenset[tuple[str, str]]:
    """Return the namespace and uid of each Workflow with a result stored before a time (seconds since the epoch)."""

    async def work(connection: AsyncConnection) -> frozenset[tuple[str, str]]:
        joined = select(RESULTS.c.namespace, RESULTS.c.workflow).join(BODIES, RESULTS.c.body == BODIES.c.id)
        rows = await connection.execute(joined.where(BODIES.c.created < before).distinct())
        return frozenset((row.namespace, row.workflow) for row in rows)

    return await database.read(work)


async def delete_results(database: Database, namespace: str, workflow: str) -> int:
    """Delete the results of a Workflow, each in its own transaction, and return their number."""

    async def work(connection: AsyncConnection) -> bool:
        of_run = (RESULTS.c.namespace == namespace) & (RESULTS.c.workflow == workflow)
        body = await connection.scalar(select(RESULTS.c.body).where(of_run).limit(1))
        if body is not None:
            await connection.execute(delete(RESULTS).where(RESULTS.c.body == body))
            await _drop(connection, body)
        return body is not None

    count = 0
    while await database.write(work):
        count += 1
    return count


async def find_result(database: Database, namespace: str, taskrun: str, digest: str) -> tuple[StoredBody, str] | None:
    """Return a result and the uid of its Workflow."""

    async def work(connection: AsyncConnection) -> tuple[StoredBody, str] | None:
        named = (RESULTS.c.namespace == namespace) & (RESULTS.c.taskrun == taskrun) & (RESULTS.c.digest == digest)
        joined = select(BODIES, RESULTS.c.workflow).join(RESULTS, RESULTS.c.body == BODIES.c.id)
        row = (await connection.execute(joined.where(named))).mappings().first()
        return None if row is None else (_stored(row), row["workflow"])

    return await database.read(work)


async def find_run(database: Database, namespace: str, uid: str) -> StoredBody | None:
    """Return the body of a finished run."""

    async def work(connection: AsyncConnection) -> StoredBody | None:
        joined = select(BODIES).join(RUNS, RUNS.c.body == BODIES.c.id)
        row = (await connection.execute(joined.where(RUNS.c.namespace == namespace, RUNS.c.uid == uid))).mappings()
        found = row.first()
        return None if found is None else _stored(found)

    return await database.read(work)


def _stored(row: Any) -> StoredBody:
    return StoredBody(
        body=row["id"],
        format=BodyFormat(type=row["type"], name=row["name"]),
        size=row["size"],
        digest=row["digest"],
        length=row["length"],
    )


def _chunk_row(body: str, chunk: Chunk) -> dict[str, Any]:
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


async def _drop(connection: AsyncConnection, body: str) -> None:
    await connection.execute(delete(CHUNKS).where(CHUNKS.c.body == body))
    await connection.execute(delete(BODIES).where(BODIES.c.id == body))


def _insert(connection: AsyncConnection, table: Table, row: dict[str, Any]) -> Insert:
    """Build an insert that ignores an existing row."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table).values(row).on_conflict_do_nothing()
    return sqlite.insert(table).values(row).on_conflict_do_nothing()
