"""Bodies in the database: put chunk by chunk, described when all is there, read from any byte or line on.

Each transaction may be carried out twice, since the database may have done what it did not say it had: ids are made
here, and what is there already is left alone. Who may read is decided elsewhere.
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
from torpor_archive.storage import chunks as framing
from torpor_archive.storage.chunks import Chunk
from torpor_archive.storage.content import Kind
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import BODIES, CHUNKS, RESULTS, RUNS

ABANDONED_SECONDS = 3600.0
"""An upload is over within less, so a body that is unfinished for longer never will be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a body turned out to be."""

    size: int
    digest: str
    length: int | None = None
    keys: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A whole body; `length` is of one with lines."""

    body: str
    kind: Kind
    size: int
    digest: str
    length: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The bytes from `start` up to `end`."""

    start: int
    end: int


class Upload:
    """A body that comes in. Nothing refers to it until its last chunk is there."""

    def __init__(self, database: Database, kind: Kind, created: float) -> None:
        self.body = uuid.uuid4().hex
        self._database = database
        self._row = {
            "id": self.body,
            "complete": False,
            "created": created,
            "type": kind.type,
            "name": kind.name,
        }

    async def add(self, chunk: Chunk) -> None:
        """Keep a chunk. Raises RefusedError (503) where the database does not answer."""
        await self._database.write(lambda connection: self._add(connection, chunk))

    async def finish(self, chunk: Chunk, described: Described, table: Table, row: dict[str, Any]) -> bool:
        """Keep the last chunk, and let a row of `table` refer to the body; false where such a row was there before."""
        return await self._database.write(lambda connection: self._finish(connection, chunk, described, table, row))

    async def abandon(self) -> None:
        """Forget what came so far."""
        await self._database.write(lambda connection: _drop(connection, self.body))

    async def _add(self, connection: AsyncConnection, chunk: Chunk) -> None:
        if chunk.seq == 0:
            await connection.execute(_insert(connection, BODIES, self._row))
        await connection.execute(_insert(connection, CHUNKS, _chunk_row(self.body, chunk)))

    async def _finish(
        self, connection: AsyncConnection, chunk: Chunk, described: Described, table: Table, row: dict[str, Any]
    ) -> bool:
        await self._add(connection, chunk)
        await connection.execute(
            update(BODIES)
            .where(BODIES.c.id == self.body)
            .values(
                complete=True,
                size=described.size,
                digest=described.digest,
                length=described.length,
                keys=described.keys,
            )
        )
        if table is RESULTS:
            await _supersede(connection, row)
        await connection.execute(_insert(connection, table, row | {"body": self.body}))
        mine = [column == row[column.name] for column in table.primary_key]
        stands = await connection.scalar(select(table.c.body).where(*mine))
        if stands != self.body:
            await _drop(connection, self.body)
        return stands == self.body


async def _supersede(connection: AsyncConnection, row: dict[str, Any]) -> None:
    """Delete what the TaskRun put before. Raises RefusedError (403) where a later launch of it has put a result."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
        lock = func.pg_advisory_xact_lock(func.hashtextextended(row["taskrun"], 0))
        await connection.execute(select(lock))
    mine = (RESULTS.c.namespace == row["namespace"]) & (RESULTS.c.taskrun == row["taskrun"])
    order = ("attempt", "segment", "launch")
    for found in (await connection.execute(select(RESULTS).where(mine))).mappings().all():
        if tuple(found[name] for name in order) > tuple(row[name] for name in order):
            said = f"attempt {found['attempt']} of the TaskRun has put its result; this one is of an earlier launch"
            raise RefusedError(errors.forbidden(said))
        same = mine & (RESULTS.c.digest == found["digest"])
        if found["digest"] == row["digest"]:
            await connection.execute(update(RESULTS).where(same).values({name: row[name] for name in order}))
        else:
            await connection.execute(delete(RESULTS).where(same))
            await _drop(connection, found["body"])


async def chunks(database: Database, stored: Stored, span: Span) -> AsyncIterator[bytes]:
    """The bytes of a span, a chunk at a time, each by a transaction of its own."""
    at = span.start
    while at < span.end:
        data = await database.read(lambda connection, at=at: _piece(connection, stored.body, at, span.end))  # type: ignore[misc]
        if not data:
            raise RefusedError(errors.not_found("the body was deleted while it was read"))
        yield data
        at += len(data)


async def span(database: Database, stored: Stored, item: int, count: int) -> Span:
    """Where `count` items from `item` on are; what is beyond the last is left out. Raises RefusedError (416, 400)."""
    if stored.length is None:
        raise RefusedError(errors.invalid(f"a {stored.kind.type} has no items: read it without ?item"))
    if item >= stored.length:
        raise RefusedError(errors.out_of_range(f"there is no item {item}: the result has {stored.length}"))
    end = stored.size
    if item + count < stored.length:
        end = await database.read(lambda connection: _start_of(connection, stored.body, item + count))
    return Span(start=await database.read(lambda connection: _start_of(connection, stored.body, item)), end=end)


async def sweep(database: Database, now: float) -> int:
    """Delete bodies that were never finished; gives how many."""

    async def work(connection: AsyncConnection) -> int:
        old = BODIES.c.created < now - ABANDONED_SECONDS
        found = await connection.execute(delete(BODIES).where(BODIES.c.complete.is_(False), old))
        return int(found.rowcount)

    return await database.write(work)


async def owners(database: Database, before: float) -> frozenset[tuple[str, str]]:
    """Namespace and uid of every run of which there is a result that came before a moment."""

    async def work(connection: AsyncConnection) -> frozenset[tuple[str, str]]:
        joined = select(RESULTS.c.namespace, RESULTS.c.workflow).join(BODIES, RESULTS.c.body == BODIES.c.id)
        rows = await connection.execute(joined.where(BODIES.c.created < before).distinct())
        return frozenset((row.namespace, row.workflow) for row in rows)

    return await database.read(work)


async def delete_results(database: Database, namespace: str, workflow: str) -> int:
    """Delete the results of a run, one in each transaction; gives how many there were."""

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


async def result(database: Database, namespace: str, taskrun: str, digest: str) -> tuple[Stored, str] | None:
    """A result, and the uid of the run it is of."""

    async def work(connection: AsyncConnection) -> tuple[Stored, str] | None:
        named = (RESULTS.c.namespace == namespace) & (RESULTS.c.taskrun == taskrun) & (RESULTS.c.digest == digest)
        joined = select(BODIES, RESULTS.c.workflow).join(RESULTS, RESULTS.c.body == BODIES.c.id)
        row = (await connection.execute(joined.where(named))).mappings().first()
        return None if row is None else (_stored(row), row["workflow"])

    return await database.read(work)


async def run_body(database: Database, namespace: str, uid: str) -> Stored | None:
    """The body of a finished run."""

    async def work(connection: AsyncConnection) -> Stored | None:
        joined = select(BODIES).join(RUNS, RUNS.c.body == BODIES.c.id)
        row = (await connection.execute(joined.where(RUNS.c.namespace == namespace, RUNS.c.uid == uid))).mappings()
        found = row.first()
        return None if found is None else _stored(found)

    return await database.read(work)


def _stored(row: Any) -> Stored:
    return Stored(
        body=row["id"],
        kind=Kind(type=row["type"], name=row["name"]),
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
        "starts": framing.packed(chunk.starts),
        "data": chunk.data,
    }


async def _piece(connection: AsyncConnection, body: str, at: int, end: int) -> bytes:
    """What the chunk around `at` has from there on, up to `end`."""
    holds = (CHUNKS.c.body == body) & (CHUNKS.c.at <= at) & (CHUNKS.c.at + CHUNKS.c.size > at)
    first = cast(at - CHUNKS.c.at + 1, Integer)  # PostgreSQL's substr takes no others
    wanted = func.substr(CHUNKS.c.data, first, cast(end - at, Integer), type_=LargeBinary)
    return bytes(await connection.scalar(select(wanted).where(holds)) or b"")


async def _start_of(connection: AsyncConnection, body: str, line: int) -> int:
    holds = (CHUNKS.c.body == body) & (CHUNKS.c.first <= line) & (CHUNKS.c.first + CHUNKS.c.lines > line)
    row = (await connection.execute(select(CHUNKS.c.at, CHUNKS.c.first, CHUNKS.c.starts).where(holds))).first()
    if row is None:
        raise RefusedError(errors.not_found("the body was deleted while it was read"))
    return int(row.at) + framing.start(row.starts, line - row.first)


async def _drop(connection: AsyncConnection, body: str) -> None:
    await connection.execute(delete(CHUNKS).where(CHUNKS.c.body == body))
    await connection.execute(delete(BODIES).where(BODIES.c.id == body))


def _insert(connection: AsyncConnection, table: Table, row: dict[str, Any]) -> Insert:
    """Nothing happens where it is there."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table).values(row).on_conflict_do_nothing()
    return sqlite.insert(table).values(row).on_conflict_do_nothing()
