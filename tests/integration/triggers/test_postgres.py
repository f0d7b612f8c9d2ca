"""`sql` against a PostgreSQL server: what it finds, what it survives, and what it leaves behind."""

import asyncio
import uuid
from contextlib import AsyncExitStack
from typing import Any

import pytest
from torpor.triggers import Sql
from torpor.triggers.support.arguments import Revealed

from tests.integration.triggers.servers.postgres import PASSWORD, Postgres
from tests.support import trigger_services

OURS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'torpor'"


@pytest.fixture
async def table(postgres: Postgres) -> str:
    """A table of the test's own."""
    name = f"t_{uuid.uuid4().hex[:8]}"
    await postgres.execute(
        f"CREATE TABLE {name} (id int, day date, price numeric(20, 10), state jsonb, at timestamptz)"
    )
    return name


def sql(postgres: Postgres, query: str, **given: Any) -> Sql:
    return Sql(Revealed(given.pop("url", postgres.url)), query, **{"interval": 0.1, **given})


async def counted(postgres: Postgres, query: str, number: int) -> None:
    """Until it counts so many: a connection that was ended is seen for a moment more."""
    async with asyncio.timeout(trigger_services.TIMEOUT):
        while await postgres.value(query) != number:  # noqa: ASYNC110 - a server rings no bell
            await asyncio.sleep(0.02)


async def test_it_fires_with_the_row_that_its_parameters_ask_for(postgres: Postgres, table: str) -> None:
    trigger = sql(
        postgres,
        f"SELECT * FROM {table} WHERE day = CAST(:day AS date) AND id > :least AND state ->> 'is' = :state",
        params={"day": "2026-11-20", "least": 1, "state": "do'ne"},
    )
    async with trigger_services.waiting(trigger) as wait:
        await trigger_services.looked(trigger, "the query returns no row")
        await postgres.execute(
            f"INSERT INTO {table} VALUES (1, '2026-11-20', 0, '{{\"is\": \"do''ne\"}}')",
            f"""INSERT INTO {table}
                VALUES (3, '2026-11-20', 0.1, '{{"is": "do''ne", "of": [1.5]}}', '2026-11-20T08:00:00.000001+01')""",
        )
        event = await wait
    assert event["rows"] == [
        {
            "id": 3,
            "day": "2026-11-20",
            "price": "0.1000000000",
            "state": {"is": "do'ne", "of": [1.5]},
            "at": "2026-11-20T07:00:00.000001+00:00",
        }
    ]


async def test_a_condition_is_judged_over_what_a_json_column_holds(postgres: Postgres, table: str) -> None:
    await postgres.execute(f'INSERT INTO {table} (id, state) VALUES (1, \'{{"phase": "running"}}\')')
    trigger = sql(postgres, f"SELECT state FROM {table}", condition="rows.all(r, r.state.phase == 'done')")
    async with trigger_services.waiting(trigger) as wait:
        await trigger_services.looked(trigger, "the query returns 1 row; condition is false")
        await postgres.execute(f'UPDATE {table} SET state = \'{{"phase": "done"}}\'')
        assert (await wait)["rows"] == [{"state": {"phase": "done"}}]


async def test_of_a_million_rows_a_hundred_come_over(postgres: Postgres) -> None:
    event = await trigger_services.event(
        sql(postgres, "SELECT i, repeat('x', 100) FROM generate_series(1, 1000000) AS i")
    )
    assert event["count"] == 100
    assert event["truncated"] is True
    assert event["rows"][0]["i"] == 1


async def test_waits_on_one_database_share_one_pool_that_ends_with_the_last(postgres: Postgres, table: str) -> None:
    backends = trigger_services.backends()
    async with AsyncExitStack() as stack:
        triggers = [sql(postgres, f"SELECT * FROM {table}") for _ in range(20)]
        waits = [await stack.enter_async_context(trigger_services.waiting(trigger, backends)) for trigger in triggers]
        for trigger in triggers:
            await trigger_services.looked(trigger, "no row")
        assert len(backends.clients) == 1
        assert 1 <= int(str(await postgres.value(OURS))) <= 5
        await postgres.execute(f"INSERT INTO {table} (id) VALUES (1)")
        assert [event["count"] for event in await asyncio.gather(*waits)] == [1] * 20
    await backends.clients.closed()
    assert len(backends.clients) == 0
    await counted(postgres, OURS, 0)


async def test_it_outlives_a_server_that_goes_away_and_comes_back(postgres: Postgres, table: str) -> None:
    trigger = sql(postgres, f"SELECT * FROM {table}")
    async with trigger_services.waiting(trigger) as wait:
        await trigger_services.looked(trigger, "no row")
        postgres.process.kill()
        look = await trigger_services.looked(trigger, "the database does not answer")
        assert "127.0.0.1" not in look
        postgres.process.start()
        await trigger_services.looked(trigger, "no row")
        await postgres.execute(f"INSERT INTO {table} (id) VALUES (1)")
        assert (await wait)["count"] == 1


async def test_it_survives_a_connection_killed_between_and_during_its_polls(postgres: Postgres, table: str) -> None:
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'torpor'"
    trigger = sql(postgres, f"SELECT id, pg_sleep(0.3) FROM {table} WHERE id > 0 OR pg_sleep(0.3) IS NULL")
    async with trigger_services.waiting(trigger) as wait:
        await postgres.execute(f"INSERT INTO {table} (id) VALUES (0)")
        await trigger_services.looked(trigger, "no row")
        for _ in range(10):
            await postgres.execute(kill)
            await asyncio.sleep(0.07)
        await postgres.execute(f"UPDATE {table} SET id = 1")
        assert (await wait)["count"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({PASSWORD: "wrong"}, 'the database: password authentication failed for user "torpor"'),
        ({f":{PASSWORD}": ""}, "password authentication failed"),
        ({"torpor:": "nobody:"}, 'password authentication failed for user "nobody"'),
    ],
)
async def test_a_wrong_password_fails_the_wait_and_is_not_shown(
    postgres: Postgres, change: dict[str, str], words: str
) -> None:
    url = postgres.url
    for old, new in change.items():
        url = url.replace(old, new)
    with pytest.raises(PermissionError, match=words) as caught:
        await trigger_services.event(sql(postgres, "SELECT 1", url=url))
    assert PASSWORD not in str(caught.value)
    assert "wrong" not in str(caught.value)


@pytest.mark.parametrize(
    ("query", "error", "words"),
    [
        ("SELECT * FROM absent", ValueError, 'relation "absent" does not exist'),
        ("SELECT 1; SELECT 2", ValueError, "multiple commands"),
        ("SELECT 1 / 0", ValueError, "division by zero"),
        ("SET statement_timeout = 0", ValueError, "must be a SELECT"),
        ("DELETE FROM pg_class RETURNING 1", ValueError, "read-only transaction"),
        ("WITH x AS (CREATE TABLE y) SELECT 1", ValueError, "syntax error"),
        ("SELECT nextval('pg_class')", ValueError, "not a sequence"),
    ],
)
async def test_a_query_that_will_never_do_fails_the_wait(
    postgres: Postgres, query: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        await trigger_services.event(sql(postgres, query))


async def test_an_error_says_how_to_write_a_parameter_before_a_cast(postgres: Postgres) -> None:
    with pytest.raises(ValueError, match=r"write CAST\(:name AS date\)"):
        await trigger_services.event(sql(postgres, "SELECT :day::date", params={"day": "2026-11-20"}))


async def test_a_query_that_takes_too_long_is_ended_on_the_server(postgres: Postgres) -> None:
    trigger = sql(postgres, "SELECT pg_sleep(60)", timeout=0.3)
    async with trigger_services.waiting(trigger):
        await trigger_services.looked(trigger, "does not answer: canceling statement due to statement timeout")


async def test_a_wait_cancelled_during_a_query_leaves_nothing_on_the_server(
    postgres: Postgres,
) -> None:
    backends = trigger_services.backends()
    async with trigger_services.waiting(sql(postgres, "SELECT pg_sleep(60)", timeout=60), backends):
        await counted(postgres, f"{OURS} AND state = 'active'", 1)
    await backends.clients.closed()
    await counted(postgres, OURS, 0)


async def test_a_server_that_takes_no_more_connections_is_waited_for(postgres: Postgres) -> None:
    role = f"r_{uuid.uuid4().hex[:8]}"
    await postgres.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x' CONNECTION LIMIT 0")
    trigger = sql(postgres, "SELECT 1 AS one", url=postgres.url.replace(f"torpor:{PASSWORD}", f"{role}:x"))
    async with trigger_services.waiting(trigger) as wait:
        await trigger_services.looked(trigger, "too many connections for role")
        await postgres.execute(f"ALTER ROLE {role} CONNECTION LIMIT 1")
        assert (await wait)["rows"] == [{"one": 1}]


async def test_a_missing_right_to_a_table_is_reported(postgres: Postgres, table: str) -> None:
    role = f"r_{uuid.uuid4().hex[:8]}"
    await postgres.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    url = postgres.url.replace(f"torpor:{PASSWORD}", f"{role}:x")
    with pytest.raises(PermissionError, match=f"permission denied for table {table}"):
        await trigger_services.event(sql(postgres, f"SELECT * FROM {table}", url=url))
