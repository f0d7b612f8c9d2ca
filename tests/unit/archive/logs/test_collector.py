"""The collector: pods that end are found, and their logs are read and stored."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from torpor_archive.logs import reader
from torpor_archive.logs.collector import LogCollector
from torpor_archive.logs.quota import LogQuota
from torpor_archive.logs.reader import PodLogReader
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.storage import log_store
from torpor_archive.storage.database import Database
from torpor_archive.storage.log_store import LogFilters, Row
from torpor_archive.storage.log_text import HEAD, TAIL
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS

from tests.support.fake_api import FakeApi, VirtualClock
from tests.unit.archive.fixed_namespaces import FixedNamespaces
from tests.unit.archive.logs.test_logged_pod import RUNNING, terminated

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
        self.containers: list[tuple[str, int]] = []
        self.words = 1
        self.namespaces = FixedNamespaces()

    async def chunks(self, path: str, *, query: Mapping[str, str], seconds: float) -> AsyncGenerator[bytes, None]:
        assert (path, seconds > 0) == ("/api/v1/namespaces/team/pods/run-load-a2-s1/log", True)
        self.reads += 1
        self.containers.append((query["container"], int(query["limitBytes"])))
        if self.failure is not None:
            raise self.failure
        yield LINE.replace(b"hello", query["container"].encode() * self.words)

    def pod(
        self, *, mode: str = "all", named: str = "", main: Any = None, others: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Create a pod that has failed. `others` are the states of init containers; the author has those `named`."""
        labels = {"torpor.dev/taskrun-uid": "t", "torpor.dev/workflow-uid": "w", "torpor.dev/task": "load"}
        metadata = {"name": "run-load-a2-s1", "namespace": "team", "labels": labels, "creationTimestamp": CREATED}
        status = {
            "phase": "Failed",
            "containerStatuses": [{"name": "main", "state": terminated(1) if main is None else main}],
            "initContainerStatuses": [{"name": name, "state": state} for name, state in (others or {}).items()],
        }
        annotations = {"annotations": {"torpor.dev/logs": mode, "torpor.dev/containers": named}}
        return self.server.put(PODS, {"metadata": metadata | annotations, "spec": {"nodeName": "n"}, "status": status})

    async def entries(self, container: str = "main") -> list[Row]:
        place = await self.namespaces.current("team")
        return await log_store.list_run(self.database, place, "w", LogFilters(container=container))

    async def text(self, container: str) -> tuple[str, bool, bytes]:
        """The id of the only log of a container, whether its attempt failed, and its lines."""
        (row,) = await self.entries(container)
        chunks = [chunk async for chunk in log_store.read(self.database, row["id"])]
        return row["id"], row["failed"], b"".join(chunks)

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
        read, quota = PodLogReader(self, self.clock, None), LogQuota(self.database, self.clock, 10**9)
        collector = LogCollector(
            api, self.namespaces, self.database, read, quota, metrics=ArchiveMetrics(), name="one", jitter=lambda: 0.0
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
    assert (row["id"], row["reason"], row["size"]) == (body["metadata"]["uid"], "Error", len(LINE) - 1)
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


async def test_each_container_of_the_author_has_a_log_of_its_name(collecting: Collecting) -> None:
    others = {"fetch": terminated(0), "proxy": RUNNING, "mesh": RUNNING, "torpor-runtime": terminated(0)}
    uid = collecting.pod(named="fetch,proxy,never", others=others)["metadata"]["uid"]
    await collecting.until(_is_kept)
    assert [name for name, _ in collecting.containers] == ["main", "fetch", "proxy"]
    assert await collecting.text("fetch") == (f"{uid}.fetch", True, LINE.replace(b"hello", b"fetch"))
    assert await collecting.text("proxy") == (f"{uid}.proxy", True, LINE.replace(b"hello", b"proxy"))
    assert (await collecting.entries("mesh"), await collecting.entries("torpor-runtime")) == ([], [])


@pytest.mark.parametrize("name", ["fetch", "torpor-files"])
async def test_the_log_of_a_container_that_kept_the_task_from_starting_is_kept(
    collecting: Collecting, name: str
) -> None:
    collecting.pod(named="fetch", main={"waiting": {"reason": "PodInitializing"}}, others={name: terminated(3)})
    await collecting.until(_is_kept)
    assert (await collecting.text(name))[2] == LINE.replace(b"hello", name.encode())


@pytest.mark.attack
async def test_all_other_containers_have_the_bytes_of_one_log(collecting: Collecting) -> None:
    names = [f"c{number}" for number in range(60)]
    collecting.words = 300_000
    collecting.pod(named=",".join(names), others=dict.fromkeys(names, terminated(0)))
    await collecting.until(_is_kept)
    limits = {name: limit for name, limit in collecting.containers if name != "main"}
    assert len(limits) == 48
    assert sum(limits.values()) <= reader.LIMIT
    kept = [(await collecting.entries(name))[0] for name in limits]
    assert sum(row["size"] - row["omitted"] for row in kept) <= HEAD + TAIL + 48 * 100
