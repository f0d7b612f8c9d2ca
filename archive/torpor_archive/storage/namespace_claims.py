"""Gives rows without the uid of a namespace to the namespace that has their name now, if they are proved to be its own.

A run belongs to it if its Workflow exists, or was created after the namespace. Results and logs follow their run. Other
rows keep no uid: they may be those of a deleted namespace, and another team may use its name now.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Table, exists, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from torpor_archive.namespaces import UNKNOWN, Namespace
from torpor_archive.storage.database import Database
from torpor_archive.storage.log_tables import LOGS
from torpor_archive.storage.tables import RESULTS, RUNS

_BATCH = 500


async def list_unassigned(database: Database) -> frozenset[str]:
    """Return the names of namespaces with rows that have no uid."""

    async def work(connection: AsyncConnection) -> frozenset[str]:
        unassigned: set[str] = set()
        for table in (RUNS, RESULTS, LOGS):
            names = select(table.c.namespace).where(table.c.namespace_uid == UNKNOWN).distinct()
            unassigned.update((await connection.execute(names)).scalars())
        return frozenset(unassigned)

    return await database.read(work)


async def assign(database: Database, namespace: Namespace, live: Collection[str]) -> int:
    """Set the uid of rows that belong to the namespace, whose existing Workflows are `live`. Returns their number."""
    count = await _assign(database, namespace, RUNS, RUNS.c.created >= namespace.created)
    uids = sorted(live)
    for start in range(0, len(uids), _BATCH):
        some = uids[start : start + _BATCH]
        count += await _assign(database, namespace, RUNS, RUNS.c.uid.in_(some))
        for table in (RESULTS, LOGS):
            count += await _assign(database, namespace, table, table.c.workflow.in_(some))
    for table in (RESULTS, LOGS):
        own = (RUNS.c.namespace == table.c.namespace) & (RUNS.c.namespace_uid == namespace.id.uid)
        of_run = exists().where(own, RUNS.c.uid == table.c.workflow)
        count += await _assign(database, namespace, table, of_run)
    return count


async def _assign(database: Database, namespace: Namespace, table: Table, belongs: ColumnElement[bool]) -> int:
    without = (table.c.namespace == namespace.id.name) & (table.c.namespace_uid == UNKNOWN)
    changed: Any = update(table).where(without, belongs).values(namespace_uid=namespace.id.uid)

    async def work(connection: AsyncConnection) -> int:
        return int((await connection.execute(changed)).rowcount)

    return await database.write(work)
