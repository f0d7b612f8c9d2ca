"""Serves an application on a port or a socket, with limits for slow and for large request heads."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from socket import socket

from aiohttp import web

IDLE_SECONDS = 30.0
"""Time for a request head, and between two requests."""
STOP_SECONDS = 2.0
FIELD_MAX = 32 * 1024
"""Bytes of a header. A session needs up to five cookies of 3.6 kB."""


@asynccontextmanager
async def listening(
    application: web.Application, at: socket | int, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Serve for the block: on a socket, or on a port of all addresses."""
    runner = web.AppRunner(
        application,
        access_log=None,
        keepalive_timeout=IDLE_SECONDS,
        shutdown_timeout=STOP_SECONDS,
        max_field_size=FIELD_MAX,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, None, at, ssl_context=tls) if isinstance(at, int) else web.SockSite(runner, at)
        await site.start()
        yield
    finally:
        await runner.cleanup()
