"""Builds the parts of the archive that keep logs."""

import asyncio
import random
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Never

from torpor_kubernetes.client.api import Api

from torpor_archive.auth.reviews import AccessReviews
from torpor_archive.logs import retention
from torpor_archive.logs.collector import LogCollector
from torpor_archive.logs.objects import LogBucket
from torpor_archive.logs.quota import LogQuota
from torpor_archive.logs.reader import LogTransport, PodLogReader
from torpor_archive.logs.waits import LogModes, WaitLogs
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.namespaces import NamespaceFinder
from torpor_archive.storage.database import Database

_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LogService:
    """The parts. `objects` is None without an object store."""

    collector: LogCollector
    waits: WaitLogs
    objects: LogBucket | None
    database: Database
    api: Api

    @classmethod
    def build(  # noqa: PLR0913 - the parts that main() builds
        cls,
        api: Api,
        transport: LogTransport,
        database: Database,
        reviews: AccessReviews,
        namespaces: NamespaceFinder,
        *,
        metrics: ArchiveMetrics,
        objects_url: str,
        quota_bytes: int,
        served: Sequence[str] = (),
    ) -> "LogService":
        """Build them, for all namespaces or those `served`. Raises ValueError for an invalid URL."""
        objects = LogBucket.open(objects_url) if objects_url else None
        quota = LogQuota(database, api.clock, quota_bytes)
        reader = PodLogReader(transport, api.clock, objects)
        name = f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
        return cls(
            collector=LogCollector(
                api,
                namespaces,
                database,
                reader,
                quota,
                metrics=metrics,
                name=name,
                jitter=random.random,
                served=served,
            ),
            waits=WaitLogs(database, reviews, namespaces, api, modes=LogModes(api), quota=quota),
            objects=objects,
            database=database,
            api=api,
        )

    async def run(self, sweep_interval: float) -> Never:
        """Collect logs of pods, and delete those of runs that are gone, once the database is migrated."""
        while not self.database.is_ready:
            await self.api.clock.sleep(_POLL_SECONDS)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.collector.run())
            group.create_task(retention.run(self.database, self.api, self.objects, sweep_interval, random.random))
        raise AssertionError("unreachable")
