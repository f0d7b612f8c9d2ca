"""Old runs are deleted in batches, and the results of finished runs make room for those of running ones."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection
from torpor_archive.storage import bodies, chunks, history, results, retention, run_retention
from torpor_archive.storage.bodies import BodySummary, BodyWriter
from torpor_archive.storage.chunks import Chunker
from torpor_archive.storage.content import RUN, BodyFormat
from torpor_archive.storage.database import Database
from torpor_archive.storage.run_retention import Keep, RunRetention
from torpor_archive.storage.tables import BODIES, CHUNKS, METADATA, RESULTS, RUN_LABELS, RUNS
from torpor_kubernetes.client.api import Api, Page

from tests.support.fake_api import VirtualClock

T = TypeVar("T")
DAY = 86_400.0
NOW = 1000 * DAY


class CountedDatabase(Database):
    """Counts the rows that each transaction deletes."""

    deleted: list[int]

    async def write(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        async def counted(connection: AsyncConnection) -> T:
            before = await _rows(connection)
            result = await work(connection)
            self.deleted.append(before - await _rows(connection))
            return result

        return await super().write(counted)


async def _rows(connection: AsyncConnection) -> int:
    return sum(
        [await connection.scalar(select(func.count()).select_from(table)) or 0 for table in METADATA.sorted_tables]
    )


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[CountedDatabase]:
    opened = CountedDatabase(
        f"sqlite:///{tmp_path}/a.db", VirtualClock(), retry_seconds=0.1, on_transaction=lambda _succeeded: None
    )
    opened.deleted = []
    await opened.migrate()
    yield opened
    await opened.close()


async def store(database: Database, refer: Callable[[str], bodies.Refer], text: str, kind: str = RUN) -> str:
    """Store a body, with a chunk for each character."""
    writer, data = BodyWriter(database, BodyFormat(type=kind), NOW), text.encode()
    digest = hashlib.sha256(data).hexdigest()
    chunker = Chunker(chunks.RUN, has_lines=True)
    list(chunker.feed(data))
    last = chunker.end()
    await writer.finish(last, BodySummary(size=len(data), digest=digest, length=1), refer(digest))
    return digest


async def store_run(database: Database, namespace: str, name: str, age: float, text: str = "") -> None:
    row: dict[str, Any] = {
        "namespace": namespace,
        "namespace_uid": "n1",
        "uid": name,
        "name": name,
        "state": "Succeeded",
        "created": "",
        "completed": "",
        "archived": NOW,
        "completed_at": NOW - age,
        "clears": 0,
        "taskruns": 0,
    }
    await store(database, lambda digest: history.store(row, {"name": name}, digest), text or name)


async def store_result(database: Database, namespace: str, workflow: str, text: str) -> str:
    row = {"namespace": namespace, "workflow": workflow, "taskrun": f"of-{workflow}"}
    order = {"attempt": 1, "segment": 0, "launch": 0}
    return await store(database, lambda digest: results.store({**row, **order, "digest": digest}), text, "list")


async def names(database: Database, namespace: str) -> list[str]:
    query = select(RUNS.c.name).where(RUNS.c.namespace == namespace).order_by(RUNS.c.completed_at)
    return await database.read(lambda connection: _scalars(connection, query))


async def _scalars(connection: AsyncConnection, query: Any) -> list[str]:
    return list((await connection.execute(query)).scalars())


async def test_runs_older_than_the_age_are_deleted(database: Database) -> None:
    for days in (1, 29, 31, 400):
        await store_run(database, "team", f"d{days}", days * DAY)
    keep = RunRetention.parse("30d", 0, ())
    assert await run_retention.trim(database, keep, NOW) == 2
    assert await names(database, "team") == ["d29", "d1"]
    assert await run_retention.trim(database, keep, NOW) == 0


async def test_each_namespace_keeps_its_latest_runs(database: Database) -> None:
    for namespace in ("team", "other"):
        for days in range(5):
            await store_run(database, namespace, f"{namespace}-{days}", days * DAY)
    assert await run_retention.trim(database, RunRetention.parse("0", 3, ("other=/1",)), NOW) == 6
    assert await names(database, "team") == ["team-2", "team-1", "team-0"]
    assert await names(database, "other") == ["other-0"]


async def test_without_limits_all_runs_are_kept(database: Database) -> None:
    await store_run(database, "team", "ancient", 999 * DAY)
    assert await run_retention.trim(database, RunRetention.parse("0", 0, ()), NOW) == 0


async def test_a_transaction_deletes_a_bounded_number_of_rows(
    database: CountedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_retention, "BATCH", 10)
    for number in range(35):
        await store_run(database, "team", f"run-{number}", 100 * DAY)
    database.deleted.clear()
    assert await run_retention.trim(database, RunRetention.parse("30d", 0, ()), NOW) == 35
    assert database.deleted == [20, 20, 20, 10, 0]  # a run and its label
    assert await database.read(lambda connection: connection.scalar(select(func.count()).select_from(RUN_LABELS))) == 0


async def test_a_large_body_is_deleted_in_several_transactions(
    database: CountedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK", 1)
    monkeypatch.setattr(bodies, "_BATCH", 4)
    writer = BodyWriter(database, BodyFormat(type="bytes"), 1.0)
    for chunk in Chunker(chunks.RESULT, has_lines=False).feed(b"0123456789"):
        await writer.add(chunk)
    database.deleted.clear()
    assert await bodies.delete_unfinished(database, NOW) == 1
    assert database.deleted == [4, 4, 2]  # nine chunks and the body
    assert await bodies.delete_unfinished(database, NOW) == 0


async def test_the_body_of_a_trimmed_run_is_deleted_with_its_chunks(database: Database) -> None:
    await store_run(database, "team", "old", 100 * DAY)
    await run_retention.trim(database, RunRetention.parse("30d", 0, ()), NOW)
    assert await bodies.delete_unfinished(database, NOW) == 1
    for table in (BODIES, CHUNKS):
        query = select(func.count()).select_from(table)
        assert await database.read(lambda connection, query=query: connection.scalar(query)) == 0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("team=30d/500", Keep(age=30 * DAY, runs=500)),
        ("team=12h", Keep(age=DAY / 2, runs=7)),
        ("team=/5", Keep(age=90 * DAY, runs=5)),
        ("team=0/0", Keep()),
    ],
)
def test_a_namespace_overrides_the_default(text: str, keep: Keep) -> None:
    retention = RunRetention.parse("90d", 7, (text,))
    assert (retention.kept_in("team"), retention.kept_in("other")) == (keep, Keep(age=90 * DAY, runs=7))


@pytest.mark.parametrize("text", ["team", "=30d", "team=30", "team=30d/x", "Team=30d", "team=1y", "team=30d/5/6"])
def test_an_invalid_override_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write|duration"):
        run_retention.parse_override(text, Keep())


class Workflows:
    """An API server with Workflows of these uids in every namespace but a broken one."""

    def __init__(self, *uids: str, broken: str = "") -> None:
        self._uids = uids
        self._broken = broken

    async def pages(self, _resource: object, namespace: str) -> AsyncIterator[Page]:
        if namespace == self._broken:
            raise RecursionError
        yield Page([{"metadata": {"uid": uid}} for uid in self._uids], "1")


async def test_the_results_of_an_archived_run_stay_after_its_workflow(database: Database) -> None:
    for name in ("archived", "unarchived"):
        await store_result(database, "team", name, name)
    await store_run(database, "team", "archived", DAY)
    api = cast("Api", Workflows())
    assert await retention.delete_orphans(database, api, NOW + 1) == 1
    assert await _results(database) == {"archived"}
    await database.write(lambda connection: connection.execute(delete(RUNS)))
    assert await retention.delete_orphans(database, api, NOW + 1) == 1
    assert await _results(database) == set()


async def test_results_are_kept_when_the_run_is_archived_after_they_were_listed(database: Database) -> None:
    """A run may be archived and deleted by its TTL between the list of results and the list of Workflows."""
    await store_result(database, "team", "w", "result")
    await store_run(database, "team", "w", 0)
    assert await results.delete_of_workflow(database, "team", "w") == 0


async def test_the_oldest_results_of_finished_runs_make_room(database: Database) -> None:
    for name, age in (("oldest", 9), ("live", 8), ("middle", 7), ("young", 6)):
        await store_run(database, "team", name, age * DAY)
        await store_result(database, "team", name, 100 * name[0])
    await store_result(database, "team", "running", 100 * "r")
    await store_result(database, "small", "s", 100 * "s")
    api = cast("Api", Workflows("live", "running"))
    assert await retention.free_space(database, api, 301) == 2
    assert await _results(database) == {"live", "young", "running", "s"}
    assert await retention.free_space(database, api, 301) == 0
    assert await names(database, "team") == ["oldest", "live", "middle", "young"]


async def test_one_namespace_that_cannot_be_read_does_not_stop_the_others(database: Database) -> None:
    for namespace in ("bad", "team"):
        await store_run(database, namespace, f"of-{namespace}", DAY)
        await store_result(database, namespace, f"of-{namespace}", 100 * namespace[0])
    api = cast("Api", Workflows(broken="bad"))
    assert await retention.free_space(database, api, 1) == 1
    assert await _results(database) == {"of-bad"}


async def _results(database: Database) -> set[str]:
    query = select(RESULTS.c.workflow)
    return set(await database.read(lambda connection: _scalars(connection, query)))
