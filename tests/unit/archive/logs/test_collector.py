"""The collector: pods that end are found, and their logs are read and stored."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from torpor_archive.logs.collector import LogCollector
from torpor_archive.logs.quota import LogQuota
from torpor_archive.logs.reader import PodLogReader
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.storage import log_store
from torpor_archive.storage.database import Database
from torpor_archive.storage.log_store import LogFilters, Row
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS

from tests.support.fake_api import FakeApi, VirtualClock
from tests.unit.archive.fixed_namespaces import FixedNamespaces
from tests.unit.archive.logs.test_logged_pod import terminated

CREATED = "2026-01-01T00:00:00Z"
LINE = b"2026-01-01T00:00:02.5Z hello\n"


class Collecting:
    """A collector, the pods that it watches, and their node."""

    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock()
        self.server = FakeApi(self.clock)
        self.database = Database(
            f"sqlite:///{folder}/a.db", self.clock, retry_seconds=0.1, on_transaction=lambda _succeeded: None
        )
        self.failure: errors.ApiError | None = None
        self.reads = 0
        self.namespaces = FixedNamespaces()

    async def chunks(self, path: str, *, query: Mapping[str, str], seconds: float) -> AsyncGenerator[bytes, None]:
        assert (path, query["container"], seconds > 0) == (
            "/api/v1/namespaces/team/pods/run-load-a2-s1/log",
            "main",
            True,
        )
        self.reads += 1
        if self.failure is not None:
            raise self.failure
        yield LINE

    def pod(self, *, mode: str = "all") -> dict[str, Any]:
        """Create a pod that has failed."""
        labels = {"torpor.dev/taskrun-uid": "t", "torpor.dev/workflow-uid": "w", "torpor.dev/task": "load"}
        metadata = {"name": "run-load-a2-s1", "namespace": "team", "labels": labels, "creationTimestamp": CREATED}
        status = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": terminated(1)}]}
        annotations = {"annotations": {"torpor.dev/logs": mode}}
        return self.server.put(PODS, {"metadata": metadata | annotations, "spec": {"nodeName": "n"}, "status": status})

    async def entries(self) -> list[Row]:
        return await log_store.list_run(self.database, await self.namespaces.current("team"), "w", LogFilters())

    async def until(self, is_done: Callable[[list[Row]], bool]) -> list[Row]:
        """The entries once they are as expected. The database runs in real time, the collector in virtual time."""
        for _ in range(500):
            entries = await self.entries()
            if is_done(entries):
                return entries
            await asyncio.sleep(0.01)
            await self.clock.advance(0.1)
        raise AssertionError(f"the entries are {entries}")

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Collecting"]:
        await self.database.migrate()
        api = Api(self.server, self.clock)
        reader, quota = PodLogReader(self, self.clock, None), LogQuota(self.database, self.clock, 10**9)
        collector = LogCollector(
            api, self.namespaces, self.database, reader, quota, metrics=ArchiveMetrics(), name="one", jitter=lambda: 0.0
        )
        task = asyncio.create_task(collector.run())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self.database.close()


def _is_kept(rows: list[Row]) -> bool:
    return [row["state"] for row in rows] == ["Kept"]


@pytest.fixture
async def collecting(tmp_path: Path) -> AsyncIterator[Collecting]:
    async with Collecting(tmp_path).running() as running:
        yield running


async def test_the_log_of_a_pod_that_ends_is_kept_once(collecting: Collecting) -> None:
    body = collecting.pod()
    (row,) = await collecting.until(_is_kept)
    assert (row["id"], row["reason"], row["size"]) == (body["metadata"]["uid"], "Error", len(LINE))
    assert collecting.reads == 1


async def test_a_log_whose_node_does_not_answer_is_read_again(collecting: Collecting) -> None:
    collecting.failure = errors.ApiUnavailable("try again", status=503)
    pod = collecting.pod()["metadata"]["uid"]
    await collecting.until(lambda entries: [row["reason"] for row in entries] == ["NodeLost"])
    assert await log_store.settled(collecting.database, "team", [pod]) == set()
    collecting.failure = None
    await collecting.until(_is_kept)
    assert await log_store.settled(collecting.database, "team", [pod]) == {pod}


async def test_a_log_that_is_not_wanted_is_not_read(collecting: Collecting) -> None:
    collecting.pod(mode="none")
    await collecting.clock.advance(30.0)
    assert (collecting.reads, await collecting.entries()) == (0, [])
