"""Connections of the Redis client that the triggerer opens and meters. Imported in a triggerer only."""

from functools import cache
from typing import Any

from torpor.triggers.services import Services
from torpor.triggers.support.metering import Meter


class _Metered:
    """A mixin for connections of the client."""

    def __init__(self, *, services: Services, **given: Any) -> None:
        super().__init__(**given)
        self._services = services
        self._meter = Meter(services.answer_bytes)

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
def kind(*, tls: bool) -> Any:
    """Return the connection class for the pool of the client."""
    from redis.asyncio import Connection, SSLConnection

    class MeteredConnection(_Metered, Connection):
        pass

    class MeteredTLSConnection(_Metered, SSLConnection):
        pass

    return MeteredTLSConnection if tls else MeteredConnection
