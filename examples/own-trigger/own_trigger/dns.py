"""Waits until a host name resolves: a Service that is still to be made, a record that somebody will publish.

All waits of a triggerer run in one event loop, so nothing here may block it: the loop asks the resolver in a thread.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

from torpor.triggers import BaseTrigger, TriggerEvent


class Resolves(BaseTrigger):
    """Fires when `host` has an address, looked up every `interval` seconds; the event is `{host, addresses}`."""

    shareable = True  # asking a resolver changes nothing, so TaskRuns that wait for the same name share one of these

    def __init__(self, host: str, interval: float = 5) -> None:
        # What is refused here fails the task at once with this message: as early as a mistake can be told.
        if not interval > 0:
            raise ValueError(f"interval is {interval!r:.100}; it takes seconds, more than none")
        self.host = _name(host)
        self.interval = interval

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """As it is registered, and what makes an equal one."""
        return "resolves", {"host": self.host, "interval": self.interval}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until there is an answer."""
        while not (addresses := await self._addresses()):
            self.last_look = f"{self.host} has no address"
            await asyncio.sleep(self.interval)
        yield TriggerEvent({"host": self.host, "addresses": addresses})

    async def _addresses(self) -> list[str]:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(self.host, None, type=socket.SOCK_STREAM)
        except socket.gaierror:
            # "No such name" and "no answer from the resolver" both mean: not yet.
            return []
        return sorted({str(address[0]) for *_, address in found})


def _name(host: object) -> str:
    if not isinstance(host, str) or not host:
        raise ValueError(f"host takes a name such as db.example.org, not {host!r:.100}")
    host.encode("idna")  # raises a ValueError for what no resolver would look up
    return host
