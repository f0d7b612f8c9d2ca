"""Sends stored bodies and logs to clients, within limits of time."""

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web

from torpor_archive.metrics import Metrics

IDLE_SECONDS = 60.0
"""How long a client may accept no data."""
DOWNLOAD_SECONDS = 900.0


async def send(
    request: web.Request, response: web.StreamResponse, first: bytes, rest: AsyncIterator[bytes], metrics: Metrics
) -> web.StreamResponse:
    """Send a response. Closes the connection if the rest cannot be read: the client would take a part for the whole.

    The caller has read the first part, so that an error before it can be sent as a response.
    """
    await response.prepare(request)
    data = first
    try:
        async with asyncio.timeout(DOWNLOAD_SECONDS):
            while data:
                metrics.bytes.labels("out").inc(len(data))
                async with asyncio.timeout(IDLE_SECONDS):
                    await response.write(data)
                data = await anext(rest, b"")
    except Exception as error:
        if request.transport is not None:
            request.transport.abort()
        raise ConnectionAbortedError(f"sending a response failed: {type(error).__name__}: {error}") from error
    await response.write_eof()
    return response
