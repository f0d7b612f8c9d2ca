"""A TaskRun has one result in the database, and a namespace no more than its quota."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection
from torpor_archive.errors import RefusedError
from torpor_archive.metrics import Metrics
from torpor_archive.storage import chunks, validation
from torpor_archive.storage.content import Kind
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import BODIES, CHUNKS, RESULTS
from torpor_archive.storage.upload import Intake

from tests.support.fake_api import VirtualClock
from tests.unit.archive.storage.test_retention import put


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    made = Database(f"sqlite:///{tmp_path}/a.db", VirtualClock(), patience=0.1, note=lambda _did: None)
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


async def test_a_put_replaces_what_the_taskrun_put_before(database: Database) -> None:
    for launch in range(5):
        last = await put(database, "team", "w", "t", launch=launch)
    other = await put(database, "team", "w", "another")
    assert await digests(database) == {last, other}
    assert await counts(database) == [2, 2, 2]


async def test_the_same_again_is_kept_once_and_counts_as_the_later(database: Database) -> None:
    first = await put(database, "team", "w", "t")
    await put(database, "team", "w", "t")
    assert (await digests(database), await counts(database)) == ({first}, [1, 1, 1])


async def test_a_put_of_an_earlier_attempt_that_ends_late_is_refused(database: Database) -> None:
    later = await put(database, "team", "w", "t", attempt=2)
    with pytest.raises(RefusedError, match="attempt 2 of the TaskRun has put its result") as caught:
        await put(database, "team", "w", "t", attempt=1, segment=9)
    assert caught.value.refusal.status == 403
    assert await digests(database) == {later}


class Bytes:
    """A body of so many pieces of 100 bytes."""

    def __init__(self, pieces: int) -> None:
        self.pieces = pieces

    async def readany(self) -> bytes:
        self.pieces -= 1
        return b"x" * 100 if self.pieces >= 0 else b""


async def keep(intake: Intake, namespace: str, taskrun: str, body: Bytes) -> None:
    async with intake.upload(RESULTS, namespace, Kind(type="bytes"), chunks.RESULT) as arrival:
        last = await arrival.receive(body, validation.Opaque())
        described = arrival.described()
        row = {"namespace": namespace, "workflow": "w", "taskrun": taskrun, "digest": described.digest}
        await arrival.finish(last, described, RESULTS, row | {"attempt": 1, "segment": 0, "launch": 0})


async def test_a_namespace_keeps_no_more_than_its_quota(database: Database) -> None:
    clock = VirtualClock()
    intake = Intake(database, Metrics(), clock, quota=1000)
    await keep(intake, "team", "t0", Bytes(6))
    long = Bytes(1000)
    with pytest.raises(RefusedError, match=r"quota of namespace team .* 1000 bytes of results") as caught:
        await keep(intake, "team", "t1", long)
    assert (caught.value.refusal.status, caught.value.refusal.reason) == (507, "QuotaExceeded")
    assert long.pieces > 900
    await keep(intake, "team", "t2", Bytes(4))
    with pytest.raises(RefusedError):
        await keep(intake, "team", "t3", Bytes(1))
    await keep(intake, "other", "t0", Bytes(10))
    await clock.advance(3600)
    with pytest.raises(RefusedError):
        await keep(intake, "team", "t3", Bytes(1))
    assert (await counts(database))[0] == 3
