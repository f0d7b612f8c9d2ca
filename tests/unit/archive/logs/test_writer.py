"""Finished logs are stored in few transactions."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest
from torpor_archive.errors import RefusedError, unavailable
from torpor_archive.logs.writer import BATCH, LogWriter
from torpor_archive.storage import log_store
from torpor_archive.storage.log_store import FinishedLog

from tests.support.fake_api import VirtualClock
from tests.unit.archive.storage.test_log_store import KEPT, SOURCE

LOG = FinishedLog(source=SOURCE, outcome=KEPT)


class FakeLogStore:
    """Stands for the table; a bad log fails its transaction."""

    def __init__(self) -> None:
        self.transactions: list[int] = []
        self.tries = 0
        self.bad: FinishedLog | None = None
        self.is_away = False

    async def finish(self, _database: Any, finished: Sequence[FinishedLog], _now: float) -> None:
        await asyncio.sleep(0)
        self.tries += 1
        if self.is_away:
            raise RefusedError(unavailable("DatabaseUnavailable", "the database is unavailable"))
        if any(each is self.bad for each in finished):
            raise ValueError("bad")
        self.transactions.append(len(finished))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> FakeLogStore:
    store = FakeLogStore()
    monkeypatch.setattr(log_store, "finish", store.finish)
    return store


async def write(logs: Sequence[FinishedLog]) -> list[BaseException | None]:
    writer = LogWriter(cast("Any", None), VirtualClock())
    running = asyncio.create_task(writer.run())
    outcomes = await asyncio.gather(*(writer.write([each]) for each in logs), return_exceptions=True)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return outcomes


async def test_logs_that_end_together_are_one_transaction(store: FakeLogStore) -> None:
    assert await write([LOG] * (BATCH + 3)) == [None] * (BATCH + 3)
    assert store.transactions == [BATCH, 3]


async def test_one_invalid_log_fails_alone(store: FakeLogStore) -> None:
    store.bad = FinishedLog(source=SOURCE, outcome=KEPT, object_name="bad")
    outcomes = await write([LOG, store.bad, LOG])
    assert [type(each) for each in outcomes] == [type(None), ValueError, type(None)]
    assert store.transactions == [1, 1]


async def test_a_database_that_is_unavailable_is_tried_once_for_a_batch(store: FakeLogStore) -> None:
    """Each try takes ten seconds."""
    store.is_away = True
    assert [type(each) for each in await write([LOG] * 3)] == [RefusedError] * 3
    assert store.tries == 1
