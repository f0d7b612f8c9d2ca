"""Fills `run_labels`, and the state of cancelled runs, for runs that a release without labels stored.

They are in the first line of the body, the Workflow. A transaction reads and changes one run.
"""

import logging

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.storage import bodies, history, validation
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import RUNS

_PAGE = 100
_log = logging.getLogger(__name__)


async def complete(database: Database) -> int:
    """Index all runs that are not, and return their number."""
    count = 0
    while runs := await database.read(_list):
        for namespace, uid in runs:
            await _index(database, namespace, uid)
            count += 1
    return count


async def _list(connection: AsyncConnection) -> list[tuple[str, str]]:
    rows = await connection.execute(select(RUNS.c.namespace, RUNS.c.uid).where(RUNS.c.indexed.is_(False)).limit(_PAGE))
    return [(row.namespace, row.uid) for row in rows]


async def _index(database: Database, namespace: str, uid: str) -> None:
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
        _log.warning("cannot read the labels of run %s in namespace %s: %s", uid, namespace, error)
        return {}
    return workflow if isinstance(workflow, dict) else {}
