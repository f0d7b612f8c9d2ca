"""Queries Redis with read-only commands: one connection pool for each server.

The URL is parsed here, because the client accepts file names and options of the process in it. The triggerer opens the
connections (`_Metered`), so each reply is counted before it is in memory.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from torpor.triggers.services import Services
from torpor.triggers.support import metering
from torpor.triggers.support.metering import AddressDeniedError, AnswerTooLargeError

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.exceptions import RedisError

from functools import cache

from torpor.triggers.support.metering import ByteMeter

CONNECTIONS = 5
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
EXAMPLE = "redis://host:6379/0"
_URL_MAX = 2048


class RedisDatabase(NamedTuple):
    """A database of a server."""

    host: str
    port: int
    database: int
    user: str
    password: str
    tls: bool

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.database}"


class StreamEntry(NamedTuple):
    """An entry of a stream."""

    id: str
    fields: Mapping[str, str]


def parse_redis_url(url: object) -> RedisDatabase:
    """Return the database of a URL. Raises TypeError or ValueError; messages never contain the password."""
    if not isinstance(url, str):
        raise TypeError(f"url must be text or a secretRef, not {type(url).__name__}")
    try:
        parts = urlsplit(url)
        host, port, database = parts.hostname, parts.port or 6379, int(parts.path.strip("/") or 0)
    except ValueError as error:
        raise ValueError(f"url is not a URL such as {EXAMPLE}") from error
    if parts.scheme not in {"redis", "rediss"} or not host or len(url) > _URL_MAX or not url.isprintable():
        raise ValueError(f"url is not a URL such as {EXAMPLE}, or rediss:// for TLS")
    if parts.query or parts.fragment or database < 0:
        raise ValueError(f"url must have a host, a port and a database number, without parameters: {EXAMPLE}")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return RedisDatabase(host, port, database, user, password, parts.scheme == "rediss")


def load() -> None:
    """Import the library. It takes a third of a second, so call it in a thread before the first command."""
    import_module("redis.asyncio")


def connect(address: RedisDatabase, services: Services) -> "Redis":
    """Create a client, which connects on first use."""
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    tls: dict[str, Any] = {"ssl_check_hostname": True} if address.tls else {}
    pool = BlockingConnectionPool(
        connection_class=metered_connection_class(tls=address.tls),
        services=services,
        host=address.host,
        port=address.port,
        db=address.database,
        username=address.user or None,
        password=address.password or None,
        client_name="torpor",
        max_connections=CONNECTIONS,
        timeout=ANSWER_SECONDS,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),  # a deferral polls again
        protocol=2,
        **tls,
    )
    return Redis.from_pool(pool)


async def close(client: "Redis") -> None:
    """Close the connections."""
    await client.aclose()


async def element(client: "Redis", name: str, index: int, most: int) -> tuple[int, str | None]:
    """Return the length of a list and its element at an index, or None. It does not pop the element.

    `most` is the maximum size of a reply in bytes. Raises OSError if there is no answer now, PermissionError or
    ValueError if there never will be.
    """
    from redis.exceptions import RedisError

    try:
        async with client.pipeline(transaction=True) as commands:
            await commands.llen(name)
            await commands.lindex(name, index)
            length, value = await commands.execute()
    except (RedisError, OSError) as error:
        raise _meant(error, most) from error
    return int(length), None if value is None else _text(value, f"list {name}")


async def entry(client: "Redis", name: str, after: str, most: int) -> StreamEntry | None:
    """Return the first entry of a stream after an id, or None. Raises as `element` does."""
    from redis.exceptions import RedisError

    try:
        answer: Any = await client.xread({name: after}, count=1)
    except (RedisError, OSError) as error:
        raise _meant(error, most) from error
    if not answer:
        return None
    (entry_id, fields), *_ = answer[0][1]
    what = f"stream {name}"
    return StreamEntry(_text(entry_id, what), {_text(key, what): _text(value, what) for key, value in fields.items()})


def _text(value: bytes, what: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{what} contains bytes that are not text; an event must be JSON") from error


def _meant(error: "RedisError | OSError", most: int) -> Exception:
    """Return the error of the client as one of ours; a transient one is an OSError."""
    from redis import exceptions

    if metering.overran(error):
        return AnswerTooLargeError(f"a reply is larger than {metering.size(most)}")
    denied = metering.denied(error)
    if denied is not None:
        return AddressDeniedError(str(denied))
    words = str(error).partition("\n")[0] or type(error).__name__
    match error:
        case exceptions.AuthenticationError() | exceptions.AuthorizationError() | exceptions.NoPermissionError():
            return PermissionError(words)
        case exceptions.ResponseError() if words.startswith(("NOAUTH", "WRONGPASS")):
            return PermissionError(words)
        case exceptions.ConnectionError() | exceptions.TimeoutError() | exceptions.TryAgainError():
            return ConnectionError(words)
        case exceptions.ClusterDownError() | exceptions.MasterDownError():
            return ConnectionError(words)
        case _:
            return ValueError(words)


class _Metered:
    """A mixin for connections of the client."""

    def __init__(self, *, services: Services, **given: Any) -> None:
        super().__init__(**given)
        self._services = services
        self._meter = ByteMeter(services.answer_bytes)

    async def _connect(self) -> None:
        """Connect through the triggerer instead of the client."""
        import asyncio

        options: dict[str, Any] = dict(self._connection_arguments())  # type: ignore[attr-defined]
        host, port = options.pop("host"), options.pop("port")
        if "ssl" in options:
            options["server_hostname"] = host
        seconds = self.socket_connect_timeout  # type: ignore[attr-defined]
        opened = await self._services.connect(host, port, seconds=seconds, meter=self._meter)
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await asyncio.open_connection(sock=opened, **options)
        except BaseException:
            opened.close()
            raise
        client: Any = self
        client._reader, client._writer = reader, writer  # noqa: SLF001 - a subclass of the client's connection

    async def send_packed_command(self, *given: Any, **options: Any) -> None:
        """Start a new count for each reply."""
        self._meter.start()
        await super().send_packed_command(*given, **options)  # type: ignore[misc]


@cache
def metered_connection_class(*, tls: bool) -> Any:
    """Return the connection class for the pool of the client."""
    from redis.asyncio import Connection, SSLConnection

    class MeteredConnection(_Metered, Connection):
        pass

    class MeteredTLSConnection(_Metered, SSLConnection):
        pass

    return MeteredTLSConnection if tls else MeteredConnection
