"""Queries a database: one connection pool for each database, each query read-only and limited.

PostgreSQL enforces a read-only transaction, SQLite opens the file read-only. Settings last for one transaction and no
statement stays prepared, so a pooler such as PgBouncer works. `postgres_connection` counts the bytes that PostgreSQL
sends; SQLite limits the size of a value.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from torpor_wire import trigger

from torpor.triggers.services import Services
from torpor.triggers.support import file_access, metering
from torpor.triggers.support.database_url import PostgresServer, SqliteFile
from torpor.triggers.support.metering import AddressDeniedError, AnswerTooLargeError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

CONNECTIONS = 5
ROWS = 100
APPLICATION = "torpor"
_IMPORTED = (
    "aiosqlite",
    "asyncpg",
    "sqlalchemy.dialects.postgresql.asyncpg",
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "sqlalchemy.ext.asyncio",
)
_GRACE = 2.0
_STEPS = 10_000
_FETCHED = 4
"""Rows of an SQLite file that are fetched at a time; each may have the maximum size."""
_CLASSES = {"0A", "21", "22", "25", "26", "28", "2F", "34", "3D", "3F", "42", "44"}
"""Error classes of PostgreSQL that a retry does not fix. Others mean that the server is busy or stopping."""
_BUSY = {5, 6, 9, 10, 14, 15}
"""Transient errors of SQLite: busy, locked, interrupted, I/O, cannot open, locking protocol."""


@cache
def load() -> None:
    """Import the libraries. It takes a second, so call it in a thread before the first query."""
    for name in _IMPORTED:
        import_module(name)


def is_loaded() -> bool:
    """Return whether `load` has returned. `sys.modules` also has modules whose import is under way."""
    return load.cache_info().currsize > 0


def connect(database: PostgresServer | SqliteFile, services: Services) -> "AsyncEngine":
    """Create a pool, which connects on first use."""
    match database:
        case PostgresServer():
            return _server(database, services)
        case SqliteFile():
            return _file(database, services)


async def close(engine: "AsyncEngine") -> None:
    """Close the connections."""
    await engine.dispose()


async def ask(
    engine: "AsyncEngine", query: str, params: Mapping[str, Any], *, seconds: float, most: int
) -> Sequence[Mapping[str, Any]]:
    """Return the first rows: up to 100, and up to `most` bytes.

    Raises OSError if there is no answer now, PermissionError or ValueError if there never will be, and
    AnswerTooLargeError if the rows are too large.
    """
    async with session(engine, seconds) as connection:
        return await rows(connection, query, params, seconds=seconds, most=most)


@asynccontextmanager
async def session(engine: "AsyncEngine", seconds: float) -> "AsyncIterator[AsyncConnection]":
    """Open a read-only connection for a statement of up to `seconds`. Errors of the driver are translated."""
    import asyncio

    from asyncpg import InterfaceError, PostgresError
    from sqlalchemy.exc import DBAPIError, ResourceClosedError, SQLAlchemyError
    from sqlalchemy.exc import TimeoutError as NoneFreeError

    try:
        async with asyncio.timeout(seconds + _GRACE), engine.connect() as connection, _counted(connection):
            yield await _held_to_reading(connection, seconds)
    except DBAPIError as error:
        raise meant(error.orig or error) from error
    except (PostgresError, InterfaceError) as error:  # SQLAlchemy does not wrap errors while it streams rows
        raise meant(error) from error
    except NoneFreeError as error:
        raise ConnectionError(f"all {CONNECTIONS} connections are in use") from error
    except ResourceClosedError as error:
        raise ValueError("the query returns no rows; it must be a SELECT") from error
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no response within {seconds:g} s") from error
    except SQLAlchemyError as error:
        raise ValueError(str(error)) from error


@asynccontextmanager
async def _counted(connection: "AsyncConnection") -> AsyncIterator[None]:
    """Count the bytes that the server sends. Raises AnswerTooLargeError."""
    raw: Any = (await connection.get_raw_connection()).driver_connection
    meter = getattr(raw, "meter", None)
    if meter is None:
        yield
        return
    meter.start()
    try:
        yield
    except Exception as error:
        if meter.exceeded:
            await connection.invalidate()  # else the end of the transaction would raise another error
            raise meter.error() from error
        raise


async def rows(
    connection: "AsyncConnection", query: str, params: Mapping[str, Any], *, seconds: float, most: int
) -> Sequence[Mapping[str, Any]]:
    """Return the first rows, in a session."""
    from sqlalchemy import text

    statement = text(query)
    check(set(statement.compile().params), set(params))
    is_file = connection.dialect.name != "postgresql"
    if is_file:
        await _limit(connection, seconds, most)
    # A server-side cursor, so that only the requested rows are sent.
    options = {"max_row_buffer": _FETCHED} if is_file else {}
    fetched_rows: list[Mapping[str, Any]] = []
    left = most
    async with connection.stream(
        statement.bindparams(*words(params)), dict(params), execution_options=options
    ) as result:
        while len(fetched_rows) < ROWS:
            fetched = await result.mappings().fetchmany(_FETCHED if is_file else ROWS)
            left -= sum(_size(row.values()) for row in fetched) if is_file else 0
            if left < 0:
                raise AnswerTooLargeError(
                    f"the rows are larger than {metering.size(most)}: select fewer columns or rows"
                )
            if not fetched:
                break
            fetched_rows += map(dict, fetched)
    return fetched_rows[:ROWS]


def _size(cells: Iterable[Any]) -> int:
    return sum(len(cell) for cell in cells if isinstance(cell, str | bytes))


def words(params: Mapping[str, Any]) -> list[Any]:
    """Bind text as text. The driver would expect a date for a date column, and JSON has none.

    A null cursor is text, too, so that a query that accepts it also accepts the next one.
    """
    from sqlalchemy import String, bindparam

    texts = [
        name for name, value in params.items() if isinstance(value, str) or (name, value) == (trigger.CURSOR, None)
    ]
    return [bindparam(name, type_=String()) for name in texts]


async def _held_to_reading(connection: "AsyncConnection", seconds: float) -> "AsyncConnection":
    from sqlalchemy import text

    if connection.dialect.name == "postgresql":
        connection = await connection.execution_options(postgresql_readonly=True)
        await connection.execute(text(f"SET LOCAL statement_timeout = {int(seconds * 1000)}"))
    return connection


def check(bound: set[str], given: set[str]) -> None:
    """Raise ValueError if the parameters of a query differ from the given names."""
    if bound != given:
        raise ValueError(
            f"the query has the parameters {_names(bound)}, but params has {_names(given)}; "
            "write CAST(:name AS date) rather than :name::date, and \\: for a literal colon"
        )


def _names(names: set[str]) -> str:
    return ", ".join(f":{name}" for name in sorted(names)) or "nothing"


async def _limit(connection: "AsyncConnection", seconds: float, most: int) -> None:
    """Limit SQLite itself, because nothing else can stop a query in its thread.

    ATTACH, and VACUUM INTO through it, would open or write other files.
    """
    import sqlite3
    import time

    raw = await connection.get_raw_connection()
    driver: Any = raw.driver_connection
    await driver.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK
    )
    await driver._execute(driver._conn.setlimit, sqlite3.SQLITE_LIMIT_LENGTH, most)  # noqa: SLF001 - runs in the thread of the connection
    end = time.monotonic() + seconds
    await driver.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)


def _server(server: PostgresServer, services: Services) -> "AsyncEngine":
    from functools import partial

    from sqlalchemy import URL
    from sqlalchemy.ext.asyncio import create_async_engine

    from torpor.triggers.support import postgres_connection

    url = URL.create("postgresql+asyncpg", server.user, None, server.host, server.port, server.database)
    arguments = {
        "async_creator_fn": partial(postgres_connection.connect, services),
        "password": server.password,
        "ssl": _tls(server.tls),
        "timeout": postgres_connection.CONNECT_SECONDS,
        "statement_cache_size": 0,
        "prepared_statement_cache_size": 0,
        "server_settings": {"application_name": APPLICATION},
    }
    return create_async_engine(
        url,
        connect_args=arguments,
        pool_size=1,
        max_overflow=CONNECTIONS - 1,
        pool_timeout=10.0,
        pool_pre_ping=True,
        hide_parameters=True,
    )


def _tls(mode: str) -> Any:
    """Return the TLS context for asyncpg. It uses the system's authorities instead of files of the triggerer."""
    if not mode.startswith("verify"):
        return mode
    import ssl

    context = ssl.create_default_context()
    context.check_hostname = mode == "verify-full"
    return context


def _file(file: SqliteFile, services: Services) -> "AsyncEngine":
    from sqlalchemy import event
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import NullPool
    from sqlalchemy.util import await_only

    folder = file_access.folder_of(file.path, services.folders)

    engine = create_async_engine(
        "sqlite+aiosqlite:///file", connect_args={"uri": True, "timeout": 1.0}, poolclass=NullPool, hide_parameters=True
    )

    @event.listens_for(engine.sync_engine, "do_connect")
    def find(_dialect: object, _record: object, arguments: list[str], _parameters: object) -> None:
        """Resolve the path on each connection, because files and links may change."""
        path = await_only(services.in_thread(lambda: file_access.real(file.path, folder)))
        arguments[0] = f"file:{quote(path)}?mode=ro"

    return engine


def meant(error: BaseException) -> Exception:
    """Return the error of a driver as one of ours; a transient one is an OSError."""
    import sqlite3

    if isinstance(error, AddressDeniedError):
        return error
    message, state = _message(error), str(getattr(error, "sqlstate", None) or "")
    if isinstance(error, sqlite3.DataError) and getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_TOOBIG:
        return AnswerTooLargeError("a value is larger than the limit: select a part of it")
    if isinstance(error, sqlite3.Error):
        return (
            ConnectionError(message) if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY else ValueError(message)
        )
    if state[:2] == "28" or state == "42501":
        return PermissionError(message)
    if state == "57014":
        return TimeoutError(message)
    return ValueError(message) if state[:2] in _CLASSES else ConnectionError(message)


def _message(error: BaseException) -> str:
    """Return the first line of an error, without the class name that SQLAlchemy prepends."""
    line = str(error).partition("\n")[0]
    return (line.rpartition("'>: ")[2] if line.startswith("<class '") else line) or type(error).__name__
