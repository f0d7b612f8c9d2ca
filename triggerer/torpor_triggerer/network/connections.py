"""Connects waits to servers: resolves names, checks addresses and counts connections for every client.

An address is checked after the name was resolved, and the checked address is connected to, so that a name which changes
a moment later gains nothing. A client that connects by itself evades this.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torpor.triggers.support.metering import AddressDeniedError, ByteMeter, ShareInUseError
from torpor_kubernetes.fairness.namespace_shares import Shares

from torpor_triggerer.network.addresses import Addresses
from torpor_triggerer.network.resolver import NameResolver, ResolvedAddress


class MeteredSocket(socket.socket):
    """A socket for any client library. It counts the bytes that it receives, and calls `on_close` once."""

    meter: ByteMeter | None = None
    on_close: Callable[[], None] | None = None

    def recv(self, *given: Any) -> bytes:
        """Receive bytes. Raises OverrunError past the limit."""
        data = super().recv(*given)
        if self.meter is not None:
            self.meter.add(len(data))
        return data

    def recv_into(self, *given: Any) -> int:
        """Receive bytes into a buffer and return their number. Raises OverrunError past the limit."""
        count = super().recv_into(*given)
        if self.meter is not None:
            self.meter.add(count)
        return count

    def close(self) -> None:
        """Close the socket."""
        super().close()
        closed, self.on_close = self.on_close, None
        if closed is not None:
            closed()


REQUESTS = 256
SOCKETS = 1024
ANSWERS = 16
ANSWER_BYTES = 1024**2
REQUEST_SECONDS = 60.0
BUSY_SECONDS = 30.0
_OWNER: ContextVar[str] = ContextVar("owner", default="")


@contextmanager
def on_behalf_of(owner: str) -> Iterator[None]:
    """Set the owner for clients whose lookups have no parameter for it."""
    token = _OWNER.set(owner)
    try:
        yield
    finally:
        _OWNER.reset(token)


def current_owner() -> str:
    """Return the owner of the current lookup."""
    return _OWNER.get()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundNetwork:
    """The connections of all waits of a process.

    `requests`: HTTP requests in flight. `sockets`: open connections of other clients. `answers`: large responses being
    read or evaluated, of `answer_bytes` each. `request_seconds`: the longest request.
    """

    addresses: Addresses = field(default_factory=Addresses.build)
    resolver: NameResolver = field(default_factory=NameResolver)
    requests: Shares = field(default_factory=lambda: Shares(REQUESTS))
    sockets: Shares = field(default_factory=lambda: Shares(SOCKETS))
    answers: Shares = field(default_factory=lambda: Shares(ANSWERS))
    answer_bytes: int = ANSWER_BYTES
    request_seconds: float = REQUEST_SECONDS

    async def resolve(self, owner: str, host: str) -> Sequence[ResolvedAddress]:
        """Return the addresses of a host that waits may reach.

        Raises OSError if there is none, AddressDeniedError if all are denied.
        """
        resolved = await self.resolver.find(owner, host)
        allowed = [address for address in resolved if not self.addresses.refusal(address.address)]
        if not allowed and resolved:
            raise AddressDeniedError(self.denial(host, resolved[0].address))
        if not allowed:
            raise OSError(f"the name {host[:100]} has no address")
        return allowed

    def denial(self, host: str, address: str) -> str:
        """Return the message for a denied address."""
        shown = host[:100] if host == address else f"{host[:100]} ({address})"
        why = self.addresses.refusal(address)
        return f"the triggerer does not connect to {shown}: {why}; --allow-networks of the triggerer can allow it"

    async def connect(self, owner: str, host: str, port: int, *, seconds: float, meter: ByteMeter) -> MeteredSocket:
        """Open a connection that `meter` counts and that holds a slot while open. Raises OSError as `resolve` does."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                await self.sockets.acquire(owner)
                release = partial(_release, loop, self.sockets, owner)
                try:
                    connected = await self._connect(await self.resolve(owner, host), port, meter)
                except BaseException:
                    release()
                    raise
        except TimeoutError as error:
            raise OSError(f"no connection within {seconds:g} s{self._why(owner)}") from error
        connected.on_close = release
        return connected

    @asynccontextmanager
    async def hold(self, shares: Shares, owner: str) -> AsyncIterator[None]:
        """Hold a slot of a share inside the block. Raises ShareInUseError after `BUSY_SECONDS`."""
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                await shares.acquire(owner)
        except TimeoutError as error:
            held = shares.held(owner)
            raise ShareInUseError(f"{held} requests of this namespace are under way, which is its share") from error
        try:
            yield
        finally:
            shares.release(owner)

    def _why(self, owner: str) -> str:
        return "" if self.sockets.is_open(owner) else f": {self.sockets.held(owner)} of this namespace are open"

    async def _connect(self, addresses: Sequence[ResolvedAddress], port: int, meter: ByteMeter) -> MeteredSocket:
        """Connect to the first address that accepts."""
        failed: OSError | None = None
        for address in addresses:
            connected = MeteredSocket(address.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            connected.setblocking(False)
            connected.meter = meter
            try:
                await asyncio.get_running_loop().sock_connect(connected, address.at(port))
            except OSError as error:
                connected.close()
                failed = error
            except BaseException:
                connected.close()
                raise
            else:
                return connected
        raise failed or OSError("no address")


def _release(loop: asyncio.AbstractEventLoop, shares: Shares, owner: str) -> None:
    """May be called from any thread; does nothing after the loop is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(shares.release, owner)
