"""Waiting until something listens at a TCP port: a connection is opened and closed again, and nothing is said.

The connection is the triggerer's (`Services.reach`), so it reaches what the triggerer lets waits reach.
"""

import re
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

from torpor.triggers.base import BaseTrigger, TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import arguments, polling
from torpor.triggers.support.metering import AddressDeniedError

TIMEOUT = 5.0
_PORT_MAX = 65_535
_HOST = re.compile(r"[A-Za-z0-9_:]([A-Za-z0-9._:%-]{0,251}[A-Za-z0-9.])?|::")


class Tcp(BaseTrigger):
    """Fires when a connection to `host` (a name or an address) and `port` is accepted.

    The event has host, port, and the address at which it was accepted. `timeout` is that of one connection.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        interval: timedelta | float | str = polling.INTERVAL,
        timeout: timedelta | float | str = TIMEOUT,
    ) -> None:
        self.host = _host(host)
        self.port = arguments.count(port, "port", most=_PORT_MAX)
        self.interval = arguments.seconds(interval, "interval", least=polling.INTERVAL_MIN)
        self.timeout = arguments.seconds(timeout, "timeout", least=polling.INTERVAL_MIN)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """What differs from the defaults."""
        given = {"host": self.host, "port": self.port, "interval": self.interval, "timeout": self.timeout}
        return "tcp", arguments.differing(given, {"interval": polling.INTERVAL, "timeout": TIMEOUT})

    def bind(self, services: Services) -> None:
        """Also checks how long one try may take."""
        super().bind(services)
        arguments.request_seconds(self.timeout, services.longest_request)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Try until one is accepted."""
        yield TriggerEvent(await polling.found(self.services, self._look, self.interval))

    async def _look(self) -> dict[str, Any] | None:
        try:
            address = await self.services.reach(self.host, self.port, seconds=self.timeout)
        except AddressDeniedError:
            raise
        except OSError as error:
            self.last_look = f"{self.host} port {self.port}: {error}"
            return None
        return {"host": self.host, "port": self.port, "address": address}


def _host(host: object) -> str:
    found = arguments.text(host, "host", most=253)
    if not _HOST.fullmatch(found):
        raise ValueError(f"host {found[:100]!r} is neither a name nor an address; the port is an argument of its own")
    return found
