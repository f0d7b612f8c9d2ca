"""The steps make the tables that the program knows, and making them twice changes nothing."""

import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine
from torpor_api.timing import SystemClock
from torpor_archive.errors import RefusedError
from torpor_archive.storage import database
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import METADATA


def threads_end() -> None:
    """A connection that came to nothing has a thread, which tells the loop of its end."""
    for thread in threading.enumerate():
        if "_connection_worker_thread" in thread.name:
            thread.join(30)


def opened(url: str) -> Database:
    return Database(url, SystemClock(), patience=0.1, note=lambda _did: None)


async def test_the_steps_and_the_tables_are_one(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    for _ in range(2):
        made = opened(f"sqlite:///{path}")
        await made.migrate()
        await made.close()
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


async def test_before_its_tables_are_there_a_database_serves_nobody(tmp_path: Path) -> None:
    absent = opened(f"sqlite:///{tmp_path}/none/archive.db")
    with pytest.raises(RefusedError, match="does not answer"):
        await absent.migrate()
    with pytest.raises(RefusedError) as caught:
        await absent.read(lambda connection: connection.commit())
    assert caught.value.refusal.reason == "DatabaseUnavailable"
    await absent.close()
    threads_end()


def test_libpqs_word_for_tls_is_understood() -> None:
    assert database._url("postgresql://u@h/d?sslmode=require").query == {"ssl": "require"}
    assert database._url("postgres://u:p@h/d").drivername == "postgresql+asyncpg"


@pytest.mark.parametrize("url", ["mysql://u:secret@h/d", "nonsense", ""])
def test_an_address_of_no_database_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ValueError, match="postgresql") as caught:
        opened(url)
    assert "secret" not in str(caught.value)
