"""Logs in the database: claimed, stored, listed, read and deleted.

A transaction may run twice, because a commit can succeed without a response, so each write is idempotent.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Select, and_, delete, exists, func, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection
from torpor_wire.enums import LogKind
from torpor_wire.names import label

from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage import bodies
from torpor_archive.storage.database import Database
from torpor_archive.storage.log_entry import MAIN, LogOrigin, LogOutcome, LogState
from torpor_archive.storage.log_text import StoredText, decompress
from torpor_archive.storage.tables import LOG_CHUNKS, LOG_GARBAGE, LOGS, RUNS

Row: TypeAlias = Mapping[str, Any]
CLAIM_SECONDS = 60.0
"""A replica renews its claims; afterwards another takes over."""
NODE_LOST = "NodeLost"
"""The reason of a log that was lost with its node. It is read again if the node comes back."""
_ID_BATCH = 500
_DELETE_BATCH = 50
"""Logs that one transaction deletes; each has up to 1 MB of text."""
_PENDING, _LOST = LogState.PENDING.value, LogState.LOST.value
_SETTLED = and_(LOGS.c.state != _PENDING, or_(LOGS.c.state != _LOST, LOGS.c.reason != NODE_LOST))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """A replica that claims logs at a time (seconds since the epoch)."""

    name: str
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilters:
    """Which logs of a run to list, of one container; None means all.

    `after`: the last entry of the previous page, by start and id.
    """

    task: str | None = None
    attempt: int | None = None
    segment: int | None = None
    failed: bool = False
    container: str = MAIN
    limit: int = 1000
    after: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedLog:
    """A log that was read, or could not be.

    `object_name` is set if its text is in the object store, with `object_size` compressed bytes.
    """

    source: LogOrigin
    outcome: LogOutcome
    text: StoredText = field(default_factory=StoredText)
    object_name: str = ""
    object_size: int = 0

    @property
    def stored(self) -> int:
        """Compressed bytes, in the database and in the object store."""
        return self.object_size + self.text.stored


async def claim(database: Database, sources: Sequence[LogOrigin], by: Claimant) -> frozenset[str]:
    """Claim logs for a replica, and return the ids of those that it may read now.

    It may not read a log that another replica is reading, or that is settled; one that was lost with its node is read
    again.
    """
    return await database.write(lambda connection: _claim(connection, sources, by))


async def finish(database: Database, finished: Sequence[FinishedLog], now: float) -> None:
    """Store outcomes and texts of logs, whether they were claimed or not. A kept log is not replaced."""

    async def work(connection: AsyncConnection) -> None:
        for each in finished:
            await _finish(connection, each, now)

    await database.write(work)


async def renew(database: Database, by: Claimant) -> None:
    """Renew the claims of a replica."""
    mine = update(LOGS).where(LOGS.c.state == _PENDING, LOGS.c.owner == by.name)
    renewed = mine.values(expires=by.now + CLAIM_SECONDS)
    await database.write(lambda connection: connection.execute(renewed))


async def release(database: Database, log: str, object_name: str = "") -> None:
    """Delete the claim of a log that is not to be kept, and later its object."""

    async def work(connection: AsyncConnection) -> None:
        await connection.execute(delete(LOGS).where(LOGS.c.id == log, LOGS.c.state == _PENDING))
        if object_name:
            await connection.execute(bodies.insert(connection, LOG_GARBAGE, [{"object": object_name}]))

    await database.write(work)


async def known(database: Database, ids: Collection[str]) -> frozenset[str]:
    """Return those that need not be read."""
    return await _select_ids(database, ids, _SETTLED)


async def settled(database: Database, namespace: str, ids: Collection[str]) -> frozenset[str]:
    """Return the settled ones of a namespace: the operator may delete their pods."""
    return await _select_ids(database, ids, and_(_SETTLED, LOGS.c.namespace == namespace))


async def expired(database: Database, now: float, limit: int) -> list[Row]:
    """Return logs whose replica did not finish reading them in time."""
    query = select(LOGS).where(LOGS.c.state == _PENDING, LOGS.c.expires < now).limit(limit)
    return await _rows(database, query)


async def list_run(database: Database, namespace: NamespaceId, workflow: str, filters: LogFilters) -> list[Row]:
    """Return the entries of a run, by the time at which they started."""
    of_container = LOGS.c.container == filters.container
    query = select(LOGS).where(_in(namespace), LOGS.c.workflow == workflow, of_container)
    if filters.task is not None:
        query = query.where(LOGS.c.task.in_({filters.task, label(filters.task)}))
    if filters.attempt is not None:
        query = query.where(LOGS.c.attempt == filters.attempt)
    if filters.segment is not None:
        query = query.where(LOGS.c.segment == filters.segment)
    if filters.failed:
        query = query.where(LOGS.c.failed)
    if filters.after is not None:
        query = query.where(tuple_(LOGS.c.started, LOGS.c.id) > tuple_(*filters.after))
    return await _rows(database, query.order_by(LOGS.c.started, LOGS.c.id).limit(filters.limit))


def to_source(row: Row) -> LogOrigin:
    """Return the source that a row was stored with."""
    path = tuple(map(int, row["path"].split("."))) if row["path"] else ()
    names = (each.name for each in fields(LogOrigin))
    return LogOrigin(**{name: row[name] for name in names} | {"path": path, "kind": LogKind(row["kind"])})


async def find(database: Database, namespace: NamespaceId, log: str) -> Row | None:
    """Return the row of a log."""
    rows = await _rows(database, select(LOGS).where(LOGS.c.id == log, _in(namespace)))
    return rows[0] if rows else None


async def read(database: Database, log: str) -> AsyncIterator[bytes]:
    """Yield the text of a log chunk by chunk, each in its own transaction."""
    last = -1
    while True:
        following = (
            select(LOG_CHUNKS.c.seq, LOG_CHUNKS.c.data)
            .where(LOG_CHUNKS.c.log == log, LOG_CHUNKS.c.seq > last)
            .order_by(LOG_CHUNKS.c.seq)
            .limit(1)
        )
        rows = await _rows(database, following)
        if not rows:
            return
        last = rows[0]["seq"]
        yield decompress(rows[0]["data"])


async def sum_stored(database: Database, namespace: NamespaceId) -> int:
    """Return the compressed bytes of a namespace's logs, in the database and in the object store."""
    query = select(func.sum(LOGS.c.stored).label("used")).where(_in(namespace))
    rows = await _rows(database, query)
    return int(rows[0]["used"] or 0)


async def list_unarchived(database: Database, before: float) -> frozenset[tuple[str, str]]:
    """Return the namespace and uid of each Workflow that has logs from before a time, and no archived run."""
    archived = and_(RUNS.c.namespace == LOGS.c.namespace, RUNS.c.uid == LOGS.c.workflow)
    joined = select(LOGS.c.namespace, LOGS.c.workflow).distinct().outerjoin(RUNS, archived)
    query = joined.where(RUNS.c.uid.is_(None), LOGS.c.created < before)
    return frozenset((row["namespace"], row["workflow"]) for row in await _rows(database, query))


async def delete_unarchived(database: Database, namespace: str, workflow: str) -> int:
    """Delete the logs of a run that is not archived, a batch in each transaction, and return their number.

    Objects are deleted later: their names are kept as garbage.
    """
    count = 0
    while deleted := await database.write(lambda connection: _delete_some(connection, namespace, workflow)):
        count += deleted
    return count


async def list_garbage(database: Database, limit: int) -> list[str]:
    """Return names of objects that no log refers to."""
    return [row["object"] for row in await _rows(database, select(LOG_GARBAGE).limit(limit))]


async def forget_garbage(database: Database, names: Collection[str]) -> None:
    """Forget objects that are deleted."""
    gone = delete(LOG_GARBAGE).where(LOG_GARBAGE.c.object.in_(list(names)))
    await database.write(lambda connection: connection.execute(gone))


def _in(namespace: NamespaceId) -> ColumnElement[bool]:
    return and_(LOGS.c.namespace == namespace.name, LOGS.c.namespace_uid == namespace.uid)


async def _delete_some(connection: AsyncConnection, namespace: str, workflow: str) -> int:
    """Delete some logs, unless the run was archived since it was listed."""
    archived = exists().where(RUNS.c.namespace == LOGS.c.namespace, RUNS.c.uid == LOGS.c.workflow)
    of_run = select(LOGS.c.id, LOGS.c.object).where(LOGS.c.namespace == namespace, LOGS.c.workflow == workflow)
    rows = (await connection.execute(of_run.where(~archived).limit(_DELETE_BATCH))).all()
    names = [{"object": row.object} for row in rows if row.object]
    if names:
        await connection.execute(bodies.insert(connection, LOG_GARBAGE, names))
    ids = [row.id for row in rows]
    await connection.execute(delete(LOG_CHUNKS).where(LOG_CHUNKS.c.log.in_(ids)))
    await connection.execute(delete(LOGS).where(LOGS.c.id.in_(ids)))
    return len(ids)


async def _claim(connection: AsyncConnection, sources: Sequence[LogOrigin], by: Claimant) -> frozenset[str]:
    blank = LogOutcome(state=LogState.PENDING).row()
    claimed = {"owner": by.name, "expires": by.now + CLAIM_SECONDS}
    rest = {"stored": 0, "object": "", "created": by.now}
    rows = [source.row() | blank | rest | claimed for source in sources]
    await connection.execute(bodies.insert(connection, LOGS, rows))
    ids = [source.id for source in sources]
    # The insert of a retried transaction exists already, with this owner.
    free = or_(
        and_(LOGS.c.state == _PENDING, or_(LOGS.c.owner == by.name, LOGS.c.expires < by.now)),
        and_(LOGS.c.state == _LOST, LOGS.c.reason == NODE_LOST),
    )
    taken = update(LOGS).where(LOGS.c.id.in_(ids), free).values(state=_PENDING, reason="", message="", **claimed)
    updated = await connection.execute(taken.returning(LOGS.c.id))
    return frozenset(updated.scalars())


async def _finish(connection: AsyncConnection, each: FinishedLog, now: float) -> None:
    log = each.source.id
    placed = {"stored": each.stored, "object": each.object_name, "owner": "", "expires": 0.0}
    values = each.source.row() | each.outcome.row() | placed
    await connection.execute(bodies.insert(connection, LOGS, [values | {"created": now, "state": _PENDING}]))
    unkept = and_(LOGS.c.id == log, LOGS.c.state != LogState.KEPT.value)
    changed = await connection.execute(update(LOGS).where(unkept).values(values))
    if not changed.rowcount:
        return
    await connection.execute(delete(LOG_CHUNKS).where(LOG_CHUNKS.c.log == log))
    if each.text.chunks:
        rows = [{"log": log, "seq": number, "data": data} for number, data in enumerate(each.text.chunks)]
        await connection.execute(LOG_CHUNKS.insert(), rows)


async def _select_ids(database: Database, ids: Collection[str], condition: Any) -> frozenset[str]:
    selected: set[str] = set()
    for batch in _batches(list(ids)):
        rows = await _rows(database, select(LOGS.c.id).where(LOGS.c.id.in_(batch), condition))
        selected.update(row["id"] for row in rows)
    return frozenset(selected)


def _batches(ids: list[str]) -> list[list[str]]:
    return [ids[start : start + _ID_BATCH] for start in range(0, len(ids), _ID_BATCH)]


async def _rows(database: Database, query: Select[Any]) -> list[Row]:
    async def work(connection: AsyncConnection) -> list[Row]:
        return [dict(row) for row in (await connection.execute(query)).mappings()]

    return await database.read(work)
