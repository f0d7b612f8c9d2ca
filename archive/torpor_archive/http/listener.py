"""Serves an application on a port, with connection limits that aiohttp's sites lack.

Connections count from before the TLS handshake, which costs memory and CPU. aiohttp closes a connection without a
complete request head after `keepalive_timeout`.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from aiohttp.web_protocol import RequestHandler

from torpor_archive.http.connections import Connections, HttpConnection

STOP_SECONDS = 20.0
LINGER_SECONDS = 5.0
"""How long to read a refused body, so that the client receives the response."""
ACCEPT_PAUSE = 0.2

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RequestConnection:
    """The connection of a request."""

    _connections: Connections
    _connection: HttpConnection

    def assign(self, share: str) -> bool:
        """Count the request for a share. Returns False if the share has reached its limit."""
        return self._connections.assign(self._connection, share)


CONNECTION = web.RequestKey("connection", RequestConnection)


@asynccontextmanager
async def serve_on(
    application: web.Application, port: int, connections: Connections, context: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Serve until the block exits. Requests in progress then have `STOP_SECONDS` to finish."""
    listener = _Listener(connections, context)
    application.middlewares.insert(0, listener.middleware())
    runner = web.AppRunner(
        application,
        access_log=None,
        shutdown_timeout=STOP_SECONDS,
        keepalive_timeout=connections.limits.idle,
        lingering_time=LINGER_SECONDS,
    )
    await runner.setup()
    server = runner.server
    if server is None:  # for mypy: `setup` creates it
        raise RuntimeError("the runner has no server")
    with _bind(port) as server_socket:
        accepting = asyncio.create_task(listener.accept(server_socket, server))
        try:
            yield
        finally:
            for task in (accepting, *listener.handshakes):
                task.cancel()
            await asyncio.gather(accepting, *listener.handshakes, return_exceptions=True)
            await runner.cleanup()


class _Listener:
    """Accepts connections on one port."""

    def __init__(self, connections: Connections, context: ssl.SSLContext | None) -> None:
        self._connections = connections
        self._context = context
        self._by_handler: dict[RequestHandler, HttpConnection] = {}
        self.handshakes: set[asyncio.Task[None]] = set()

    async def accept(self, server_socket: socket.socket, server: web.Server) -> None:
        """Accept connections until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(server_socket)
            except OSError as error:  # the peer closed the connection, or too many files are open
                log.warning("cannot accept a connection: %s", error)
                await asyncio.sleep(ACCEPT_PAUSE)
                continue
            self._start(accepted, str(address[0]), server)

    def _start(self, accepted: socket.socket, address: str, server: web.Server) -> None:
        task: asyncio.Task[None] | None = None
        connection = self._connections.admit(address, lambda: task and task.cancel())
        if connection is None:
            accepted.close()
            return

        def ended(done: asyncio.Task[None]) -> None:
            self.handshakes.discard(done)
            if done.cancelled():  # before it started; afterwards the transport closes the socket
                accepted.close()

        task = asyncio.create_task(self._open(accepted, connection, server))
        self.handshakes.add(task)
        task.add_done_callback(ended)

    async def _open(self, accepted: socket.socket, connection: HttpConnection, server: web.Server) -> None:
        handler = server()
        protocol = _TrackedHandler(handler, lambda: self._remove(handler, connection))
        self._by_handler[handler] = connection
        limit = None if self._context is None else self._connections.limits.idle
        try:
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol,
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=limit,
                ssl_shutdown_timeout=None if limit is None else LINGER_SECONDS,
            )
        except BaseException as error:
            self._remove(handler, connection)
            if not isinstance(error, (OSError, ssl.SSLError, asyncio.CancelledError)):
                log.exception("connection from %s failed", connection.address)
            return
        connection.close = transport.abort

    def _remove(self, handler: RequestHandler, connection: HttpConnection) -> None:
        self._by_handler.pop(handler, None)
        self._connections.remove(connection)

    def middleware(self) -> Middleware:
        """Return the middleware that marks a connection busy during each request."""

        @web.middleware
        async def mark_busy(request: web.Request, handler: Handler) -> web.StreamResponse:
            connection = self._by_handler.get(request.protocol)
            if connection is None:
                return await handler(request)
            connection.busy = True
            request[CONNECTION] = RequestConnection(self._connections, connection)
            try:
                return await handler(request)
            finally:
                connection.busy = False
                self._connections.release(connection)

        return mark_busy


class _TrackedHandler(asyncio.Protocol):
    """aiohttp's protocol, with a callback when the connection is lost."""

    def __init__(self, inner: RequestHandler, on_lost: Callable[[], None]) -> None:
        self._inner = inner
        self._on_lost = on_lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> None:
        self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)
        self._on_lost()


def _bind(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        server_socket = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    else:
        server_socket = socket.create_server(("", port))
    server_socket.setblocking(False)
    return server_socket
