"""Thousands of waits on one PostgreSQL database: the number of their queries, and which wait a bad query fails."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from torpor.triggers import Sql
from torpor.triggers.support.arguments import Revealed

from tests.integration.triggers.servers.postgres import Postgres
from tests.support import trigger_services

MANY = 5000


@dataclass(kw_only=True)
class SqlWaits:
    """`sql` waits that run in one process, by name."""

    backends: Any = field(default_factory=trigger_services.backends)
    triggers: dict[Any, Sql] = field(default_factory=dict)
    tasks: dict[Any, asyncio.Task[Any]] = field(default_factory=dict)

    def add(self, name: Any, trigger: Sql) -> None:
        trigger.bind(trigger_services.services(self.backends))
        self.triggers[name] = trigger
        self.tasks[name] = asyncio.create_task(trigger_services.first(trigger))

    async def all_looked(self) -> None:
        await trigger_services.until(
            lambda: all(trigger.last_look for name, trigger in self.triggers.items() if not self.tasks[name].done())
        )

    def outcomes(self) -> dict[Any, Any]:
        """The events and errors of the waits that have ended."""
        return {name: task.exception() or task.result() for name, task in self.tasks.items() if task.done()}


@asynccontextmanager
async def shared_poll() -> AsyncIterator[SqlWaits]:
    """Waits that share their queries, cancelled at the end."""
    poll = SqlWaits()
    try:
        yield poll
    finally:
        for task in poll.tasks.values():
            task.cancel()
        await asyncio.gather(*poll.tasks.values(), return_exceptions=True)
        await poll.backends.pollers.ended()
        await poll.backends.clients.closed()


@pytest.fixture
async def table(postgres: Postgres) -> str:
    """A table of the test's own, of loads by number and day."""
    name = f"t_{uuid.uuid4().hex[:8]}"
    await postgres.execute(
        "CREATE EXTENSION IF NOT EXISTS pg_stat_statements",
        f"CREATE TABLE {name} (id int PRIMARY KEY, day date, state text, price numeric(20, 10), more jsonb)",
    )
    return name


def sql(postgres: Postgres, query: str, **given: Any) -> Sql:
    return Sql(Revealed(given.pop("url", postgres.url)), query, **{"interval": 0.5, **given})


async def queries(postgres: Postgres, table: str) -> int:
    """How many queries of the table there have been, as the server counts poll."""
    calls = "SELECT coalesce(sum(calls), 0)::int FROM pg_stat_statements WHERE query LIKE '%{}%' AND query LIKE '%{}%'"
    return int(str(await postgres.value(calls.format(f"FROM {table} ", "torpor_asked"))))


async def test_five_thousand_rows_are_awaited_by_one_query_an_interval(postgres: Postgres, table: str) -> None:
    async with shared_poll() as poll:
        for number in range(MANY):
            poll.add(number, sql(postgres, f"SELECT id, state FROM {table} WHERE id = :id", params={"id": number}))
        await poll.all_looked()
        began, before = time.monotonic(), await queries(postgres, table)
        await asyncio.sleep(5)
        sent = await queries(postgres, table) - before
        rounds = (time.monotonic() - began) / 0.5
        assert 0 < sent <= rounds / 0.9 + 1

        await postgres.execute(f"INSERT INTO {table} (id, state) VALUES (7, 'done'), (4999, 'bad'), (70000, 'done')")
        await trigger_services.until(lambda: len(poll.outcomes()) == 2)
        assert poll.outcomes() == {
            7: {"count": 1, "rows": [{"id": 7, "state": "done"}]},
            4999: {"count": 1, "rows": [{"id": 4999, "state": "bad"}]},
        }


ALIKE = [
    ("SELECT * FROM {} WHERE id = :id", {"id": 1}),
    ("SELECT *, now() - now() AS span, ARRAY[1.5, 2] AS list, 1 = 1 AS yes FROM {} WHERE id = :id;", {"id": 1}),
    ("SELECT id, price FROM {} WHERE price < :most ORDER BY price DESC LIMIT 2 -- the dearest", {"most": 3}),
    (
        "SELECT id FROM {} WHERE day = CAST(:day AS date) AND state <> '\\:no $1' OR more ->> 'is' = :is ORDER BY id",
        {"day": "2026-11-20", "is": "x"},
    ),
    (
        "WITH late AS (SELECT * FROM {} WHERE day > CAST(:day AS date)) SELECT count(*) AS n, max(id) FROM late",
        {"day": "2026-11-19"},
    ),
    ("SELECT t.id AS torpor_asked, p0 FROM {} t, (SELECT 5 AS p0) AS o WHERE id > :id ORDER BY id", {"id": 0}),
    ("SELECT id FROM {} WHERE CAST(:id AS int) IS NULL OR id = CAST(:id AS int) ORDER BY id", {"id": None}),
    ("SELECT id FROM {} UNION ALL SELECT CAST(:big AS bigint) ORDER BY id DESC", {"big": 2**40}),
    (
        "SELECT :a AS a, CAST(:b AS boolean) AS b, CAST(:c AS float) AS c FROM {} LIMIT 1",
        {"a": "ü", "b": True, "c": 1.5},
    ),
    ("SELECT count(*) FROM {} WHERE id = 1", {}),
    ("SELECT i FROM {} t, generate_series(1, :n) i WHERE t.id = 1 ORDER BY i", {"n": 300}),
]


@pytest.mark.parametrize(("query", "params"), ALIKE)
async def test_a_wait_gets_the_same_event_alone_and_among_others(
    postgres: Postgres, table: str, query: str, params: dict[str, Any]
) -> None:
    for number in (1, 2, 3):
        await postgres.execute(
            f"INSERT INTO {table} VALUES ({number}, '2026-11-2{number - 1}', 'a', {number} / 7.0, '{{\"is\": \"x\"}}')"
        )
    query = query.format(table)
    alone = await trigger_services.event(sql(postgres, query, params=params))
    others = {"condition": "size(rows) > 1000"}
    async with shared_poll() as poll:
        poll.add("other", sql(postgres, query, params=params, **others))
        await poll.all_looked()
        for name in ("another", "third"):
            poll.add(name, sql(postgres, query, params=params, **others))
        poll.add("mine", sql(postgres, query, params=params))
        assert await poll.tasks["mine"] == alone
        assert not params or await queries(postgres, table) > 0


async def test_a_condition_is_judged_for_each_and_only_where_its_rows_are_others(
    postgres: Postgres, table: str
) -> None:
    await postgres.execute(f"INSERT INTO {table} (id, state) SELECT i, 'busy' FROM generate_series(0, 99) AS i")
    query = f"SELECT state FROM {table} WHERE id = :id"
    async with shared_poll() as poll:
        evaluated: list[Any] = []
        evaluator = poll.backends.evaluator
        evaluate = evaluator.evaluate

        async def counted(expression: str, variables: Any, *, share: str) -> Any:
            evaluated.append(variables)
            return await evaluate(expression, variables, share=share)

        evaluator.evaluate = counted
        for number in range(100):
            poll.add(number, sql(postgres, query, params={"id": number}, condition="row.state == 'done'"))
        await poll.all_looked()
        poll_stats = [trigger.services.poll_stats for trigger in poll.triggers.values()]  # type: ignore[attr-defined]
        await trigger_services.until(lambda: all(stats.tries > 2 for stats in poll_stats))
        assert len(evaluated) == 100
        assert poll.triggers[5].last_look == "the query returns 1 row; condition is false"
        await postgres.execute(f"UPDATE {table} SET state = 'done' WHERE id IN (5, 6)")
        await trigger_services.until(lambda: len(poll.outcomes()) == 2)
        assert poll.outcomes()[5] == {"count": 1, "rows": [{"state": "done"}]}


async def test_a_value_that_spoils_the_query_fails_its_wait_alone(postgres: Postgres, table: str) -> None:
    await postgres.execute(f"INSERT INTO {table} (id, day) VALUES (0, '2025-01-01')")
    query = f"SELECT id FROM {table} WHERE day = CAST(:day AS date)"
    async with shared_poll() as poll:
        for number in range(100):
            poll.add(
                number, sql(postgres, query, params={"day": "no day" if number == 37 else f"2026-01-{number % 28 + 1}"})
            )
        await trigger_services.until(lambda: 37 in poll.outcomes())
        assert 'invalid input syntax for type date: "no day"' in str(poll.outcomes()[37])
        await poll.all_looked()
        await postgres.execute(f"INSERT INTO {table} (id, day) VALUES (1, '2026-01-03')")
        await trigger_services.until(lambda: len(poll.outcomes()) == 1 + 4)
        assert {number % 28 for number in poll.outcomes() if number != 37} == {2}


async def test_a_value_that_makes_the_query_slow_delays_no_other_wait_for_long(postgres: Postgres, table: str) -> None:
    query = f"SELECT id FROM {table} WHERE id = :id AND (:id <> 13 OR pg_sleep(60) IS NOT NULL)"
    await postgres.execute(f"INSERT INTO {table} (id) VALUES (13)")
    async with shared_poll() as poll:
        for number in range(64):
            poll.add(number, sql(postgres, query, params={"id": number}, timeout=0.3, interval=0.2))
        await trigger_services.until(lambda: "statement timeout" in poll.triggers[13].last_look)
        await trigger_services.until(
            lambda: sum(trigger.last_look == "the query returns no row" for trigger in poll.triggers.values()) == 63
        )
        await postgres.execute(f"INSERT INTO {table} (id) SELECT i FROM generate_series(0, 63) AS i WHERE i <> 13")
        await trigger_services.until(lambda: len(poll.outcomes()) == 63)
        assert 13 not in poll.outcomes()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT id FROM absent WHERE id = :id", 'relation "absent" does not exist'),
        ("SELECT id FROM {} WHERE id = :other", "the query has the parameters :other, but params has :id"),
        ("DELETE FROM {} WHERE id = :id RETURNING id", "read-only transaction"),
        ("SELECT id FROM {} WHERE id = :id; SELECT 1", "multiple commands"),
    ],
)
async def test_a_query_that_makes_no_sense_fails_all_its_waits(
    postgres: Postgres, table: str, query: str, words: str
) -> None:
    async with shared_poll() as poll:
        for number in range(20):
            poll.add(number, sql(postgres, query.format(table), params={"id": number}))
        await trigger_services.until(lambda: len(poll.outcomes()) == 20)
        assert all(words in str(error) for error in poll.outcomes().values())


async def test_a_query_that_cannot_be_joined_is_asked_for_each(postgres: Postgres, table: str) -> None:
    await postgres.execute(f"INSERT INTO {table} (id) VALUES (3)")
    query = f"EXPLAIN (FORMAT JSON) SELECT id FROM {table} WHERE id = :id"
    async with shared_poll() as poll:
        for number in range(5):
            poll.add(number, sql(postgres, query, params={"id": number}))
        await trigger_services.until(lambda: len(poll.outcomes()) == 5)
        assert {outcome["count"] for outcome in poll.outcomes().values()} == {1}


async def test_thousands_outlive_a_server_that_goes_away_and_comes_back(postgres: Postgres, table: str) -> None:
    async with shared_poll() as poll:
        for number in range(2000):
            poll.add(number, sql(postgres, f"SELECT id FROM {table} WHERE id = :id", params={"id": number}))
        await poll.all_looked()
        postgres.process.kill()
        await trigger_services.until(
            lambda: all("does not answer" in trigger.last_look for trigger in poll.triggers.values())
        )
        assert not any("127.0.0.1" in trigger.last_look for trigger in poll.triggers.values())
        postgres.process.start()
        await postgres.execute(f"INSERT INTO {table} (id) VALUES (1999)")
        await trigger_services.until(lambda: len(poll.outcomes()) == 1)
        assert set(poll.outcomes()) == {1999}


async def test_a_wrong_password_is_tried_once_for_all(postgres: Postgres, table: str) -> None:
    url = postgres.url.replace("torpor:", "nobody:")
    async with shared_poll() as poll:
        for number in range(50):
            poll.add(number, sql(postgres, f"SELECT id FROM {table} WHERE id = :id", params={"id": number}, url=url))
        await trigger_services.until(lambda: len(poll.outcomes()) == 50)
        assert {str(error) for error in poll.outcomes().values()} == {
            'the database: password authentication failed for user "nobody"'
        }
    tries = (postgres.process.folder / "log").read_text().count('authentication failed for user "nobody"')
    assert tries < 10
