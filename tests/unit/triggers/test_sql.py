"""`sql`: what it takes, what it stores, which database it means, and how a row becomes JSON."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from ipaddress import IPv4Address
from typing import Any
from uuid import UUID

import pytest
from torpor.triggers import Sql
from torpor.triggers.support import database_url, sql_batch
from torpor.triggers.support.arguments import Revealed
from torpor.triggers.support.database_url import PostgresServer, SqliteFile
from torpor_wire import canonical

from tests.support import trigger_services

URL = "postgresql://joe@db.example.org/app"
SECRET = {"secretRef": {"name": "db", "key": "url"}}


def test_only_what_differs_from_the_defaults_is_stored() -> None:
    expected = ("sql", {"url": URL, "query": "SELECT 1"})
    assert Sql(URL, "SELECT 1").serialize() == expected
    assert Sql(URL, "SELECT 1", params={}, interval="10s", timeout=10).serialize() == expected


def test_it_reads_back_what_it_wrote() -> None:
    given = Sql(
        SECRET,
        "SELECT * FROM t WHERE day = CAST(:day AS date) AND n > :n",
        params={"day": "2026-11-20", "n": 3},
        condition="row.n > 5",
        interval="1m",
        timeout=2.5,
    )
    name, kwargs = given.serialize()
    assert kwargs["url"] == SECRET
    assert Sql(**json.loads(json.dumps(kwargs))).serialize() == (name, kwargs)


@pytest.mark.parametrize("cursor", [None, "", "17", "2026-11-20T08:00:00+00:00"])
def test_a_cursor_is_stored_and_bound_as_text(cursor: str | None) -> None:
    given = Sql(URL, "SELECT :cursor AS cursor", params={"day": "x"}, cursor=cursor)
    assert given.bound == {"day": "x", "cursor": cursor}
    name, kwargs = given.serialize()
    assert kwargs["cursor"] == cursor
    assert Sql(**json.loads(json.dumps(kwargs))).serialize() == (name, kwargs)


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"url": 7}, TypeError, "url must be text or a secretRef"),
        ({"url": "db"}, ValueError, "postgresql or sqlite, not of no scheme"),
        ({"url": "mysql://joe@db/app"}, ValueError, "not of mysql"),
        ({"url": "postgresql://db/app"}, ValueError, "has no user"),
        ({"url": "postgresql:///app"}, ValueError, "has no host"),
        ({"url": "postgresql://joe@db:99999/app"}, ValueError, "not a URL such as"),
        ({"url": "postgresql://joe@db/app?passfile=/etc/passwd"}, ValueError, "'passfile'; only sslmode"),
        ({"url": "postgresql://joe@db/app?host=/run/postgresql"}, ValueError, "'host'; only sslmode"),
        ({"url": "postgresql://joe@db/app?sslmode=no"}, ValueError, "sslmode must be one of disable"),
        ({"url": "postgresql://joe:hunter2@db/app"}, ValueError, "put the URL in a Secret"),
        ({"url": "sqlite://"}, ValueError, "absolute path"),
        ({"url": "sqlite:////data/x.db?mode=rwc"}, ValueError, "without parameters"),
        ({"url": {"secretRef": {"name": "db"}}}, ValueError, "url: a secretRef must be"),
        ({"query": ""}, ValueError, "query must be one statement"),
        ({"query": 7}, TypeError, "query must be SQL"),
        ({"query": "SELECT '\0'"}, ValueError, "query must be one statement"),
        ({"params": ["a"]}, TypeError, "params must be a mapping"),
        ({"params": {"a b": 1}}, ValueError, "'a b' is not a valid parameter name"),
        ({"params": {"a": [1]}}, TypeError, "params: a is of type list"),
        ({"params": {"a": {"secretRef": "x"}}}, ValueError, "params: a: a secretRef must be"),
        ({"condition": True}, TypeError, "condition must be a CEL expression"),
        ({"interval": 0}, ValueError, "interval is 0 seconds"),
        ({"timeout": "2m"}, ValueError, "60 are allowed"),
        ({"cursor": "1"}, ValueError, "query must contain :cursor"),
        ({"cursor": None}, ValueError, "query must contain :cursor"),
        ({"query": "SELECT :cursor", "cursor": 1}, TypeError, "cursor must be text or null"),
        ({"query": "SELECT :cursor", "cursor": "x" * 1025}, ValueError, "cursor has 1025 characters"),
        ({"query": "SELECT :cursor", "cursor": "1", "params": {"cursor": 2}}, ValueError, "params: cursor is the name"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_does(kwargs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        Sql(**{"url": URL, "query": "SELECT 1", **kwargs})
    assert "hunter2" not in str(caught.value)


def test_a_password_that_came_from_a_secret_is_taken() -> None:
    trigger = Sql(Revealed("postgresql://joe:hunter2@db/app"), "SELECT 1")
    trigger.bind(trigger_services.services())
    assert "hunter2" not in repr(vars(trigger)["url"])


def test_an_unread_reference_cannot_run() -> None:
    with pytest.raises(TypeError, match="url must be text"):
        Sql(SECRET, "SELECT 1").bind(trigger_services.services())


def test_a_condition_is_over_rows_and_row_alone() -> None:
    Sql(URL, "SELECT 1", condition="size(rows) == 0 || row.a > 1").bind(trigger_services.services())
    with pytest.raises(ValueError, match="event"):
        Sql(URL, "SELECT 1", condition="event.a > 1").bind(trigger_services.services())


def test_an_sqlite_file_is_in_a_folder_that_is_open() -> None:
    Sql("sqlite:////data/x.db", "SELECT 1").bind(trigger_services.services(folders=("/data",)))
    with pytest.raises(ValueError, match="is in no folder"):
        Sql("sqlite:////etc/x.db", "SELECT 1").bind(trigger_services.services(folders=("/data",)))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (URL, PostgresServer("db.example.org", 5432, "joe", "", "app", "prefer")),
        ("postgres://joe:a%40b%2F@[::1]:6432/", PostgresServer("::1", 6432, "joe", "a@b/", "joe", "prefer")),
        (
            "postgresql+asyncpg://joe@db/my%20app?sslmode=verify-full",
            PostgresServer("db", 5432, "joe", "", "my app", "verify-full"),
        ),
        ("sqlite:////data/x.db", SqliteFile("/data/x.db")),
        ("sqlite+aiosqlite:///data/a%20b.db", SqliteFile("/data/a b.db")),
    ],
)
def test_a_url_is_read_as_its_drivers_do(url: str, expected: PostgresServer | SqliteFile) -> None:
    assert database_url.parse_database_url(url) == expected


def test_no_message_about_a_url_shows_its_password() -> None:
    for url in (
        "nope://joe:hunter2@db",
        "postgresql://joe:hunter2@/app",
        "postgresql://joe:hunter2@db:port/",
        "\nhunter2",
    ):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words differ
            database_url.parse_database_url(url)
        assert "hunter2" not in str(caught.value)


def test_a_row_becomes_json_without_loss() -> None:
    row = {
        "at": datetime(2026, 11, 20, 8, 0, 0, 1, tzinfo=UTC),
        "day": date(2026, 11, 20),
        "price": Decimal("0.10"),
        "id": UUID(int=1),
        "length": timedelta(minutes=1),
        "from": IPv4Address("10.0.0.1"),
        "tags": ["a", None],
        "state": {"at": [Decimal(1)]},
        "far": float("inf"),
        "many": 2**60,
    }
    json_row = sql_batch.json_row(row)
    assert json.loads(canonical.plain(json_row)) == json_row
    assert json_row == {
        "at": "2026-11-20T08:00:00.000001+00:00",
        "day": "2026-11-20",
        "price": "0.10",
        "id": "00000000-0000-0000-0000-000000000001",
        "length": 60.0,
        "from": "10.0.0.1",
        "tags": ["a", None],
        "state": {"at": ["1"]},
        "far": "inf",
        "many": 2**60,
    }


@pytest.mark.parametrize(("value", "words"), [(b"x", "encode\\(picture, 'base64'\\)"), (object(), "cast it to text")])
def test_what_json_cannot_say_is_refused_with_what_the_query_could(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=f"'picture'.*{words}"):
        sql_batch.json_row({"picture": value})
