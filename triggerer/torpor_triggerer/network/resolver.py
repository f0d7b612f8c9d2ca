"""Resolves host names for waits, in threads of their own, with a limit for each lookup.

The loop's own lookups use asyncio's default executor, as do the clients of the API server, and `getaddrinfo` cannot be
stopped: names that never resolve would block that executor. Namespaces share these threads.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import NamedTuple, TypeAlias

from torpor_triggerer.fairness.threads import WorkerThreads

LOOKUPS = 32
LOOKUP_SECONDS = 10.0


class ResolvedAddress(NamedTuple):
    """An address of a host, for a socket of this family."""

    family: int
    address: str

    def at(self, port: int) -> tuple[str, int] | tuple[str, int, int, int]:
        """Return the socket address with a port."""
        if self.family != socket.AF_INET6:
            return self.address, port
        host, _, scope = self.address.partition("%")
        return host, port, 0, _scope(scope)


Lookup: TypeAlias = Callable[[str], Sequence[ResolvedAddress]]


def system(host: str) -> Sequence[ResolvedAddress]:
    """Resolve by this machine's resolver; blocks."""
    answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [ResolvedAddress(int(family), str(at[0])) for family, _, _, _, at in answers]


class NameResolver:
    """Resolves names, `LOOKUPS` at a time."""

    def __init__(self, lookup: Lookup = system, *, limit: int = LOOKUPS, seconds: float = LOOKUP_SECONDS) -> None:
        self._lookup = lookup
        self._threads = WorkerThreads(limit)
        self._seconds = seconds
        self._running: dict[tuple[str, str], asyncio.Task[Sequence[ResolvedAddress]]] = {}

    async def find(self, owner: str, host: str) -> Sequence[ResolvedAddress]:
        """Return the addresses of a host. Raises OSError if there is none in time."""
        literal = _literal(host)
        if literal is not None:
            return [literal]
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.shield(self._look_up(owner, host))
        except TimeoutError as error:
            raise OSError(f"the name {host[:100]} was not resolved within {self._seconds:g} s") from error
        except UnicodeError as error:
            raise OSError(f"{host[:100]!r} is not a valid host name") from error

    def _look_up(self, owner: str, host: str) -> "asyncio.Task[Sequence[ResolvedAddress]]":
        """One lookup serves all waits of a namespace for a name. It continues after they gave up."""
        key = owner, host
        running = self._running.get(key)
        if running is None:
            running = asyncio.create_task(self._threads.call(lambda: self._lookup(host), owner))
            self._running[key] = running
            running.add_done_callback(lambda task: self._ended(key, task))
        return running

    def _ended(self, key: tuple[str, str], task: "asyncio.Task[Sequence[ResolvedAddress]]") -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # the caller may have timed out


def _literal(host: str) -> ResolvedAddress | None:
    try:
        parsed = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return ResolvedAddress(socket.AF_INET if parsed.version == 4 else socket.AF_INET6, host)  # noqa: PLR2004 - of IP


def _scope(name: str) -> int:
    if not name:
        return 0
    try:
        return int(name) if name.isdigit() else socket.if_nametoindex(name)
    except OSError:
        return 0
