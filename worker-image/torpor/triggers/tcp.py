"""Waits until a TCP port accepts connections: it opens one and closes it, without sending data.

The triggerer connects (`Services.reach`), so its network policy and address rules apply.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from torpor.triggers.base import BaseTrigger
from torpor.triggers.services import Services
from torpor.triggers.support import arguments, polling
from torpor.triggers.support.metering import AddressDeniedError

TIMEOUT = 5.0
_PORT_MAX = 65_535
_HOST = re.compile(r"[A-Za-z0-9_:]([A-Za-z0-9._:%-]{0,251}[A-Za-z0-9.])?|::")


class Tcp(BaseTrigger):
    """Fires when a host accepts a connection at a port. The event is `{host, port, address}`.

        Tcp("db.example.org", 5432)

    Args:
        host: A host name or an address.
        port: From 1 to 65535.
        interval: Time between two attempts: a timedelta, seconds, or text such as `30s`.
        timeout: The limit of one attempt.
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
        """Return the arguments that differ from their defaults."""
        return "tcp", arguments.differing(self, Tcp.__init__)

    def bind(self, services: Services) -> None:
        """Check the timeout of an attempt. Raises ValueError."""
        super().bind(services)
        arguments.request_seconds(self.timeout, services.longest_request)

    async def poll(self) -> dict[str, Any] | None:
        """Connect once: return the event if the connection is accepted."""
        try:
            address = await self.services.reach(self.host, self.port, seconds=self.timeout)
        except AddressDeniedError:
            raise
        except OSError as error:
            self.last_look = f"{self.host} port {self.port}: {error}"
            return None
        return {"host": self.host, "port": self.port, "address": address}


def _host(host: object) -> str:
    name = arguments.text(host, "host", most=253)
    if not _HOST.fullmatch(name):
        raise ValueError(f"host {name[:100]!r} is neither a host name nor an address; the port is a separate argument")
    return name
