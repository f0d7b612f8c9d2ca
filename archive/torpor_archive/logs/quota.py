"""Limits how many compressed bytes of logs each namespace stores, in the database and in the object store.

The sum is read from the database once a minute for each namespace with new logs, and this replica's logs are added.
"""

from cachetools import TTLCache
from torpor_kubernetes.timing import Clock

from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage import log_store
from torpor_archive.storage.database import Database

_SECONDS = 60.0
_ENTRIES = 4096


class LogQuota:
    """The usage of each namespace. `limit` is in bytes; 0 disables it."""

    def __init__(self, database: Database, clock: Clock, limit: int) -> None:
        self._database = database
        self._limit = limit
        self._sums: TTLCache[NamespaceId, list[int]] = TTLCache(_ENTRIES, _SECONDS, clock.monotonic)

    async def is_exceeded(self, namespace: NamespaceId) -> bool:
        """Return whether a namespace may store no more logs."""
        if not self._limit:
            return False
        used = self._sums.get(namespace)
        if used is None:
            used = self._sums[namespace] = [await log_store.sum_stored(self._database, namespace)]
        return used[0] >= self._limit

    def add(self, namespace: NamespaceId, size: int) -> None:
        """Add a stored log to the sum."""
        if namespace in self._sums:
            self._sums[namespace][0] += size

    def charge(self, namespace: NamespaceId, size: int) -> bool:
        """Add bytes of a log that is being stored, or subtract them. Returns False if the quota is exceeded."""
        self.add(namespace, size)
        used = self._sums.get(namespace)
        return not self._limit or used is None or used[0] <= self._limit

    def message(self, namespace: str) -> str:
        """Say what to do."""
        return (
            f"namespace {namespace} has used its archive quota of {self._limit} bytes of logs: set spec.logs to "
            "`failed`, delete runs, or raise --namespace-quota"
        )
