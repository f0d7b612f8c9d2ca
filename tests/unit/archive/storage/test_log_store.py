"""Logs in the database, on SQLite: claims, outcomes, lists and deletion."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import delete
from torpor_archive.logs import retention
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage import log_store
from torpor_archive.storage.database import Database
from torpor_archive.storage.log_entry import LogOrigin, LogOutcome, LogState, to_json
from torpor_archive.storage.log_store import CLAIM_SECONDS, NODE_LOST, Claimant, FinishedLog, LogFilters
from torpor_archive.storage.log_text import HeadAndTail, StoredText
from torpor_archive.storage.tables import RUNS
from torpor_kubernetes.client.api import Api, Page
from torpor_wire.enums import LogKind

from tests.support.fake_api import VirtualClock
from tests.unit.archive.storage.test_run_retention import store_run

TEAM = NamespaceId("team", "n1")
SOURCE = LogOrigin(
    namespace_uid=TEAM.uid,
    id="u1",
    namespace="team",
    workflow="w",
    taskrun="nightly-load-0-abcde",
    task="load",
    path=(2, 0),
    attempt=1,
    segment=0,
    launch=0,
    kind=LogKind.POD,
    pod="nightly-load-0-abcde-a1-s0",
    node="n",
    started="2026-01-01T00:00:00Z",
)
KEPT = LogOutcome(state=LogState.KEPT, reason="Completed", ended="2026-01-01T00:00:09Z")
ONE, OTHER = Claimant(name="one", now=100.0), Claimant(name="other", now=100.0)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(
        f"sqlite:///{tmp_path}/a.db", VirtualClock(), retry_seconds=0.1, on_transaction=lambda _succeeded: None
    )
    await opened.migrate()
    yield opened
    await opened.close()


def text(content: bytes) -> StoredText:
    kept = HeadAndTail()
    kept.feed(content)
    return kept.finish()


async def keep(database: Database, source: LogOrigin, outcome: LogOutcome = KEPT, content: bytes = b"hello\n") -> None:
    stored = text(content)
    outcome = replace(outcome, size=stored.size, omitted=stored.omitted)
    await log_store.finish(database, [FinishedLog(source=source, outcome=outcome, text=stored)], 100.0)


async def lines(database: Database, log: str) -> bytes:
    return b"".join([chunk async for chunk in log_store.read(database, log)])


async def test_one_replica_claims_a_log(database: Database) -> None:
    assert await log_store.claim(database, [SOURCE], ONE) == {"u1"}
    assert await log_store.claim(database, [SOURCE], OTHER) == set()
    assert await log_store.settled(database, "team", ["u1"]) == set()
    await keep(database, SOURCE)
    assert await log_store.settled(database, "team", ["u1"]) == {"u1"}
    assert await log_store.settled(database, "elsewhere", ["u1"]) == set()
    assert await log_store.claim(database, [SOURCE], ONE) == set()


async def test_a_claim_that_is_not_renewed_is_taken_over(database: Database) -> None:
    await log_store.claim(database, [SOURCE], ONE)
    later = Claimant(name="other", now=100.0 + CLAIM_SECONDS + 1)
    assert [row["id"] for row in await log_store.expired(database, later.now, 10)] == ["u1"]
    await log_store.renew(database, Claimant(name="one", now=130.0))
    assert await log_store.claim(database, [SOURCE], later) == set()
    latest = Claimant(name="other", now=130.0 + CLAIM_SECONDS + 1)
    assert await log_store.claim(database, [SOURCE], latest) == {"u1"}


async def test_a_claim_of_a_repeated_transaction_counts(database: Database) -> None:
    assert await log_store.claim(database, [SOURCE], ONE) == {"u1"}
    assert await log_store.claim(database, [SOURCE], ONE) == {"u1"}


async def test_a_log_that_was_lost_with_its_node_is_read_again(database: Database) -> None:
    lost = LogOutcome(state=LogState.LOST, reason=NODE_LOST, message="no answer")
    await log_store.finish(database, [FinishedLog(source=SOURCE, outcome=lost)], 100.0)
    assert await log_store.settled(database, "team", ["u1"]) == set()
    assert await log_store.known(database, ["u1"]) == set()
    assert await log_store.claim(database, [SOURCE], OTHER) == {"u1"}
    await keep(database, SOURCE)
    assert await lines(database, "u1") == b"hello\n"


async def test_a_kept_log_is_not_replaced(database: Database) -> None:
    await keep(database, SOURCE)
    await keep(database, SOURCE, content=b"other\n")
    lost = LogOutcome(state=LogState.LOST, reason="PodGone")
    await log_store.finish(database, [FinishedLog(source=SOURCE, outcome=lost)], 100.0)
    assert await lines(database, "u1") == b"hello\n"
    row = await log_store.find(database, TEAM, "u1")
    assert row is not None
    assert row["state"] == "Kept"


async def test_an_entry_says_what_the_log_belongs_to(database: Database) -> None:
    await keep(database, SOURCE)
    (row,) = await log_store.list_run(database, TEAM, "w", LogFilters())
    assert to_json(row) == {
        "id": "u1",
        "taskrun": "nightly-load-0-abcde",
        "task": "load",
        "mapIndex": 0,
        "groupIndexes": [2],
        "attempt": 1,
        "segment": 0,
        "launch": 0,
        "kind": "pod",
        "pod": "nightly-load-0-abcde-a1-s0",
        "container": "main",
        "node": "n",
        "started": "2026-01-01T00:00:00Z",
        "ended": "2026-01-01T00:00:09Z",
        "state": "Kept",
        "reason": "Completed",
        "message": "",
        "failed": False,
        "size": 6,
        "omitted": 0,
    }
    assert log_store.to_source(row) == SOURCE


async def test_a_list_is_filtered_and_in_pages(database: Database) -> None:
    for number in range(5):
        failed = replace(KEPT, failed=number == 3)
        source = replace(SOURCE, id=f"u{number}", segment=number, path=(), started=f"2026-01-01T00:00:0{number}Z")
        await keep(database, source, failed)
    await keep(database, replace(SOURCE, id="x", workflow="another"))

    async def ids(**filters: object) -> list[str]:
        return [row["id"] for row in await log_store.list_run(database, TEAM, "w", LogFilters(**filters))]  # type: ignore[arg-type]

    assert await ids() == ["u0", "u1", "u2", "u3", "u4"]
    assert await ids(limit=2) == ["u0", "u1"]
    assert await ids(limit=2, after=("2026-01-01T00:00:01Z", "u1")) == ["u2", "u3"]
    assert await ids(failed=True) == ["u3"]
    assert await ids(segment=2, task="load") == ["u2"]
    assert await ids(task="other") == []
    assert await ids(attempt=2) == []


async def test_logs_are_deleted_with_their_run_and_their_objects_later(database: Database) -> None:
    await keep(database, SOURCE)
    stored = FinishedLog(source=replace(SOURCE, id="u2"), outcome=KEPT, object_name="team/w/u2.zst")
    await log_store.finish(database, [stored], 100.0)
    await keep(database, replace(SOURCE, id="x", workflow="another"))
    assert await log_store.delete_unarchived(database, "team", "w") == 2
    assert await log_store.list_run(database, TEAM, "w", LogFilters()) == []
    assert await lines(database, "u1") == b""
    assert await lines(database, "x") == b"hello\n"
    assert await log_store.list_garbage(database, 10) == ["team/w/u2.zst"]
    await log_store.forget_garbage(database, ["team/w/u2.zst"])
    assert await log_store.list_garbage(database, 10) == []


async def test_runs_with_logs_that_are_not_archived(database: Database) -> None:
    await keep(database, SOURCE)
    assert await log_store.list_unarchived(database, 101.0) == {("team", "w")}
    assert await log_store.list_unarchived(database, 100.0) == set()
    assert await log_store.sum_stored(database, TEAM) > 0
    assert await log_store.sum_stored(database, NamespaceId("team", "another")) == 0


async def test_an_object_of_a_log_that_is_not_kept_is_deleted_later(database: Database) -> None:
    await log_store.claim(database, [SOURCE], ONE)
    await log_store.release(database, "u1", "team/w/u1.zst")
    assert await log_store.find(database, TEAM, "u1") is None
    assert await log_store.list_garbage(database, 10) == ["team/w/u1.zst"]


class TtlExpires:
    """An API server without Workflows: the run is archived and deleted by its TTL before they are listed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pages(self, _resource: object, _namespace: str) -> AsyncIterator[Page]:
        await store_run(self._database, "team", "w", 0)
        yield Page([], "1")


async def test_logs_are_kept_when_the_run_is_archived_after_they_were_listed(database: Database) -> None:
    await keep(database, SOURCE)
    assert await retention.delete_orphans(database, cast("Api", TtlExpires(database)), 101.0) == 0
    assert await lines(database, "u1") == b"hello\n"
    await database.write(lambda connection: connection.execute(delete(RUNS)))
    assert await log_store.delete_unarchived(database, "team", "w") == 1


class Malformed:
    """An API server whose namespace `bad` has a Workflow without metadata."""

    async def pages(self, _resource: object, namespace: str) -> AsyncIterator[Page]:
        yield Page([{}] if namespace == "bad" else [], "1")


async def test_a_namespace_that_cannot_be_read_keeps_its_logs_alone(database: Database) -> None:
    await keep(database, replace(SOURCE, id="b", namespace="bad"))
    await keep(database, SOURCE)
    assert await retention.delete_orphans(database, cast("Api", Malformed()), 101.0) == 1
    assert await lines(database, "b") == b"hello\n"
