"""A forward proxy on loopback for clients that open connections by themselves, such as the object store's in Rust.

The proxy applies the rules of all waits: names, addresses, connections, bytes. Each client has a password of its own,
which identifies its owner; without one the proxy connects no client.
"""

import asyncio
import base64
import logging
import secrets
from contextlib import suppress
from urllib.parse import urlsplit

from torpor.triggers.support.metering import AddressDeniedError, ByteMeter

from torpor_triggerer.network.connections import OutboundNetwork

CONNECT_SECONDS = 5.0
IDLE_SECONDS = 60.0
HEAD_MAX = 64 * 1024
_CHUNK = 64 * 1024
_HOP_BY_HOP = ("proxy-", "connection:", "keep-alive:")

log = logging.getLogger(__name__)


class ProxySession:
    """One client. `denied`: why an address was denied; `failed`: why a connection failed."""

    def __init__(self, proxies: "ProxyServer", owner: str, meter: ByteMeter, port: int) -> None:
        self.owner = owner
        self.meter = meter
        self.denied = ""
        self.failed = ""
        self.password = secrets.token_urlsafe(24)
        self.url = f"http://torpor:{self.password}@127.0.0.1:{port}"
        self._proxies = proxies

    async def close(self) -> None:
        """Remove the client."""
        await self._proxies.close(self)


class ProxyServer:
    """The proxy. It listens while it has clients."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._starting = asyncio.Lock()
        self._sessions: dict[str, ProxySession] = {}
        self._serving: set[asyncio.Task[None]] = set()

    async def open(self, network: OutboundNetwork, owner: str, meter: ByteMeter) -> ProxySession:
        """Add a client."""
        async with self._starting:
            if self._server is None:
                self._server = await asyncio.start_server(
                    lambda reader, writer: self._accept(network, reader, writer), "127.0.0.1", 0, limit=HEAD_MAX
                )
            session = ProxySession(self, owner, meter, self._server.sockets[0].getsockname()[1])
            self._sessions[session.password] = session
            return session

    async def close(self, session: ProxySession) -> None:
        """Remove a client; with the last one, stop the proxy."""
        async with self._starting:
            self._sessions.pop(session.password, None)
            if self._sessions or self._server is None:
                return
            server, self._server = self._server, None
            server.close()
            for task in self._serving:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, network: OutboundNetwork, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Not a coroutine: one that is cancelled before it starts would leave the connection open."""
        task = asyncio.create_task(self._serve_or_cut(network, reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        task.add_done_callback(lambda _: writer.close())

    async def _serve_or_cut(
        self, network: OutboundNetwork, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            await self._serve(network, reader, writer)
        except (OSError, ValueError, EOFError, asyncio.LimitOverrunError) as error:
            log.debug("A proxy connection ended: %s", error)

    async def _serve(
        self, network: OutboundNetwork, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        async with asyncio.timeout(CONNECT_SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
        method, target, _ = line.split(" ", 2)
        session = self._sessions.get(_password(fields))
        if session is None:
            await _answer(writer, "407 Proxy Authentication Required")
            return
        at = urlsplit(f"//{target}" if method == "CONNECT" else target)
        port = at.port or (443 if method == "CONNECT" else 80)
        try:
            connected = await network.connect(
                session.owner, at.hostname or "", port, seconds=CONNECT_SECONDS, meter=session.meter
            )
        except AddressDeniedError as error:
            session.denied = str(error)
            await _answer(writer, "403 Forbidden")
            return
        except OSError as error:
            session.failed = f"no connection to {at.hostname}:{port}: {error}"
            await _answer(writer, "502 Bad Gateway")
            return
        try:
            out_reader, out_writer = await asyncio.open_connection(sock=connected, limit=_CHUNK)
        except BaseException:
            connected.close()
            raise
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = at.path + (f"?{at.query}" if at.query else "")
            out_writer.write(_head(method, path or "/", fields))
        await _relay((reader, writer), (out_reader, out_writer))


async def _relay(
    inside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    outside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    """Copy until either side has closed. Past the limit both are aborted: no partial response may look complete."""
    sending = asyncio.create_task(_copy(inside[0], outside[1]))
    receiving = asyncio.create_task(_copy(outside[0], inside[1]))
    try:
        await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
        if receiving.done() and receiving.exception() is not None:
            inside[1].transport.abort()
    finally:
        sending.cancel()
        receiving.cancel()
        outside[1].transport.abort()
        await asyncio.gather(sending, receiving, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        async with asyncio.timeout(IDLE_SECONDS):
            chunk = await reader.read(_CHUNK)
        if not chunk:
            return
        writer.write(chunk)
        async with asyncio.timeout(IDLE_SECONDS):
            await writer.drain()


async def _answer(writer: asyncio.StreamWriter, status: str) -> None:
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
    with suppress(OSError):
        await writer.drain()


def _head(method: str, path: str, fields: list[str]) -> bytes:
    """The request as it is sent on: one per connection, so that the meter counts one response."""
    kept = [header for header in fields if not header.lower().startswith(_HOP_BY_HOP)]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *kept, "Connection: close", "", ""]).encode("latin-1")


def _password(fields: list[str]) -> str:
    for header in fields:
        name, _, value = header.partition(":")
        if name.lower() == "proxy-authorization":
            with suppress(ValueError):
                return base64.b64decode(value.strip().removeprefix("Basic ")).decode().partition(":")[2]
    return ""
