"""`sql` over SQLite files: real ones."""

import asyncio
import sqlite3
import threading
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torpor.triggers import AnyOf, Sql

from tests.support import trigger_services

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """With one table of jobs."""
    (tmp_path / "data").mkdir()
    path = tmp_path / "data/jobs.db"
    execute(path, "CREATE TABLE jobs (name TEXT, state TEXT, n INTEGER)")
    return path


def execute(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


def move(path: Path, to: Path, *, leave_link: bool = False) -> None:
    path.rename(to)
    if leave_link:
        path.symlink_to(to)


def add(path: Path, name: str, state: str = "done") -> None:
    execute(path, "INSERT INTO jobs VALUES (?, ?, 1)", name, state)


def sql(path: Path, query: str = "SELECT * FROM jobs", **given: Any) -> Sql:
    return Sql(f"sqlite:///{path}", query, **{"interval": 0.1, **given})


async def test_it_fires_with_the_first_row_there_is(file: Path) -> None:
    trigger = sql(file, "SELECT name, state FROM jobs WHERE state = :state", params={"state": "done"})
    async with trigger_services.waiting(trigger, folders=(str(file.parent),)) as wait:
        await trigger_services.looked(trigger, "the query returns no row")
        add(file, "other", "running")
        add(file, "mine")
        assert await wait == {"count": 1, "rows": [{"name": "mine", "state": "done"}]}


async def test_it_fires_when_the_condition_is_true_be_it_that_nothing_is_left(file: Path) -> None:
    add(file, "last", "running")
    trigger = sql(file, condition="size(rows) == 0")
    async with trigger_services.waiting(trigger, folders=(str(file.parent),)) as wait:
        await trigger_services.looked(trigger, "1 row; condition is false")
        execute(file, "DELETE FROM jobs")
        assert await wait == {"count": 0, "rows": []}


async def test_the_first_row_may_not_be_there_yet_when_a_condition_asks_for_it(file: Path) -> None:
    trigger = sql(file, condition="row.n == 1")
    async with trigger_services.waiting(trigger, folders=(str(file.parent),)) as wait:
        await trigger_services.looked(trigger, "no row; condition: ")
        add(file, "a")
        assert (await wait)["rows"][0]["name"] == "a"


async def test_a_hundred_of_many_rows_are_read_and_returned_as_far_as_they_fit(file: Path) -> None:
    for number in range(150):
        add(file, f"{number:060}")
    event = await trigger_services.event(sql(file), folders=(str(file.parent),))
    assert event["count"] == 100
    assert event["truncated"] is True
    assert 10 < len(event["rows"]) < 100


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * FROM absent", "no such table: absent"),
        ("SELEC 1", "syntax error"),
        ("INSERT INTO jobs VALUES ('x', 'y', 1) RETURNING name", "readonly database"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("SELECT :a AS a", "the query has the parameters :a, but params has nothing"),
        ("SELECT x'00' AS b", "column 'b' contains bytes"),
    ],
)
async def test_a_query_that_will_never_do_fails_the_wait(file: Path, query: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        await trigger_services.event(sql(file, query), folders=(str(file.parent),))


async def test_a_file_that_is_not_there_yet_is_waited_for(file: Path) -> None:
    trigger = sql(file.parent / "later.db")
    async with trigger_services.waiting(trigger, folders=(str(file.parent),)) as wait:
        await trigger_services.looked(trigger, "does not answer: No such file")
        add(file, "a")
        move(file, file.parent / "later.db")
        assert (await wait)["count"] == 1


async def test_no_link_leads_to_a_database_outside_the_folder(file: Path, tmp_path: Path) -> None:
    add(file, "a")
    move(file, tmp_path / "private.db", leave_link=True)
    with pytest.raises(PermissionError, match="is outside of"):
        await trigger_services.event(sql(file), folders=(str(file.parent),))


async def test_a_query_that_takes_too_long_is_ended_in_sqlites_own_thread(file: Path) -> None:
    trigger = sql(file, ENDLESS, timeout=0.2)
    async with trigger_services.waiting(trigger, folders=(str(file.parent),)):
        await trigger_services.looked(trigger, "does not answer: interrupted")
    await trigger_services.until(
        lambda: all("_connection_worker" not in thread.name for thread in threading.enumerate())
    )


async def test_a_file_that_is_being_written_is_waited_for(file: Path) -> None:
    add(file, "a")
    trigger = sql(file)
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        async with trigger_services.waiting(trigger, folders=(str(file.parent),)) as wait:
            await trigger_services.looked(trigger, "database is locked")
            writer.rollback()
            assert (await wait)["count"] == 1


@pytest.mark.parametrize("query", ["VACUUM INTO '{}'", "ATTACH DATABASE '{}' AS other"])
async def test_a_query_makes_no_file_and_opens_no_other(file: Path, tmp_path: Path, query: str) -> None:
    trigger = sql(file, query.format(tmp_path / "made.db"))
    async with trigger_services.waiting(trigger, folders=(str(file.parent),)) as wait:
        with pytest.raises(ValueError, match=r"not authorized|authorization denied"):
            await wait
    assert not (tmp_path / "made.db").exists()


async def test_many_waits_on_one_file_each_get_their_own_rows(file: Path) -> None:
    given = trigger_services.backends(folders=(str(file.parent),))
    query = "SELECT name FROM jobs WHERE name = :name"
    async with AsyncExitStack() as stack:
        triggers = [sql(file, query, params={"name": f"job-{number}"}) for number in range(20)]
        waits = [await stack.enter_async_context(trigger_services.waiting(trigger, given)) for trigger in triggers]
        spoilt = sql(file, "SELECT name FROM jobs WHERE name = :name AND json(:name)", params={"name": "{"})
        also = sql(file, "SELECT name FROM jobs WHERE name = :name AND json(:name)", params={"name": "[]"})
        bad, good = [
            await stack.enter_async_context(trigger_services.waiting(trigger, given)) for trigger in (spoilt, also)
        ]
        await trigger_services.looked(also, "no row")
        assert len(given.pollers) == 2
        add(file, "job-7")
        assert await waits[7] == {"count": 1, "rows": [{"name": "job-7"}]}
        add(file, "{")
        with pytest.raises(ValueError, match="malformed JSON"):
            await bad
        assert sum(wait.done() for wait in waits) == 1
        assert not good.done()


@pytest.mark.parametrize(("other", "backends"), [({}, 1), ({"account": "other"}, 2), ({"namespace": "other"}, 2)])
async def test_no_query_is_shared_by_accounts_or_namespaces(file: Path, other: dict[str, str], backends: int) -> None:
    first = trigger_services.services(folders=(str(file.parent),))
    triggers = [sql(file), sql(file)]
    tasks = []
    for trigger, services in zip(triggers, (first, replace(first, **other)), strict=True):  # type: ignore[arg-type]
        trigger.bind(services)
        tasks.append(asyncio.create_task(trigger_services.first(trigger)))
    for trigger in triggers:
        await trigger_services.looked(trigger, "no row")
    assert len(first.backends.pollers) == backends
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await first.backends.pollers.ended()
    assert len(first.backends.pollers) == 0


async def test_what_any_of_waits_for_is_asked_for_with_the_others(file: Path) -> None:
    given = trigger_services.backends(folders=(str(file.parent),))
    query = "SELECT name FROM jobs WHERE name = :name"
    async with AsyncExitStack() as stack:
        triggers = [AnyOf([sql(file, query, params={"name": f"job-{number}"})]) for number in range(5)]
        for trigger in triggers:
            await stack.enter_async_context(trigger_services.waiting(trigger, given))
        await trigger_services.looked(triggers[4], "no row")
        assert len(given.pollers) == 1


async def test_each_row_fires_once_with_the_cursor_of_the_row_before(file: Path) -> None:
    query = (
        "SELECT name, rowid AS cursor FROM jobs WHERE rowid > CAST(coalesce(:cursor, '0') AS integer) ORDER BY rowid"
    )
    for number in range(5):
        add(file, f"job {number}")
    cursor, names = None, []
    for _ in range(5):
        event = await trigger_services.event(sql(file, query, cursor=cursor), folders=(str(file.parent),))
        names.append(event["rows"][0]["name"])
        cursor = event["cursor"]
        assert event == {"count": 1, "rows": [{"name": names[-1], "cursor": int(cursor)}], "cursor": cursor}
    assert names == [f"job {number}" for number in range(5)]
    last = sql(file, query, cursor=cursor)
    async with trigger_services.waiting(last, folders=(str(file.parent),)) as wait:
        await trigger_services.looked(last, "the query returns no row")
        add(file, "late")
        assert (await wait)["cursor"] == "6"


@pytest.mark.parametrize(
    ("query", "condition", "words"),
    [
        ("SELECT name FROM jobs WHERE :cursor = :cursor", None, "must return a column `cursor`"),
        ("SELECT NULL AS cursor FROM jobs WHERE :cursor = :cursor", None, "must return a column `cursor`"),
        ("SELECT 1.5 AS cursor FROM jobs WHERE :cursor = :cursor", None, "is of type float or too long"),
        ("SELECT printf('%2000d', 1) AS cursor FROM jobs WHERE :cursor = :cursor", None, "is of type str or too long"),
        ("SELECT rowid AS cursor FROM jobs WHERE rowid >= CAST(:cursor AS integer)", None, "would fire again"),
        ("SELECT rowid AS cursor FROM jobs WHERE rowid > :cursor + 9", "size(rows) == 0", "true without a row"),
    ],
)
async def test_a_query_without_a_next_cursor_fails_and_says_so(
    file: Path, query: str, condition: str | None, words: str
) -> None:
    add(file, "mine")
    trigger = sql(file, query, condition=condition, cursor="1")
    with pytest.raises(ValueError, match=words):
        await trigger_services.event(trigger, folders=(str(file.parent),))
