"""Connections to PostgreSQL that the triggerer opens and meters. Imported in a triggerer only.

asyncpg accepts an event loop and no socket, so it gets a loop that connects through the triggerer. That also applies to
the connection that cancels a query.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from torpor.triggers.services import Services
from torpor.triggers.support.metering import ByteMeter

CONNECT_SECONDS = 10.0


class _Loop:
    """The running event loop with another way to connect."""

    def __init__(self, services: Services, meter: ByteMeter) -> None:
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._services = services
        self._meter = meter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    async def create_connection(
        self, factory: Callable[[], Any], host: str, port: int, **options: Any
    ) -> tuple[Any, Any]:
        """Return a transport and a protocol."""
        if options.get("ssl"):
            options.setdefault("server_hostname", host)
        opened = await self._services.connect(host, port, seconds=CONNECT_SECONDS, meter=self._meter)
        try:
            return await self._loop.create_connection(factory, sock=opened, **options)
        except BaseException:
            opened.close()
            raise


async def connect(services: Services, **arguments: Any) -> Any:
    """Connect as `asyncpg.connect` does; `meter` of the connection counts received bytes."""
    import asyncpg

    meter = ByteMeter(services.answer_bytes)
    loop: Any = _Loop(services, meter)
    connection = await asyncpg.connect(loop=loop, connection_class=_kind(), **arguments)
    connection.meter = meter
    return connection


@cache
def _kind() -> Any:
    import asyncpg

    class PostgresConnection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg has no types
        __slots__ = ("meter",)

    return PostgresConnection
