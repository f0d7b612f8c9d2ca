"""Sends stored bodies, logs and lists to clients: a share of the downloads for each namespace, and a minimum rate."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from aiohttp import web

from torpor_archive.errors import RefusedError
from torpor_archive.limits.transfer_rate import RATE, TransferRate
from torpor_archive.limits.transfer_slots import DOWNLOADS, TransferSlots
from torpor_archive.metrics import ArchiveMetrics

DOWNLOAD_SECONDS = 900.0
PIECE = 64 * 1024
"""Bytes that are sent at a time, so that the rate of a slow client is seen."""


class Downloads:
    """All downloads of a process. `rate` is the minimum in bytes per second."""

    def __init__(self, metrics: ArchiveMetrics, rate: int = RATE) -> None:
        self._metrics = metrics
        self._rate = rate
        self._slots = TransferSlots(DOWNLOADS, "downloads")

    def acquire(self, share: str) -> AbstractAsyncContextManager[None]:
        """Hold a slot during the block. Raises RefusedError (503) if none becomes free in time."""
        return self._slots.acquire(share)

    async def send(
        self, request: web.Request, response: web.StreamResponse, first: bytes, rest: AsyncIterator[bytes]
    ) -> web.StreamResponse:
        """Send a response.

        It closes the connection if the rest cannot be read, because the client would take a part for the whole, and
        if the client is slower than the minimum. The caller has read the first part,
        so that an error before it can be sent as a response.
        """
        await response.prepare(request)
        rate, data = TransferRate(self._rate), first
        try:
            async with asyncio.timeout(DOWNLOAD_SECONDS):
                while data:
                    for start in range(0, len(data), PIECE):
                        await self._write(response, data[start : start + PIECE], rate)
                    data = await anext(rest, b"")
                await response.write_eof()
        except Exception as error:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionAbortedError(f"sending a response failed: {type(error).__name__}: {error}") from error
        return response

    async def send_json(self, request: web.Request, value: Any) -> web.StreamResponse:
        """Send a value, whose size the caller has limited."""
        response = web.StreamResponse(headers={"Content-Type": "application/json; charset=utf-8"})
        content = json.dumps(value).encode()
        response.content_length = len(content)
        return await self.send(request, response, content, _nothing())

    async def _write(self, response: web.StreamResponse, piece: bytes, rate: TransferRate) -> None:
        """Write a piece. Raises TimeoutError or RefusedError if the client takes too little."""
        self._metrics.bytes.labels("out").inc(len(piece))
        began = time.monotonic()
        async with asyncio.timeout(rate.remaining_seconds):
            await response.write(piece)
        try:
            rate.record(time.monotonic() - began, len(piece))
        except RefusedError as error:
            raise TimeoutError(f"the client took less than {self._rate} bytes per second") from error


async def _nothing() -> AsyncIterator[bytes]:
    no_pieces: tuple[bytes, ...] = ()
    for piece in no_pieces:
        yield piece
