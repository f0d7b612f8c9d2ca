"""Waits until a host name resolves, for example of a Service that does not exist yet.

All triggers of a triggerer share one event loop, so nothing here may block: the loop resolves names in a thread.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

from torpor.triggers import BaseTrigger, TriggerEvent


class Resolves(BaseTrigger):
    """Fires when a host name has an address. The event is `{host, addresses}`.

    Args:
        host: The host name.
        interval: Seconds between two lookups.
    """

    shareable = True  # no side effects, so TaskRuns that wait for the same name share one trigger

    def __init__(self, host: str, interval: float = 5) -> None:
        # A ValueError or TypeError here fails the task at once with its message.
        if not interval > 0:
            raise ValueError(f"interval is {interval!r:.100}; it must be a positive number of seconds")
        self.host = _name(host)
        self.interval = interval

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the registered name, and the arguments that create an equal trigger."""
        return "resolves", {"host": self.host, "interval": self.interval}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look the name up until it has an address."""
        while not (addresses := await self._addresses()):
            self.last_look = f"{self.host} has no address"
            await asyncio.sleep(self.interval)
        yield TriggerEvent({"host": self.host, "addresses": addresses})

    async def _addresses(self) -> list[str]:
        try:
            answers = await asyncio.get_running_loop().getaddrinfo(self.host, None, type=socket.SOCK_STREAM)
        except socket.gaierror:
            # "No such name" and "no answer from the resolver" both mean: not yet.
            return []
        return sorted({str(address[0]) for *_, address in answers})


def _name(host: object) -> str:
    if not isinstance(host, str) or not host:
        raise ValueError(f"host must be a name such as db.example.org, not {host!r:.100}")
    host.encode("idna")  # raises ValueError for an invalid name
    return host
