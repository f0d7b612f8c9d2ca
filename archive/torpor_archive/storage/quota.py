"""Limits how many bytes of results, and how many bytes of finished runs, each namespace stores.

The sum comes from the database and is cached; uploads of this replica are added to it. Other replicas' uploads are not
visible until the cache expires, so a namespace may exceed its quota by a few seconds of uploads.
"""

from typing import Any

from sqlalchemy import Table, func, select
from sqlalchemy.ext.asyncio import AsyncConnection
from torpor_kubernetes.timing import Clock

from torpor_archive import errors
from torpor_archive.errors import ErrorResponse, RefusedError
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import BODIES, RUNS

QUOTA = 4 * 1024**3
SUM_SECONDS = 10.0
SUM_SHARE = 20.0
"""A sum is cached for at least this many times the duration of its query."""
ENTRIES = 4096


class Quota:
    """The usage of each namespace and table. `limit` is in bytes; 0 disables it."""

    def __init__(self, database: Database, clock: Clock, limit: int) -> None:
        self._database = database
        self._clock = clock
        self._limit = limit
        self._sums: dict[tuple[str, NamespaceId], tuple[float, int]] = {}

    async def remaining(self, table: Table, namespace: NamespaceId) -> int | None:
        """Return the bytes left, or None without a limit. Raises RefusedError (507) if none are left."""
        if not self._limit:
            return None
        left = self._limit - await self._sum(table, namespace)
        if left <= 0:
            raise RefusedError(self.exceeded(table, namespace))
        return left

    def add(self, table: Table, namespace: NamespaceId, size: int) -> None:
        """Add a stored body to the cached sum."""
        key = (table.name, namespace)
        if key in self._sums:
            until, used = self._sums[key]
            self._sums[key] = (until, used + size)

    def exceeded(self, table: Table, namespace: NamespaceId) -> ErrorResponse:
        """Build the refusal of a body that exceeds the quota."""
        is_history = table is RUNS
        remedy = (
            "shorten --keep or --keep-runs of the archive"
            if is_history
            else "delete Workflows whose results are no longer needed; the archive deletes the results minutes later"
        )
        return errors.quota_exceeded(
            f"namespace {namespace.name} has used its archive quota of {self._limit} bytes of "
            f"{'finished runs' if is_history else 'results'}: {remedy}, or raise --namespace-quota"
        )

    async def _sum(self, table: Table, namespace: NamespaceId) -> int:
        key, started = (table.name, namespace), self._clock.monotonic()
        cached = self._sums.get(key)
        if cached is not None and cached[0] > started:
            return cached[1]
        used = await self._database.read(lambda connection: _query_sum(connection, table, namespace))
        now = self._clock.monotonic()
        self._sums.pop(key, None)
        self._sums[key] = (now + max(SUM_SECONDS, SUM_SHARE * (now - started)), used)
        if len(self._sums) > ENTRIES:
            del self._sums[next(iter(self._sums))]
        return used


async def _query_sum(connection: AsyncConnection, table: Table, namespace: NamespaceId) -> int:
    query: Any = select(func.sum(BODIES.c.size)).join(table, table.c.body == BODIES.c.id)
    return int(
        await connection.scalar(
            query.where(table.c.namespace == namespace.name, table.c.namespace_uid == namespace.uid)
        )
        or 0
    )
