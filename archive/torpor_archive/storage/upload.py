"""Streams a body from the network into the database, one chunk at a time, with backpressure.

An upload that does not finish leaves nothing behind.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from sqlalchemy import Table
from torpor_kubernetes.timing import Clock

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.limits.transfer_rate import RATE, TransferRate
from torpor_archive.limits.transfer_slots import UPLOADS, TransferSlots
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage import chunks
from torpor_archive.storage.bodies import BodySummary, BodyWriter, Refer
from torpor_archive.storage.chunks import BodyLimits, Chunker
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.database import Database
from torpor_archive.storage.quota import QUOTA, Quota
from torpor_archive.storage.validation import Validator

UPLOAD_SECONDS = 900.0

log = logging.getLogger(__name__)


class BodyStream(Protocol):
    """The source of a body."""

    async def readany(self) -> bytes:
        """Return the available data; empty at the end."""


class ChunkWriter(Protocol):
    """Stores the chunks of a body, or of a part of one: `BodyWriter`, or `PartWriter`."""

    async def add(self, chunk: chunks.Chunk) -> None:
        """Store a chunk."""

    async def finish(self, chunk: chunks.Chunk, summary: BodySummary, refer: Refer) -> bool:
        """Store the last chunk."""

    async def abandon(self) -> None:
        """Forget what was stored so far."""


class Uploads:
    """All uploads of a process. `rate` is the minimum in bytes per second, `quota` the bytes per namespace."""

    def __init__(
        self, database: Database, metrics: ArchiveMetrics, clock: Clock, *, rate: int = RATE, quota: int = QUOTA
    ) -> None:
        self._database = database
        self._metrics = metrics
        self._clock = clock
        self._rate = rate
        self.quota = Quota(database, clock, quota)
        self._slots = TransferSlots(UPLOADS, "uploads")

    @asynccontextmanager
    async def upload(
        self,
        table: Table,
        namespace: NamespaceId,
        body_format: BodyFormat,
        limits: BodyLimits,
        part: ChunkWriter | None = None,
    ) -> AsyncIterator["UploadSession"]:
        """Start an upload, or that of a part. Raises RefusedError: 503 if no slot becomes free in time, 507 over quota.

        A part counts for the quota when its body is complete.
        """
        async with self._slots.acquire(namespace.name):
            remaining = await self.quota.remaining(table, namespace)
            writer = part or BodyWriter(self._database, body_format, self._clock.now())
            full = None if remaining is None else (remaining, self.quota.exceeded(table, namespace))
            session = UploadSession(
                writer,
                chunker=Chunker(limits, has_lines=body_format.has_lines),
                metrics=self._metrics,
                transfer_rate=TransferRate(self._rate),
                clock=self._clock,
                full=full,
            )
            with self._metrics.uploads.track_inprogress():
                try:
                    async with asyncio.timeout(UPLOAD_SECONDS):
                        yield session
                except TimeoutError:
                    raise RefusedError(errors.too_slow(f"the upload took more than {UPLOAD_SECONDS:g} s")) from None
                finally:
                    await session.close()
            if part is None:
                self.quota.add(table, namespace, session.summary().size)


class UploadSession:
    """One upload. `full` is the quota left in bytes, and the refusal of a larger body."""

    def __init__(  # noqa: PLR0913 - only `Uploads` creates one
        self,
        writer: ChunkWriter,
        *,
        chunker: Chunker,
        metrics: ArchiveMetrics,
        transfer_rate: TransferRate,
        clock: Clock,
        full: tuple[int, errors.ErrorResponse] | None = None,
    ) -> None:
        self._writer = writer
        self._chunker = chunker
        self._metrics = metrics
        self._transfer_rate = transfer_rate
        self._clock = clock
        self._full = full
        self._started = False
        self._done = False

    async def receive(self, source: BodyStream, shape: Validator) -> chunks.Chunk:
        """Store all chunks but the last, which is returned. Raises RefusedError for an invalid body."""
        while data := await self._read(source):
            self._metrics.bytes.labels("in").inc(len(data))
            shape.feed(data)
            for chunk in self._chunker.feed(data):
                self._started = True
                await self._writer.add(chunk)
            if self._full is not None and self._chunker.size > self._full[0]:
                raise RefusedError(self._full[1])
        shape.end()
        return self._chunker.end()

    def summary(self, keys: str | None = None) -> BodySummary:
        """Describe the received body."""
        length = self._chunker.lines if self._chunker.has_lines else None
        return BodySummary(size=self._chunker.size, digest=self._chunker.digest, length=length, keys=keys)

    async def finish(self, chunk: chunks.Chunk, summary: BodySummary, refer: Refer) -> bool:
        """Store the last chunk and make a row refer to the body. Returns False if no row needs it."""
        self._started = True
        new = await self._writer.finish(chunk, summary, refer)
        self._done = True
        return new

    async def close(self) -> None:
        """Delete an unfinished body. If that fails, the sweep deletes it later."""
        if self._done or not self._started:
            return
        self._metrics.abandoned.inc()
        try:
            await self._writer.abandon()
        except RefusedError:
            log.info("cannot delete an unfinished upload now; the sweep will delete it")

    async def _read(self, source: BodyStream) -> bytes:
        started = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._transfer_rate.remaining_seconds):
                data = await source.readany()
        except TimeoutError:
            raise RefusedError(self._transfer_rate.too_slow()) from None
        if data:
            self._transfer_rate.record(self._clock.monotonic() - started, len(data))
        return data
