"""Asking a database: one pool of connections for all who ask the same one, each query read-only and with a limit.

PostgreSQL holds a query to reading by its transaction, SQLite by how the file is opened. Settings are made for a
transaction and nothing is prepared for longer, so that a pooler such as PgBouncer may stand between. What PostgreSQL
answers is counted where it arrives (`postgres_connection`), and SQLite makes no value larger than a wait may read.
"""

import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from torpor.triggers.services import Services
from torpor.triggers.support import file_access, metering
from torpor.triggers.support.database_url import File, Server
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
"""Rows of an SQLite file that are read at a time, each as large as may be."""
_CLASSES = {"0A", "21", "22", "25", "26", "28", "2F", "34", "3D", "3F", "42", "44"}
"""PostgreSQL's classes of errors that asking again does not cure; the others are of a server that goes or is busy."""
_BUSY = {5, 6, 9, 10, 14, 15}
"""SQLite's errors that pass: busy, locked, interrupted, I/O, cannot open, protocol of locks."""


def load() -> None:
    """Import what it takes; a second of work, so it is done in a thread before the first query."""
    for name in _IMPORTED:
        import_module(name)


def is_loaded() -> bool:
    """Whether that has been done."""
    return all(name in sys.modules for name in _IMPORTED)


def connect(database: Server | File, services: Services) -> "AsyncEngine":
    """A pool that connects when it is first asked."""
    match database:
        case Server():
            return _server(database, services)
        case File():
            return _file(database, services)


async def close(engine: "AsyncEngine") -> None:
    """End its connections."""
    await engine.dispose()


async def ask(
    engine: "AsyncEngine", query: str, params: Mapping[str, Any], *, seconds: float, most: int
) -> Sequence[Mapping[str, Any]]:
    """The first rows, 100 at most, and `most` bytes of them.

    Raises OSError where there is no answer now, PermissionError and ValueError where there will be none, of these
    AnswerTooLargeError where they are larger.
    """
    async with session(engine, seconds) as connection:
        return await rows(connection, query, params, seconds=seconds, most=most)


@asynccontextmanager
async def session(engine: "AsyncEngine", seconds: float) -> "AsyncIterator[AsyncConnection]":
    """A connection that only reads, for a statement of so many seconds. What is raised inside comes out as ours."""
    import asyncio

    from asyncpg import InterfaceError, PostgresError
    from sqlalchemy.exc import DBAPIError, ResourceClosedError, SQLAlchemyError
    from sqlalchemy.exc import TimeoutError as NoneFreeError

    try:
        async with asyncio.timeout(seconds + _GRACE), engine.connect() as connection, _counted(connection):
            yield await _held_to_reading(connection, seconds)
    except DBAPIError as error:
        raise meant(error.orig or error) from error
    except (PostgresError, InterfaceError) as error:  # what SQLAlchemy lets through when it reads on in a result
        raise meant(error) from error
    except NoneFreeError as error:
        raise ConnectionError(f"all {CONNECTIONS} connections to it are busy") from error
    except ResourceClosedError as error:
        raise ValueError("the query yields no rows; it must be a SELECT") from error
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no answer within {seconds:g} s") from error
    except SQLAlchemyError as error:
        raise ValueError(str(error)) from error


@asynccontextmanager
async def _counted(connection: "AsyncConnection") -> AsyncIterator[None]:
    """Count what the server sends from now on. Raises AnswerTooLargeError where that is too much."""
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
            await connection.invalidate()  # else what ends the transaction would raise, in the place of this
            raise meter.error() from error
        raise


async def rows(
    connection: "AsyncConnection", query: str, params: Mapping[str, Any], *, seconds: float, most: int
) -> Sequence[Mapping[str, Any]]:
    """The first rows, in a session."""
    from sqlalchemy import text

    statement = text(query)
    check(set(statement.compile().params), set(params))
    is_file = connection.dialect.name != "postgresql"
    if is_file:
        await _limit(connection, seconds, most)
    # A stream, so that of a million rows no more come over than are asked for.
    options = {"max_row_buffer": _FETCHED} if is_file else {}
    found: list[Mapping[str, Any]] = []
    left = most
    async with connection.stream(
        statement.bindparams(*words(params)), dict(params), execution_options=options
    ) as result:
        while len(found) < ROWS:
            fetched = await result.mappings().fetchmany(_FETCHED if is_file else ROWS)
            left -= sum(_size(one.values()) for one in fetched) if is_file else 0
            if left < 0:
                raise AnswerTooLargeError(f"the rows are larger than {metering.size(most)}: select less of them")
            if not fetched:
                break
            found += map(dict, fetched)
    return found[:ROWS]


def _size(cells: Iterable[Any]) -> int:
    return sum(len(one) for one in cells if isinstance(one, str | bytes))


def words(params: Mapping[str, Any]) -> list[Any]:
    """Text is bound as text; else the driver would want a date for a date, and JSON has none to give."""
    from sqlalchemy import String, bindparam

    return [bindparam(name, type_=String()) for name, value in params.items() if isinstance(value, str)]


async def _held_to_reading(connection: "AsyncConnection", seconds: float) -> "AsyncConnection":
    from sqlalchemy import text

    if connection.dialect.name == "postgresql":
        connection = await connection.execution_options(postgresql_readonly=True)
        await connection.execute(text(f"SET LOCAL statement_timeout = {int(seconds * 1000)}"))
    return connection


def check(bound: set[str], given: set[str]) -> None:
    """Raise ValueError where a query binds other names than are given."""
    if bound != given:
        raise ValueError(
            f"the query binds {_names(bound)}, and params has {_names(given)}; "
            "write CAST(:name AS date) rather than :name::date, and \\: for a colon that binds nothing"
        )


def _names(names: set[str]) -> str:
    return ", ".join(f":{name}" for name in sorted(names)) or "nothing"


async def _limit(connection: "AsyncConnection", seconds: float, most: int) -> None:
    """A query runs in SQLite's own thread, where nothing but SQLite itself can end it.

    ATTACH, and VACUUM INTO by way of it, would open or write a file that is nobody's to name.
    """
    import sqlite3
    import time

    raw = await connection.get_raw_connection()
    driver: Any = raw.driver_connection
    await driver.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK
    )
    await driver._execute(driver._conn.setlimit, sqlite3.SQLITE_LIMIT_LENGTH, most)  # noqa: SLF001 - in its own thread
    end = time.monotonic() + seconds
    await driver.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)


def _server(server: Server, services: Services) -> "AsyncEngine":
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
    """What asyncpg takes: where it would look for files of the triggerer's, the system's authorities instead."""
    if not mode.startswith("verify"):
        return mode
    import ssl

    context = ssl.create_default_context()
    context.check_hostname = mode == "verify-full"
    return context


def _file(file: File, services: Services) -> "AsyncEngine":
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
        """Each time anew: a file may be replaced, and a link be turned elsewhere."""
        path = await_only(services.in_thread(lambda: file_access.real(file.path, folder)))
        arguments[0] = f"file:{quote(path)}?mode=ro"

    return engine


def meant(error: BaseException) -> Exception:
    """The driver's error as one of ours: what passes is an OSError."""
    import sqlite3

    if isinstance(error, AddressDeniedError):
        return error
    said, state = _said(error), str(getattr(error, "sqlstate", None) or "")
    if isinstance(error, sqlite3.DataError) and getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_TOOBIG:
        return AnswerTooLargeError("a value is larger than a wait may read: select less of it")
    if isinstance(error, sqlite3.Error):
        return ConnectionError(said) if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY else ValueError(said)
    if state[:2] == "28" or state == "42501":
        return PermissionError(said)
    if state == "57014":
        return TimeoutError(said)
    return ValueError(said) if state[:2] in _CLASSES else ConnectionError(said)


def _said(error: BaseException) -> str:
    """The first line of what it says, without the class that SQLAlchemy puts before it."""
    line = str(error).partition("\n")[0]
    return (line.rpartition("'>: ")[2] if line.startswith("<class '") else line) or type(error).__name__
