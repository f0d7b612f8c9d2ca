"""Parses the URL of a database. Pure.

A URL is never passed to a driver: drivers accept file names and other hosts as parameters, and read the environment,
password files and settings of the process, which belong to the triggerer.
"""

from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

_URL_MAX = 2048
_SCHEMES = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "postgresql+asyncpg": "postgresql",
    "sqlite": "sqlite",
    "sqlite+aiosqlite": "sqlite",
}
TLS = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
EXAMPLES = "postgresql://user@host/database or sqlite:////data/file.db"


class PostgresServer(NamedTuple):
    """A PostgreSQL database; `tls` is an sslmode of libpq."""

    host: str
    port: int
    user: str
    password: str
    database: str
    tls: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.database}"


class SqliteFile(NamedTuple):
    """An SQLite database, by absolute path."""

    path: str

    def __str__(self) -> str:
        return self.path


def parse_database_url(url: object) -> PostgresServer | SqliteFile:
    """Return the database of a URL. Raises TypeError or ValueError; messages never contain the password."""
    if not isinstance(url, str):
        raise TypeError(f"url must be text or a secretRef, not {type(url).__name__}")
    try:
        parts = urlsplit(url)
        _, _ = parts.port, parts.hostname
    except ValueError as error:
        raise ValueError(f"url is not a URL such as {EXAMPLES}") from error
    if len(url) > _URL_MAX or not url.isprintable():
        raise ValueError(f"url is not a URL such as {EXAMPLES}")
    match _SCHEMES.get(parts.scheme):
        case "postgresql":
            return _server(parts)
        case "sqlite":
            return _file(parts)
        case _:
            raise ValueError(
                f"url must be of postgresql or sqlite, not of {parts.scheme[:30] or 'no scheme'}: {EXAMPLES}"
            )


def _server(parts: SplitResult) -> PostgresServer:
    if not parts.hostname or not parts.username:
        raise ValueError(f"url has no {'user' if parts.hostname else 'host'}: write {EXAMPLES}")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    tls = query.pop("sslmode", None) or query.pop("ssl", "prefer")
    if query:
        raise ValueError(f"url has the parameter {min(query)[:50]!r}; only sslmode is allowed")
    if tls not in TLS:
        raise ValueError(f"url: sslmode must be one of {', '.join(TLS)}, not {tls[:50]!r}")
    user = unquote(parts.username)
    return PostgresServer(
        host=parts.hostname,
        port=parts.port or 5432,
        user=user,
        password=unquote(parts.password or ""),
        database=unquote(parts.path.lstrip("/")) or user,
        tls=tls,
    )


def _file(parts: SplitResult) -> SqliteFile:
    path = "/" + unquote(parts.path).lstrip("/")
    if parts.netloc or parts.query or path == "/":
        raise ValueError("url of an SQLite file must be sqlite:/// and its absolute path, without parameters")
    return SqliteFile(path)
