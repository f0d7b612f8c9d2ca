"""Real databases of both kinds, which tests can stop and start."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.integration.triggers.servers import postgres as postgres_server
from tests.integration.triggers.servers.postgres import Postgres, fetched

UNFINISHED = "SELECT count(*) FROM bodies WHERE complete IS FALSE AND created > 0"
"""Uploads that were begun. Those that an outage interrupted stay until the sweep.

A body that nothing refers to any more has no time: the sweep of another moment deletes it.
"""


@dataclass(kw_only=True)
class Sqlite:
    """A file. `stop` holds its exclusive lock."""

    path: Path
    _holder: sqlite3.Connection | None = None

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    def stop(self) -> None:
        self._holder = sqlite3.connect(self.path, isolation_level=None, timeout=30)
        self._holder.execute("BEGIN EXCLUSIVE")

    def start(self) -> None:
        assert self._holder is not None
        self._holder.execute("ROLLBACK")
        self._holder.close()

    def value(self, query: str) -> object:
        connection = sqlite3.connect(self.path, timeout=30)
        try:
            return connection.execute(query).fetchone()[0]
        finally:
            connection.close()


@dataclass(kw_only=True)
class Postgresql:
    """A database on a server. `stop` kills the server."""

    server: Postgres
    name: str

    @property
    def url(self) -> str:
        return self.server.url.removesuffix("/postgres") + f"/{self.name}"

    def stop(self) -> None:
        self.server.process.kill()

    def start(self) -> None:
        self.server.process.start()

    def value(self, query: str) -> object:
        return asyncio.run(fetched(self.url, query))


@contextmanager
def postgresql() -> Iterator[Postgres]:
    with postgres_server.started() as server:
        yield server


def make(server: Postgres | None, name: str, folder: Path) -> Sqlite | Postgresql:
    """An empty database."""
    if server is None:
        return Sqlite(path=folder / f"{name}.db")
    asyncio.run(server.execute(f"CREATE DATABASE {name}"))
    return Postgresql(server=server, name=name)
