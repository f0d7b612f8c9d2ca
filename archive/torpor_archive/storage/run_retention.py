"""Deletes finished runs that the settings no longer keep: by age, and by their number in a namespace.

A transaction deletes a bounded number of rows. It only releases the bodies; `bodies.delete_unfinished` deletes them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from sqlalchemy import Select, delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection
from torpor_wire import times

from torpor_archive.storage import bodies
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import RUNS

BATCH = 100
"""Runs that one transaction deletes."""
_OVERRIDE = re.compile(r"(?P<namespace>[a-z0-9-]{1,63})=(?P<age>[0-9a-z.]*)(?:/(?P<runs>[0-9]{1,9}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long runs are kept after their completion, in seconds, and how many of a namespace. 0 is no limit."""

    age: float = 0.0
    runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRetention:
    """What is kept in each namespace."""

    default: Keep = Keep()
    namespaces: Mapping[str, Keep] = field(default_factory=dict)

    @classmethod
    def parse(cls, age: str, runs: int, overrides: tuple[str, ...]) -> Self:
        """Read the settings. Raises ValueError."""
        default = Keep(age=parse_age(age), runs=runs)
        return cls(default=default, namespaces=dict(parse_override(text, default) for text in overrides))

    def kept_in(self, namespace: str) -> Keep:
        """What is kept in a namespace."""
        return self.namespaces.get(namespace, self.default)


def parse_age(text: str) -> float:
    """Read a duration in seconds; 0 is no limit. Raises ValueError."""
    return 0.0 if text == "0" else times.seconds(text)


def parse_override(text: str, default: Keep) -> tuple[str, Keep]:
    """Read `namespace=age/runs`. What is left out is the default's. Raises ValueError."""
    match = _OVERRIDE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r}: write namespace=30d, namespace=/500 or namespace=30d/500")
    age = parse_age(match["age"]) if match["age"] else default.age
    runs = int(match["runs"]) if match["runs"] is not None else default.runs
    return match["namespace"], Keep(age=age, runs=runs)


async def trim(database: Database, retention: RunRetention, now: float) -> int:
    """Delete the runs that are not kept, the oldest first, and return their number."""
    count = 0
    for namespace in await database.read(_list_namespaces):
        keep = retention.kept_in(namespace)
        if keep.age:
            count += await _delete_all(database, _older(namespace, now - keep.age))
        if keep.runs:
            count += await _delete_all(database, _beyond(namespace, keep.runs))
    return count


async def _list_namespaces(connection: AsyncConnection) -> list[str]:
    return list((await connection.execute(select(RUNS.c.namespace).distinct())).scalars())


def _older(namespace: str, before: float) -> Select[Any]:
    rows = select(RUNS).where(RUNS.c.namespace == namespace, RUNS.c.completed_at < before)
    return rows.order_by(RUNS.c.completed_at, RUNS.c.uid).limit(BATCH)


def _beyond(namespace: str, runs: int) -> Select[Any]:
    rows = select(RUNS).where(RUNS.c.namespace == namespace)
    return rows.order_by(RUNS.c.completed_at.desc(), RUNS.c.uid.desc()).offset(runs).limit(BATCH)


async def _delete_all(database: Database, chosen: Select[Any]) -> int:
    async def work(connection: AsyncConnection) -> int:
        runs = (await connection.execute(chosen)).mappings().all()
        if runs:
            keys = sorted((row["namespace"], row["uid"], row["body"]) for row in runs)
            deleted = tuple_(RUNS.c.namespace, RUNS.c.uid, RUNS.c.body).in_(keys)
            await connection.execute(delete(RUNS).where(deleted))
            for row in runs:
                await bodies.release(connection, row["body"])
        return len(runs)

    count = 0
    while deleted := await database.write(work):
        count += deleted
    return count
