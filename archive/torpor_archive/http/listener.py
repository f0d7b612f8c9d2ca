"""Serves an application on a port, with limits that aiohttp's own sites do not have.

Connections are counted before the TLS handshake, which costs memory and CPU. aiohttp closes a connection whose request
head is not complete, or that carries no request, after `keepalive_timeout`.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from aiohttp.web_protocol import RequestHandler

from torpor_archive.http.connections import Connection, Connections

STOP_SECONDS = 20.0
LINGER_SECONDS = 5.0
"""For which a body that was refused is read on, so that the client sees the answer."""
ACCEPT_PAUSE = 0.2

log = logging.getLogger(__name__)


@asynccontextmanager
async def listening(
    application: web.Application, port: int, connections: Connections, context: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Serve until the block ends; requests that are under way then have `STOP_SECONDS`."""
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
    if server is None:  # for mypy: `setup` makes it
        raise RuntimeError("the runner has no server")
    with _bound(port) as bound:
        accepting = asyncio.create_task(listener.accept(bound, server))
        try:
            yield
        finally:
            for task in (accepting, *listener.handshakes):
                task.cancel()
            await asyncio.gather(accepting, *listener.handshakes, return_exceptions=True)
            await runner.cleanup()


class _Listener:
    """One port."""

    def __init__(self, connections: Connections, context: ssl.SSLContext | None) -> None:
        self._connections = connections
        self._context = context
        self._by_handler: dict[RequestHandler, Connection] = {}
        self.handshakes: set[asyncio.Task[None]] = set()

    async def accept(self, bound: socket.socket, server: web.Server) -> None:
        """Accept connections, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(bound)
            except OSError as error:  # the peer has gone already, or there are too many open files
                log.warning("a connection was not accepted: %s", error)
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
            if done.cancelled():  # before it began; else the socket is its transport's to close
                accepted.close()

        task = asyncio.create_task(self._opened(accepted, connection, server))
        self.handshakes.add(task)
        task.add_done_callback(ended)

    async def _opened(self, accepted: socket.socket, connection: Connection, server: web.Server) -> None:
        handler = server()
        tracked = _Tracked(handler, lambda: self._ended(handler, connection))
        self._by_handler[handler] = connection
        limit = None if self._context is None else self._connections.limits.idle
        try:
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: tracked,
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=limit,
                ssl_shutdown_timeout=None if limit is None else LINGER_SECONDS,
            )
        except BaseException as error:
            self._ended(handler, connection)
            if not isinstance(error, (OSError, ssl.SSLError, asyncio.CancelledError)):
                log.exception("a connection of %s", connection.address)
            return
        connection.close = transport.abort

    def _ended(self, handler: RequestHandler, connection: Connection) -> None:
        self._by_handler.pop(handler, None)
        self._connections.remove(connection)

    def middleware(self) -> Middleware:
        """Marks the connection of each request while it is answered."""

        @web.middleware
        async def marked(request: web.Request, handler: Handler) -> web.StreamResponse:
            connection = self._by_handler.get(request.protocol)
            if connection is None:
                return await handler(request)
            connection.busy = True
            try:
                return await handler(request)
            finally:
                connection.busy = False

        return marked


class _Tracked(asyncio.Protocol):
    """aiohttp's protocol, and who is told when its connection is lost."""

    def __init__(self, inner: RequestHandler, lost: Callable[[], None]) -> None:
        self._inner = inner
        self._lost = lost

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
        self._lost()


def _bound(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        made = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    else:
        made = socket.create_server(("", port))
    made.setblocking(False)
    return made
