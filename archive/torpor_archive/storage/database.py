"""The one door to the database: PostgreSQL through asyncpg, or a file of SQLite through aiosqlite.

A transaction is repeated, within bounds, while the database does not answer, so each must be one that may be carried
out twice. What is a fault of ours is not repeated. It knows no table.
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
from torpor_api.timing import Clock
from torpor_wire.backoff import Backoff

from torpor_archive import errors
from torpor_archive.errors import RefusedError

T = TypeVar("T")

ATTEMPT_SECONDS = 15.0
LOCK_SECONDS = 2
MIGRATION_SECONDS = 300.0
POOL = 16
_MIGRATION_LOCK = 0x746F72706F72
_FAULTS = (IntegrityError, ProgrammingError, DataError)
_TROUBLE = (
    DBAPIError,
    PoolTimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    OSError,
)

log = logging.getLogger(__name__)


class Database:
    """Transactions in one database; `patience` is for how many seconds one is repeated."""

    def __init__(self, url: str, clock: Clock, *, patience: float, note: Callable[[bool], None]) -> None:
        given = _url(url)
        self.is_postgresql = given.get_backend_name() == "postgresql"
        self._engine = _postgresql(given) if self.is_postgresql else _sqlite(given)
        # SQLite has one writer at a time, and who finds it taken waits without a queue.
        self._turn = asyncio.Lock()
        self._clock = clock
        self._patience = patience
        self._backoff = Backoff(first=0.1, cap=patience)
        self._note = note
        self._migrated = False

    @property
    def is_ready(self) -> bool:
        """Whether its tables are those that this program knows."""
        return self._migrated

    async def read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """What `work` gives, in a transaction. Raises RefusedError (503) where the database does not answer."""
        return await self._repeated(work, writes=False)

    async def write(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """The same, for work that changes something; it may be carried out twice."""
        return await self._repeated(work, writes=True)

    async def migrate(self) -> None:
        """Bring the tables to this program's version; replicas take turns. Raises as `read` does."""
        async with self._guarded(MIGRATION_SECONDS, writes=True) as connection:
            if self.is_postgresql:
                await connection.execute(text(f"SET LOCAL lock_timeout = '{MIGRATION_SECONDS:.0f}s'"))
                await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            await connection.run_sync(_upgrade)
        self._migrated = True

    async def answers(self) -> None:
        """Return where it does. Raises RefusedError (503) where it does not."""
        async with self._guarded(ATTEMPT_SECONDS, writes=False) as connection:
            await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Let go of every connection."""
        await self._engine.dispose()

    async def _repeated(self, work: Callable[[AsyncConnection], Awaitable[T]], *, writes: bool) -> T:
        if not self._migrated:
            raise RefusedError(_unavailable())
        end = self._clock.monotonic() + self._patience
        failures = 0
        while True:
            try:
                async with self._guarded(ATTEMPT_SECONDS, writes=writes) as connection:
                    return await work(connection)
            except RefusedError as error:
                failures += 1
                delay = self._backoff.delay(failures, random.random())  # noqa: S311 - jitter, no secret
                if error.refusal.status != _unavailable().status or self._clock.monotonic() + delay > end:
                    raise
            await self._clock.sleep(delay)

    @asynccontextmanager
    async def _guarded(self, seconds: float, *, writes: bool) -> AsyncIterator[AsyncConnection]:
        try:
            async with asyncio.timeout(seconds), self._begun(writes=writes) as connection:
                yield connection
        except _FAULTS:
            raise
        except _TROUBLE as error:
            log.warning("the database does not do what it is asked: %s: %s", type(error).__name__, _said(error))
            self._note(False)
            raise RefusedError(_unavailable()) from error
        self._note(True)

    @asynccontextmanager
    async def _begun(self, *, writes: bool) -> AsyncIterator[AsyncConnection]:
        if self.is_postgresql or not writes:
            async with self._engine.begin() as connection:
                yield connection
            return
        async with self._turn, self._engine.connect() as connection:
            await connection.execution_options(torpor_writes=True)
            async with connection.begin():
                yield connection


def _url(given: str) -> URL:
    """With the driver that we use. Raises ValueError for what is no address of a database of these two kinds."""
    try:
        url = make_url(given)
    except ArgumentError:
        said = "the database's URL cannot be read: postgresql://user:password@host/name, or sqlite:///path"
        raise ValueError(said) from None  # what the library says has the URL in it, and so the password
    match url.get_backend_name():
        case "postgresql" | "postgres":
            return _translated(url).set(drivername="postgresql+asyncpg")
        case "sqlite":
            return url.set(drivername="sqlite+aiosqlite")
        case other:
            raise ValueError(f"a database of kind {other!r} is not known: postgresql or sqlite")


def _translated(url: URL) -> URL:
    """As asyncpg's dialect has it, which knows libpq's `sslmode` by another name."""
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
    event.listen(engine.sync_engine, "connect", _opened)
    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def _opened(connection: Any, _record: object) -> None:
    # Python's driver would begin transactions by itself, and not those of a reader or of a change of tables.
    connection.isolation_level = None
    cursor = connection.cursor()
    # FULL, since what was answered 201 must outlive a loss of power.
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


def _said(error: BaseException) -> str:
    """What the driver said, without the statement."""
    return str(getattr(error, "orig", None) or error).partition("\n")[0][:300]


def _unavailable() -> errors.Refusal:
    return errors.unavailable("DatabaseUnavailable", "the archive's database does not answer: try again later")
