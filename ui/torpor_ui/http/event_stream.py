"""Server-Sent Events to one viewer: compressed, with heartbeats, and with an end for a viewer that does not read.

A stream has no queue. Its producer sends the newest state each time the viewer has taken the last one, so a slow viewer
gets fewer events and never old ones.
"""

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from aiohttp import web

from torpor_ui import errors
from torpor_ui.encoding import encode
from torpor_ui.errors import ProblemError
from torpor_ui.http.context import caller_of, set_cookies

STREAMS_MAX = 64
"""Open streams and downloads of one identity."""
WRITE_SECONDS = 30.0
"""A viewer that takes nothing for so long is gone: its computer sleeps, or its network."""
HEARTBEAT_SECONDS = 15.0
PIECE = 64 * 1024
"""Bytes to compress at a time, so that a large snapshot does not block the event loop."""
_SEND_BUFFER = 128 * 1024
_GZIP_WINDOW = 16 + 15
_LEVEL, _MEMORY = 4, 7


class EventStream:
    """The open stream of one viewer."""

    def __init__(self, response: web.StreamResponse, *, compress: bool) -> None:
        self.response = response
        self._gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_WINDOW, _MEMORY) if compress else None
        self._number = 0
        self.bytes = 0

    async def send(self, event: str, data: Any) -> None:
        """Send an event. `data` is a value, or JSON that is encoded already. Raises ConnectionError."""
        body = data if isinstance(data, bytes) else encode(data)
        self._number += 1
        await self._write(b"id: %d\nevent: %s\ndata: " % (self._number, event.encode()) + body + b"\n\n")

    async def heartbeat(self) -> None:
        """Send a comment, so that proxies keep the connection and a dead viewer is noticed."""
        await self._write(b":\n\n")

    async def _write(self, content: bytes) -> None:
        for start in range(0, len(content), PIECE):
            piece = content[start : start + PIECE]
            if self._gzip is not None:
                last = start + PIECE >= len(content)
                piece = self._gzip.compress(piece) + (self._gzip.flush(zlib.Z_SYNC_FLUSH) if last else b"")
            self.bytes += len(piece)
            try:
                async with asyncio.timeout(WRITE_SECONDS):
                    await self.response.write(piece)
            except TimeoutError as error:
                raise ConnectionResetError(f"the viewer took nothing for {WRITE_SECONDS:g} s") from error
            if start + PIECE < len(content):
                await asyncio.sleep(0)


@contextmanager
def counted(request: web.Request) -> Iterator[None]:
    """Count a stream or a download for its caller. Raises ProblemError beyond the share of one identity."""
    caller = caller_of(request)
    if caller.streams >= STREAMS_MAX:
        raise errors.too_many(f"you have {STREAMS_MAX} open streams")
    caller.streams += 1
    try:
        yield
    finally:
        caller.streams -= 1


@asynccontextmanager
async def open_stream(request: web.Request) -> AsyncIterator[EventStream]:
    """Open the stream of a request, and count it for its caller.

    A ProblemError in the block becomes the event `problem`, after which the page decides whether to connect again. A
    viewer that has left, or takes nothing, ends the block.
    """
    with counted(request):
        compress = "gzip" in request.headers.get("Accept-Encoding", "")
        response = web.StreamResponse(headers=_headers(compress=compress))
        set_cookies(request, response)
        await response.prepare(request)
        _bound_buffers(request)
        stream = EventStream(response, compress=compress)
        try:
            try:
                yield stream
            except ProblemError as error:
                await stream.send("problem", error.problem.as_json())
        except ConnectionError:
            if request.transport is not None:
                request.transport.abort()


def _headers(*, compress: bool) -> dict[str, str]:
    headers = {
        "Content-Type": "text/event-stream; charset=utf-8",
        "Cache-Control": "no-store, no-transform",
        "X-Accel-Buffering": "no",
    }
    return headers | ({"Content-Encoding": "gzip"} if compress else {})


def _bound_buffers(request: web.Request) -> None:
    """Keep little in buffers of this process and of the kernel, so that what is sent is new when it arrives."""
    transport = request.transport
    if transport is None:
        return
    transport.set_write_buffer_limits(high=PIECE)
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
