"""The results of TaskRuns: the rows of `results`, each of which refers to a body."""

from typing import Any

from sqlalchemy import ColumnElement, delete, exists, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.namespaces import UNKNOWN, NamespaceId
from torpor_archive.storage import bodies
from torpor_archive.storage.bodies import StoredBody
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import BODIES, RESULTS, RUNS

_ARCHIVED = exists().where(RUNS.c.namespace == RESULTS.c.namespace, RUNS.c.uid == RESULTS.c.workflow)
_ORDER = ("attempt", "segment", "launch")


def store(row: dict[str, Any]) -> bodies.Refer:
    """Store a result; it replaces that of an earlier launch. Raises RefusedError (403) if a later launch has one."""

    async def refer(connection: AsyncConnection, body: str) -> bool:
        await _supersede(connection, row)
        await connection.execute(bodies.insert(connection, RESULTS, row | {"body": body}))
        same_key = [column == row[column.name] for column in RESULTS.primary_key]
        return bool(await connection.scalar(select(RESULTS.c.body).where(*same_key)) == body)

    return refer


async def find(
    database: Database, namespace: NamespaceId, taskrun: str, digest: str, *, of_workflow: str | None = None
) -> tuple[StoredBody, str] | None:
    """Return a result and the uid of its Workflow.

    `of_workflow` is the uid of a Workflow that exists in the namespace. A result of it belongs to the namespace, even
    if its row has no uid of a namespace yet.
    """
    uids = RESULTS.c.namespace_uid == namespace.uid
    if of_workflow is not None:
        uids = uids | ((RESULTS.c.namespace_uid == UNKNOWN) & (RESULTS.c.workflow == of_workflow))

    async def work(connection: AsyncConnection) -> tuple[StoredBody, str] | None:
        named = (RESULTS.c.namespace == namespace.name) & (RESULTS.c.taskrun == taskrun) & (RESULTS.c.digest == digest)
        joined = select(BODIES, RESULTS.c.workflow).join(RESULTS, RESULTS.c.body == BODIES.c.id)
        row = (await connection.execute(joined.where(named, uids))).mappings().first()
        return None if row is None else (bodies.parse_row(row), row["workflow"])

    return await database.read(work)


async def list_workflows(database: Database, before: float) -> frozenset[tuple[str, str]]:
    """Return the namespace and uid of each Workflow that is not archived and has a result stored before a time.

    The time is in seconds since the epoch.
    """

    async def work(connection: AsyncConnection) -> frozenset[tuple[str, str]]:
        joined = select(RESULTS.c.namespace, RESULTS.c.workflow).join(BODIES, RESULTS.c.body == BODIES.c.id)
        rows = await connection.execute(joined.where(BODIES.c.created < before, ~_ARCHIVED).distinct())
        return frozenset((row.namespace, row.workflow) for row in rows)

    return await database.read(work)


async def delete_of_workflow(database: Database, namespace: str, workflow: str, *, archived: bool = False) -> int:
    """Delete the results of a Workflow, each in its own transaction, and return their number.

    Those of an archived Workflow are deleted with `archived` only.
    """
    of_workflow = (RESULTS.c.namespace == namespace) & (RESULTS.c.workflow == workflow)
    chosen: ColumnElement[bool] = of_workflow if archived else of_workflow & ~_ARCHIVED

    async def work(connection: AsyncConnection) -> bool:
        body = await connection.scalar(select(RESULTS.c.body).where(chosen).limit(1))
        if body is not None:
            await connection.execute(delete(RESULTS).where(RESULTS.c.body == body))
            await bodies.drop(connection, body)
        return body is not None

    count = 0
    while await database.write(work):
        count += 1
    return count


async def list_excess(database: Database, limit: float) -> list[tuple[str, float]]:
    """Return each namespace with more than `limit` bytes of results, and by how many bytes."""

    async def work(connection: AsyncConnection) -> list[tuple[str, float]]:
        used = func.sum(BODIES.c.size)
        joined = select(RESULTS.c.namespace, used).join(BODIES, RESULTS.c.body == BODIES.c.id)
        rows = await connection.execute(joined.group_by(RESULTS.c.namespace).having(used > limit))
        return [(namespace, float(size) - limit) for namespace, size in rows]

    return await database.read(work)


async def list_archived(database: Database, namespace: str) -> list[tuple[str, float]]:
    """Return the uid of each archived Workflow with results, and their bytes; the first completed is first."""

    async def work(connection: AsyncConnection) -> list[tuple[str, float]]:
        same = (RUNS.c.namespace == RESULTS.c.namespace) & (RUNS.c.uid == RESULTS.c.workflow)
        joined = select(RESULTS.c.workflow, func.sum(BODIES.c.size)).join(BODIES, RESULTS.c.body == BODIES.c.id)
        grouped = joined.join(RUNS, same).where(RESULTS.c.namespace == namespace)
        rows = await connection.execute(
            grouped.group_by(RESULTS.c.workflow, RUNS.c.completed_at).order_by(RUNS.c.completed_at)
        )
        return [(workflow, float(size)) for workflow, size in rows]

    return await database.read(work)


async def _supersede(connection: AsyncConnection, row: dict[str, Any]) -> None:
    """Delete the TaskRun's earlier results. Raises RefusedError (403) if a later launch has stored one."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
        lock = func.pg_advisory_xact_lock(func.hashtextextended(row["taskrun"], 0))
        await connection.execute(select(lock))
    same_key = (RESULTS.c.namespace == row["namespace"]) & (RESULTS.c.taskrun == row["taskrun"])
    for result in (await connection.execute(select(RESULTS).where(same_key))).mappings().all():
        if tuple(result[name] for name in _ORDER) > tuple(row[name] for name in _ORDER):
            message = f"attempt {result['attempt']} of the TaskRun has stored its result; this launch is earlier"
            raise RefusedError(errors.forbidden(message))
        same = same_key & (RESULTS.c.digest == result["digest"])
        if result["digest"] == row["digest"]:
            await connection.execute(update(RESULTS).where(same).values({name: row[name] for name in _ORDER}))
        else:
            await connection.execute(delete(RESULTS).where(same))
            await bodies.drop(connection, result["body"])
