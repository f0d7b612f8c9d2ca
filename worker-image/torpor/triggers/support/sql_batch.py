"""Runs one query for many sets of parameters, in one statement if possible.

PostgreSQL prepares the query to learn the types of its parameters. Then one statement joins it laterally over all sets.
A query that cannot be joined, and any query on SQLite, runs once for each set.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from torpor.triggers.support import sql_engine

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

import math

Params: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Mapping[str, Any]]

_ALL_MIN = 1000
_SLICE = 500
_NOT_JOINED = {"0A", "42"}
_GOES = {"08", "40", "57", "58"}
"""Error classes of PostgreSQL for a server that is stopping, out of time, or a standby in recovery conflict."""
_DENIED = "42501"
_SILENT = 3


async def ask(
    engine: "AsyncEngine", query: str, given: Sequence[Params], *, seconds: float, most: int
) -> "Sequence[Rows | Exception]":
    """Return for each set of parameters its rows or its error. All sets have the same names and kinds of values.

    `most` is the maximum size of an answer in bytes: of all sets, if they share a statement. Raises OSError if there is
    no answer at all, TimeoutError if there are too many sets, PermissionError, and ValueError if one set fails the
    statement.
    """
    if len(given) == 1:
        return [await sql_engine.ask(engine, query, given[0], seconds=seconds, most=most)]
    if not given[0]:
        return [await _alone(engine, query, given[0], seconds, most)] * len(given)
    if engine.dialect.name == "postgresql":
        joined = await _joined(engine, query, given, seconds)
        if joined is not None:
            return joined
    return await _in_turn(engine, query, given, seconds, most)


async def _alone(engine: "AsyncEngine", query: str, params: Params, seconds: float, most: int) -> Rows | Exception:
    try:
        return await sql_engine.ask(engine, query, params, seconds=seconds, most=most)
    except ValueError as error:
        return error


async def _in_turn(
    engine: "AsyncEngine", query: str, given: Sequence[Params], seconds: float, most: int
) -> "list[Rows | Exception]":
    """Run each set alone. If the first few have no answer, give up on the others."""
    results: list[Rows | Exception] = []
    for params in given:
        try:
            results.append(await _alone(engine, query, params, seconds, most))
        except PermissionError:
            raise
        except OSError as error:
            results.append(error)
            if len(results) == min(_SILENT, len(given)) and all(isinstance(result, OSError) for result in results):
                raise
    return results


async def _joined(
    engine: "AsyncEngine", query: str, given: Sequence[Params], seconds: float
) -> "Sequence[Rows | Exception] | None":
    """Return the rows of a lateral join; None if the query cannot be joined."""
    from asyncpg import PostgresError

    async with sql_engine.session(engine, seconds) as connection:
        raw: Any = (await connection.get_raw_connection()).driver_connection
        try:
            names, types = await _parameters(connection, raw, query, given[0])
        except (PostgresError, ValueError) as error:
            meant = error if isinstance(error, ValueError) else sql_engine.meant(error)
            if not isinstance(meant, ValueError):
                raise
            return [meant] * len(given)
        if any(sql_type.kind != "scalar" for sql_type in types):
            return None
        values = [[params[name] for params in given] for name in names]
        try:
            return await _fetched(raw, _join(connection, query, names, types), values, len(given))
        except PostgresError as error:
            state = str(getattr(error, "sqlstate", None) or "")
            if state == _DENIED or state[:2] in _GOES:
                raise
            if state[:2] in _NOT_JOINED:
                return None
            raise ValueError(str(error)) from error


async def _parameters(
    connection: "AsyncConnection", raw: Any, query: str, params: Params
) -> tuple[Sequence[str], Sequence[Any]]:
    """Return the names of the parameters, in the order of the server, and their types."""
    from sqlalchemy import text

    statement = text(query)
    sql_engine.check(set(statement.compile().params), set(params))
    compiled: Any = statement.bindparams(*sql_engine.words(params)).compile(dialect=connection.dialect)
    prepared = await raw.prepare(str(compiled))
    return compiled.positiontup, prepared.get_parameters()


def _join(connection: "AsyncConnection", query: str, names: Sequence[str], types: Sequence[Any]) -> str:
    """Return the query as a lateral join over arrays of these types."""
    from sqlalchemy import bindparam, literal_column, text
    from sqlalchemy.types import UserDefinedType

    class Column(UserDefinedType[Any]):
        def __init__(self, name: str) -> None:
            self.name = name

        def bind_expression(self, _: Any) -> Any:
            return literal_column(self.name)

    columns = [f"p{number}" for number in range(len(names))]
    bound = [
        bindparam(name, type_=Column(f"torpor_asked.{column}")) for name, column in zip(names, columns, strict=True)
    ]
    inner = text(query.rstrip().rstrip(";")).bindparams(*bound).compile(dialect=connection.dialect)
    arrays = [f"CAST(${number} AS {_quoted(sql_type)}[])" for number, sql_type in enumerate(types, 1)]
    return (
        f"SELECT torpor_asked.n, torpor_found.* FROM unnest({', '.join(arrays)}) WITH ORDINALITY "  # noqa: S608 - types
        f"AS torpor_asked({', '.join(columns)}, n) CROSS JOIN LATERAL (\n{inner}\n) AS torpor_found"
    )


def _quoted(sql_type: Any) -> str:
    return ".".join(f'"{name}"' for name in (sql_type.schema, sql_type.name.replace('"', '""')))


async def _fetched(raw: Any, statement: str, values: Sequence[Sequence[Any]], count: int) -> Sequence[Rows]:
    prepared = await raw.prepare(statement)
    names = [attribute.name for attribute in prepared.get_attributes()][1:]
    rows: list[list[Mapping[str, Any]]] = [[] for _ in range(count)]
    left = max(_ALL_MIN, 2 * count)
    # In slices, to yield to the event loop.
    async for at, *row in prepared.cursor(*values, prefetch=_SLICE):
        left -= 1
        if left < 0:
            raise ValueError(f"{count} deferrals return too many rows together")
        if len(rows[at - 1]) < sql_engine.ROWS:
            rows[at - 1].append(dict(zip(names, row, strict=True)))
    return rows


def json_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row by column name. Raises ValueError naming the column whose value has no JSON form."""
    return {str(name): json_cell(value, str(name)) for name, value in row.items()}


def json_cell(value: Any, column: str) -> Any:
    """Return a value: times as RFC 3339, decimals and UUIDs as text, intervals in seconds."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case list() | tuple() if not hasattr(value, "_fields"):
            return [json_cell(item, column) for item in value]
        case Mapping():
            return {str(name): json_cell(item, column) for name, item in value.items()}
        case _:
            return _spelled(value, column)


def _spelled(value: Any, column: str) -> Any:
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
    from uuid import UUID

    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal() | UUID():
            return str(value)
        case IPv4Address() | IPv4Interface() | IPv4Network() | IPv6Address() | IPv6Interface() | IPv6Network():
            return str(value)
        case bytes() | bytearray() | memoryview():
            raise ValueError(f"column {column!r} contains bytes: select encode({column}, 'base64') or omit it")
        case _:
            raise ValueError(f"column {column!r} has the type {type(value).__name__}: cast it to text in the query")
