"""Completes rows that earlier releases stored: the uids of namespaces, the labels of runs, the state of cancelled runs.

A row without the uid of a namespace gets that of the namespace that has its name now, if it is proved to belong there.
A run belongs to it if its Workflow exists, or was created after the namespace. Results and logs follow their run. Other
rows keep no uid: they may be those of a deleted namespace, and another team may use its name now.

Labels are in the first line of a run's body, the Workflow. A transaction reads and changes one run.
"""

import logging
from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Table, exists, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.namespaces import UNKNOWN, Namespace
from torpor_archive.storage import bodies, history, validation
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import LOGS, RESULTS, RUNS

_BATCH = 500
_PAGE = 100

log = logging.getLogger(__name__)


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


async def index_labels(database: Database) -> int:
    """Index all runs that are not, and return their number."""
    count = 0
    while runs := await database.read(_list_unindexed):
        for namespace, uid in runs:
            await _index_run(database, namespace, uid)
            count += 1
    return count


async def _list_unindexed(connection: AsyncConnection) -> list[tuple[str, str]]:
    rows = await connection.execute(select(RUNS.c.namespace, RUNS.c.uid).where(RUNS.c.indexed.is_(False)).limit(_PAGE))
    return [(row.namespace, row.uid) for row in rows]


async def _index_run(database: Database, namespace: str, uid: str) -> None:
    workflow = await _read_workflow(database, namespace, uid)

    async def work(connection: AsyncConnection) -> None:
        unchanged = (RUNS.c.namespace == namespace) & (RUNS.c.uid == uid) & RUNS.c.indexed.is_(False)
        summary = history.summarize(workflow)
        state = {"state": history.CANCELLED} if summary["state"] == history.CANCELLED else {}
        values = {"indexed": True, "clears": summary["clears"], **state}
        if (await connection.execute(update(RUNS).where(unchanged).values(values))).rowcount:
            await history.replace_labels(connection, namespace, uid, history.labels_of(workflow))

    await database.write(work)


async def _read_workflow(database: Database, namespace: str, uid: str) -> dict[str, object]:
    """The first line of the run; empty if it cannot be read, so that the run is not read again."""
    body = await history.find_stored(database, namespace, uid)
    if body is None:
        return {}
    try:
        span = await bodies.find_items(database, body, 0, 1)
        line = b"".join([chunk async for chunk in bodies.read_chunks(database, body, span)])
        workflow = validation.parse(line, "line", 0)
    except RefusedError as error:
        if error.refusal.status == errors.unavailable("", "").status:
            raise
        log.warning("cannot read the labels of run %s in namespace %s: %s", uid, namespace, error)
        return {}
    return workflow if isinstance(workflow, dict) else {}
