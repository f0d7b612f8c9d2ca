"""A response that is a file: counted for its caller, and with an end for a viewer that does not read."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web
from torpor_client.errors import UserError

from torpor_ui.errors import ProblemError
from torpor_ui.http import event_stream


class Download:
    """The file of one viewer. The response begins with the first write, so before it a problem can still be sent."""

    def __init__(self, request: web.Request, headers: Mapping[str, str]) -> None:
        self.response = web.StreamResponse(headers=headers)
        self._request = request

    async def write(self, content: bytes) -> None:
        """Send a piece. Raises ConnectionError if the viewer has left, or takes nothing."""
        await self._begin()
        await self._in_time(self.response.write(content))

    async def end(self) -> None:
        """Send the end. Raises ConnectionError, as `write` does."""
        await self._begin()
        await self._in_time(self.response.write_eof())

    async def _begin(self) -> None:
        if not self.response.prepared:
            await self.response.prepare(self._request)

    @staticmethod
    async def _in_time(sending: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(event_stream.WRITE_SECONDS):
                await sending
        except TimeoutError as error:
            raise ConnectionResetError("the viewer took nothing of a download") from error


@asynccontextmanager
async def open_download(request: web.Request, headers: Mapping[str, str]) -> AsyncIterator[Download]:
    """Open a download and count it as a stream of its caller.

    A file that cannot be read to its end breaks the connection, so that no browser keeps a part of it.
    """
    with event_stream.counted(request):
        download = Download(request, headers)
        try:
            yield download
            await download.end()
        except (UserError, ProblemError, ConnectionError):
            if not download.response.prepared:
                raise
            if request.transport is not None:
                request.transport.abort()
