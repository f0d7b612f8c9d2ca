"""Runs transactions on the database: PostgreSQL through asyncpg, or a SQLite file through aiosqlite.

A transaction is retried for a bounded time while the database is unavailable, so each must be idempotent. Programming
errors are not retried. This module knows no tables.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
from alembic import command
from alembic.config import Config
from sqlalchemy import event, text
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from torpor_kubernetes.timing import Clock
from torpor_wire.retry import Backoff

from torpor_archive import errors
from torpor_archive.errors import RefusedError

T = TypeVar("T")

ATTEMPT_SECONDS = 15.0
LOCK_SECONDS = 2
MIGRATION_SECONDS = 300.0
POOL = 16
_MIGRATION_LOCK = 0x746F72706F72
_PROGRAM_ERRORS = (IntegrityError, ProgrammingError, DataError)
_UNAVAILABLE = (
    DBAPIError,
    PoolTimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    OSError,
)

log = logging.getLogger(__name__)


class Database:
    """One database. A failed transaction is retried for `retry_seconds`."""

    def __init__(self, url: str, clock: Clock, *, retry_seconds: float, on_transaction: Callable[[bool], None]) -> None:
        parsed = _parse_url(url)
        self.is_postgresql = parsed.get_backend_name() == "postgresql"
        self._engine = _postgresql(parsed) if self.is_postgresql else _sqlite(parsed)
        # SQLite allows one writer at a time, and its own lock has no queue.
        self._write_lock = asyncio.Lock()
        self._clock = clock
        self._retry_seconds = retry_seconds
        self._backoff = Backoff(first=0.1, cap=retry_seconds)
        self._on_transaction = on_transaction
        self._migrated = False

    @property
    def is_ready(self) -> bool:
        """Whether the migration has completed."""
        return self._migrated

    async def read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Return the result of `work` in a transaction. Raises RefusedError (503) if the database is unavailable."""
        return await self._retry(work, writes=False)

    async def write(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Run `work`, which must be idempotent, in a transaction that may change data. Raises as `read` does."""
        return await self._retry(work, writes=True)

    async def migrate(self) -> None:
        """Migrate the tables to this version; replicas take turns. Raises as `read` does."""
        async with self._transaction(MIGRATION_SECONDS, writes=True) as connection:
            if self.is_postgresql:
                await connection.execute(text(f"SET LOCAL lock_timeout = '{MIGRATION_SECONDS:.0f}s'"))
                await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            await connection.run_sync(_upgrade)
        self._migrated = True

    async def ping(self) -> None:
        """Run a query. Raises RefusedError (503) if the database is unavailable."""
        async with self._transaction(ATTEMPT_SECONDS, writes=False) as connection:
            await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.dispose()

    async def _retry(self, work: Callable[[AsyncConnection], Awaitable[T]], *, writes: bool) -> T:
        if not self._migrated:
            raise RefusedError(_unavailable())
        end = self._clock.monotonic() + self._retry_seconds
        failures = 0
        while True:
            try:
                async with self._transaction(ATTEMPT_SECONDS, writes=writes) as connection:
                    return await work(connection)
            except RefusedError as error:
                failures += 1
                delay = self._backoff.delay(failures, random.random())  # noqa: S311 - jitter, no secret
                if error.refusal.status != _unavailable().status or self._clock.monotonic() + delay > end:
                    raise
            await self._clock.sleep(delay)

    @asynccontextmanager
    async def _transaction(self, seconds: float, *, writes: bool) -> AsyncIterator[AsyncConnection]:
        try:
            async with asyncio.timeout(seconds), self._connect(writes=writes) as connection:
                yield connection
        except _PROGRAM_ERRORS:
            raise
        except _UNAVAILABLE as error:
            log.warning("database unavailable: %s: %s", type(error).__name__, _driver_message(error))
            self._on_transaction(False)
            raise RefusedError(_unavailable()) from error
        self._on_transaction(True)

    @asynccontextmanager
    async def _connect(self, *, writes: bool) -> AsyncIterator[AsyncConnection]:
        if self.is_postgresql or not writes:
            async with self._engine.begin() as connection:
                yield connection
            return
        async with self._write_lock, self._engine.connect() as connection:
            await connection.execution_options(torpor_writes=True)
            async with connection.begin():
                yield connection


def _parse_url(address: str) -> URL:
    """Parse the URL and set the driver. Raises ValueError for other kinds of database."""
    try:
        url = make_url(address)
    except ArgumentError:
        message = "cannot parse the database URL; use postgresql://user:password@host/name or sqlite:///path"
        raise ValueError(message) from None  # the library's message contains the URL and its password
    match url.get_backend_name():
        case "postgresql" | "postgres":
            return _translate_sslmode(url).set(drivername="postgresql+asyncpg")
        case "sqlite":
            return url.set(drivername="sqlite+aiosqlite")
        case other:
            raise ValueError(f"unknown database kind {other!r}; use postgresql or sqlite")


def _translate_sslmode(url: URL) -> URL:
    """Rename libpq's `sslmode` to `ssl`, asyncpg's name."""
    mode = url.query.get("sslmode")
    return url if mode is None else url.difference_update_query(["sslmode"]).update_query_dict({"ssl": mode})


def _postgresql(url: URL) -> AsyncEngine:
    return create_async_engine(
        url, pool_size=POOL, max_overflow=0, pool_timeout=ATTEMPT_SECONDS, pool_pre_ping=True, hide_parameters=True
    )


def _sqlite(url: URL) -> AsyncEngine:
    engine = create_async_engine(
        url,
        pool_size=POOL,
        max_overflow=0,
        pool_timeout=ATTEMPT_SECONDS,
        hide_parameters=True,
        connect_args={"timeout": LOCK_SECONDS},
    )
    event.listen(engine.sync_engine, "connect", _configure_sqlite)
    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def _configure_sqlite(connection: Any, _record: object) -> None:
    # By default Python's driver begins transactions for data changes only, not for reads or migrations.
    connection.isolation_level = None
    cursor = connection.cursor()
    # FULL, because a result acknowledged with 201 must survive a power failure.
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("torpor_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _driver_message(error: BaseException) -> str:
    """The driver's message, without the statement."""
    return str(getattr(error, "orig", None) or error).partition("\n")[0][:300]


def _unavailable() -> errors.ErrorResponse:
    return errors.unavailable("DatabaseUnavailable", "the archive's database is unavailable; try again later")
