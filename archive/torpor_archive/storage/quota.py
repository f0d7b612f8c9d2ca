"""How much each namespace keeps, and how much it may: bytes of results, and as many again of finished runs.

The database is asked for the sum now and then, and what comes in meanwhile is added here. Other replicas add, too, so a
namespace may exceed its quota by what comes in within some seconds.
"""

from typing import Any

from sqlalchemy import Table, func, select
from sqlalchemy.ext.asyncio import AsyncConnection
from torpor_api.timing import Clock

from torpor_archive import errors
from torpor_archive.errors import Refusal, RefusedError
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import BODIES, RUNS

QUOTA = 4 * 1024**3
SUM_SECONDS = 10.0
SUM_SHARE = 20.0
"""A sum is kept for at least so many times as long as it took."""
ENTRIES = 4096


class Quota:
    """What each namespace keeps in each table; `limit` in bytes, 0 for none."""

    def __init__(self, database: Database, clock: Clock, limit: int) -> None:
        self._database = database
        self._clock = clock
        self._limit = limit
        self._sums: dict[tuple[str, str], tuple[float, int]] = {}

    async def room(self, table: Table, namespace: str) -> int | None:
        """Bytes that may still come; None where there is no limit. Raises RefusedError (507) where there are none."""
        if not self._limit:
            return None
        left = self._limit - await self._sum(table, namespace)
        if left <= 0:
            raise RefusedError(self.exceeded(table, namespace))
        return left

    def add(self, table: Table, namespace: str, size: int) -> None:
        """A body was kept."""
        key = (table.name, namespace)
        if key in self._sums:
            until, used = self._sums[key]
            self._sums[key] = (until, used + size)

    def exceeded(self, table: Table, namespace: str) -> Refusal:
        """What to say where there is no room."""
        history = table is RUNS
        mend = (
            "delete old runs of it from the archive's database"
            if history
            else "delete Workflows whose results nobody needs; the archive deletes those some minutes later"
        )
        return errors.quota_exceeded(
            f"the quota of namespace {namespace} in the archive, {self._limit} bytes of "
            f"{'finished runs' if history else 'results'}, is used up: {mend}, or raise --namespace-quota"
        )

    async def _sum(self, table: Table, namespace: str) -> int:
        key, began = (table.name, namespace), self._clock.monotonic()
        kept = self._sums.get(key)
        if kept is not None and kept[0] > began:
            return kept[1]
        found = await self._database.read(lambda connection: _summed(connection, table, namespace))
        now = self._clock.monotonic()
        self._sums.pop(key, None)
        self._sums[key] = (now + max(SUM_SECONDS, SUM_SHARE * (now - began)), found)
        if len(self._sums) > ENTRIES:
            del self._sums[next(iter(self._sums))]
        return found


async def _summed(connection: AsyncConnection, table: Table, namespace: str) -> int:
    query: Any = select(func.sum(BODIES.c.size)).join(table, table.c.body == BODIES.c.id)
    return int(await connection.scalar(query.where(table.c.namespace == namespace)) or 0)
