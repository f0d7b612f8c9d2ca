"""Serves health checks and metrics from the event loop of the process: a loop that hangs does not answer.

Operator and triggerer use it. The caller names the paths, what each of them checks, and what it renders.
"""

import logging
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple, Never

from aiohttp import web

from torpor_kubernetes.timing import Clock

BEAT = 1.0
LATE = 3.0
IDLE_SECONDS = 5.0
"""Seconds after which aiohttp closes a connection without a complete request."""
STOP_SECONDS = 1.0
_NO_PAGES: Mapping[str, "HealthPage"] = MappingProxyType({})

log = logging.getLogger(__name__)


class Heartbeat:
    """Measures how late the event loop is: one beat a second. `observe` gets the lateness of each in seconds."""

    def __init__(self, clock: Clock, observe: Callable[[float], None]) -> None:
        self._clock = clock
        self._observe = observe
        self._beat = clock.monotonic()

    def lateness(self) -> float:
        """Return the seconds by which the next beat is overdue."""
        return max(0.0, self._clock.monotonic() - self._beat - BEAT)

    async def run(self) -> Never:
        """Beat until cancelled."""
        while True:
            self._beat = self._clock.monotonic()
            await self._clock.sleep(BEAT)
            self._observe(self.lateness())


class HealthPage(NamedTuple):
    """A page with its content type; `render` makes its body."""

    content_type: str
    render: Callable[[], bytes]


Check = Callable[[], str]
"""Returns what is wrong; empty if nothing is."""


def application(checks: Mapping[str, Check], pages: Mapping[str, HealthPage] = _NO_PAGES) -> web.Application:
    """Build the application. A path of `checks` answers 200, or 503 with the error; a path of `pages` its body."""

    async def check(request: web.Request) -> web.Response:
        error = checks[request.path]()
        if error:
            return web.Response(text=f"{error}\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
        return web.Response(text="ok\n")

    async def page(request: web.Request) -> web.Response:
        served = pages[request.path]
        try:
            return web.Response(body=served.render(), headers={"Content-Type": served.content_type})
        except Exception:
            log.exception("Page %s failed to render", request.path)
            return web.Response(text="failed to render; see the log\n", status=HTTPStatus.INTERNAL_SERVER_ERROR)

    async def not_found(_request: web.Request) -> web.Response:
        return web.Response(text=f"paths: {', '.join((*checks, *pages))}\n", status=HTTPStatus.NOT_FOUND)

    app = web.Application()
    app.add_routes([web.get(path, check) for path in checks])
    app.add_routes([web.get(path, page) for path in pages])
    app.router.add_route("*", "/{path:.*}", not_found)
    return app


@asynccontextmanager
async def serve(
    port: int, checks: Mapping[str, Check], pages: Mapping[str, HealthPage] = _NO_PAGES
) -> AsyncIterator[int]:
    """Serve the application. Yields the port, which the system chooses for `port` 0."""
    runner = web.AppRunner(
        application(checks, pages),
        access_log=None,
        keepalive_timeout=IDLE_SECONDS,
        shutdown_timeout=STOP_SECONDS,
    )
    await runner.setup()
    try:
        listener = _listen(port)
        await web.SockSite(runner, listener).start()
        yield int(listener.getsockname()[1])
    finally:
        await runner.cleanup()


def _listen(port: int) -> socket.socket:
    """Open one socket for IPv4 and IPv6, since a kubelet may use either."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))
