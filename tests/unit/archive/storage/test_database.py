"""Results, quota, retention and migrations, on SQLite."""

import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, func, select
from sqlalchemy.ext.asyncio import AsyncConnection
from torpor_archive.errors import RefusedError
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage import chunks, results, retention, validation
from torpor_archive.storage.bodies import BodySummary, BodyWriter
from torpor_archive.storage.chunks import Chunker
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.database import Database, _parse_url
from torpor_archive.storage.tables import BODIES, CHUNKS, LOGS, METADATA, RESULTS
from torpor_archive.storage.upload import Uploads
from torpor_kubernetes.client.api import Api, Page
from torpor_kubernetes.client.errors import ApiUnavailable
from torpor_kubernetes.timing import SystemClock

from tests.support.fake_api import VirtualClock


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    made = Database(
        f"sqlite:///{tmp_path}/a.db", VirtualClock(), retry_seconds=0.1, on_transaction=lambda _succeeded: None
    )
    await made.migrate()
    yield made
    await made.close()


async def counts(database: Database) -> list[int]:
    async def work(connection: AsyncConnection) -> list[int]:
        tables = (RESULTS, BODIES, CHUNKS)
        return [await connection.scalar(select(func.count()).select_from(each)) or 0 for each in tables]

    return await database.read(work)


async def digests(database: Database) -> set[str]:
    async def work(connection: AsyncConnection) -> set[str]:
        return set((await connection.execute(select(RESULTS.c.digest))).scalars())

    return await database.read(work)


async def test_an_upload_replaces_the_earlier_result_of_the_taskrun(database: Database) -> None:
    for launch in range(5):
        last = await put(database, "team", "w", "t", launch=launch)
    other = await put(database, "team", "w", "another")
    assert await digests(database) == {last, other}
    assert await counts(database) == [2, 2, 2]


async def test_the_same_result_again_is_stored_once(database: Database) -> None:
    first = await put(database, "team", "w", "t")
    await put(database, "team", "w", "t")
    assert (await digests(database), await counts(database)) == ({first}, [1, 1, 1])


async def test_a_late_upload_of_an_earlier_attempt_is_refused(database: Database) -> None:
    later = await put(database, "team", "w", "t", attempt=2)
    with pytest.raises(RefusedError, match="attempt 2 of the TaskRun has stored its result") as caught:
        await put(database, "team", "w", "t", attempt=1, segment=9)
    assert caught.value.refusal.status == 403
    assert await digests(database) == {later}


class ByteSource:
    """A source of 100-byte pieces."""

    def __init__(self, pieces: int) -> None:
        self.pieces = pieces

    async def readany(self) -> bytes:
        self.pieces -= 1
        return b"x" * 100 if self.pieces >= 0 else b""


async def upload(uploads: Uploads, namespace: str, taskrun: str, body: ByteSource) -> None:
    async with uploads.upload(RESULTS, NamespaceId(namespace, ""), BodyFormat(type="bytes"), chunks.RESULT) as session:
        last = await session.receive(body, validation.AnyBytes())
        summary = session.summary()
        row = {"namespace": namespace, "workflow": "w", "taskrun": taskrun, "digest": summary.digest}
        await session.finish(last, summary, results.store(row | {"attempt": 1, "segment": 0, "launch": 0}))


async def test_a_namespace_cannot_exceed_its_quota(database: Database) -> None:
    clock = VirtualClock()
    uploads = Uploads(database, ArchiveMetrics(), clock, quota=1000)
    await upload(uploads, "team", "t0", ByteSource(6))
    long = ByteSource(1000)
    with pytest.raises(
        RefusedError, match=r"namespace team has used its archive quota of 1000 bytes of results"
    ) as caught:
        await upload(uploads, "team", "t1", long)
    assert (caught.value.refusal.status, caught.value.refusal.reason) == (507, "QuotaExceeded")
    assert long.pieces > 900
    await upload(uploads, "team", "t2", ByteSource(4))
    with pytest.raises(RefusedError):
        await upload(uploads, "team", "t3", ByteSource(1))
    await upload(uploads, "other", "t0", ByteSource(10))
    await clock.advance(3600)
    with pytest.raises(RefusedError):
        await upload(uploads, "team", "t3", ByteSource(1))
    assert (await counts(database))[0] == 3


class Lists:
    """An API with the given Workflows, or an error, per namespace."""

    def __init__(self, **namespaces: list[str] | Exception) -> None:
        self._namespaces = namespaces

    async def pages(self, _resource: object, namespace: str) -> AsyncIterator[Page]:
        uids = self._namespaces.get(namespace, [])
        if isinstance(uids, Exception):
            raise uids
        yield Page([{"metadata": {"uid": uid}} for uid in uids], "1")


@pytest.mark.parametrize("error", [RecursionError(), ApiUnavailable("gone"), KeyError("metadata")])
async def test_only_a_namespace_whose_list_fails_keeps_its_results(tmp_path: Path, error: Exception) -> None:
    database = Database(
        f"sqlite:///{tmp_path}/a.db", VirtualClock(), retry_seconds=0.1, on_transaction=lambda _succeeded: None
    )
    await database.migrate()
    for namespace, workflow in (("a", "gone"), ("bad", "w"), ("c", "gone"), ("c", "lives")):
        await put(database, namespace, workflow)
    api = cast("Api", Lists(bad=error, c=["lives"]))
    assert await retention.delete_orphans(database, api, 10.0) == 2
    assert await results.list_workflows(database, 10.0) == {("bad", "w"), ("c", "lives")}
    await database.close()


async def put(database: Database, namespace: str, workflow: str, taskrun: str = "", **launch: int) -> str:
    chunker = Chunker(chunks.RESULT, has_lines=False)
    list(chunker.feed(f"{taskrun}{launch}".encode()))
    writer = BodyWriter(database, BodyFormat(type="bytes"), 1.0)
    last = chunker.end()
    row: dict[str, Any] = {"attempt": 1, "segment": 0, "launch": 0} | launch
    row |= {"namespace": namespace, "workflow": workflow, "taskrun": taskrun or workflow, "digest": chunker.digest}
    await writer.finish(last, BodySummary(size=chunker.size, digest=chunker.digest), results.store(row))
    return chunker.digest


def join_connection_threads() -> None:
    """Join the threads of failed connections, which use the event loop when they end."""
    for thread in threading.enumerate():
        if "_connection_worker_thread" in thread.name:
            thread.join(30)


def open_database(url: str) -> Database:
    return Database(url, SystemClock(), retry_seconds=0.1, on_transaction=lambda _succeeded: None)


async def test_the_migrations_create_the_tables_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    for _ in range(2):
        made = open_database(f"sqlite:///{path}")
        await made.migrate()
        await made.close()
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    assert LOGS.metadata is METADATA
    engine.dispose()


async def test_an_unmigrated_database_is_unavailable(tmp_path: Path) -> None:
    absent = open_database(f"sqlite:///{tmp_path}/none/archive.db")
    with pytest.raises(RefusedError, match="is unavailable"):
        await absent.migrate()
    with pytest.raises(RefusedError) as caught:
        await absent.read(lambda connection: connection.commit())
    assert caught.value.refusal.reason == "DatabaseUnavailable"
    await absent.close()
    join_connection_threads()


def test_the_sslmode_of_libpq_is_translated() -> None:
    assert _parse_url("postgresql://u@h/d?sslmode=require").query == {"ssl": "require"}
    assert _parse_url("postgres://u:p@h/d").drivername == "postgresql+asyncpg"


@pytest.mark.parametrize("url", ["mysql://u:secret@h/d", "nonsense", ""])
def test_an_invalid_database_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="postgresql") as caught:
        open_database(url)
    assert "secret" not in str(caught.value)
