"""A body on its way from the network into the database, a chunk at a time: what comes faster waits in the socket.

However it ends, nothing stays of a body that was not finished.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from sqlalchemy import Table
from torpor_api.timing import Clock

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.metrics import Metrics
from torpor_archive.storage import chunks
from torpor_archive.storage.bodies import Described, Upload
from torpor_archive.storage.chunks import Cutter, Limits
from torpor_archive.storage.content import Kind
from torpor_archive.storage.database import Database
from torpor_archive.storage.quota import QUOTA, Quota
from torpor_archive.storage.transfer_rate import RATE, Pace
from torpor_archive.storage.upload_slots import UPLOADS, Slots
from torpor_archive.storage.validation import Shape

UPLOAD_SECONDS = 900.0

log = logging.getLogger(__name__)


class Source(Protocol):
    """Where a body comes from."""

    async def readany(self) -> bytes:
        """What has come; nothing at the end."""


class Intake:
    """All uploads of a process. `rate` is the least number of bytes a second, `quota` the bytes of a namespace."""

    def __init__(
        self, database: Database, metrics: Metrics, clock: Clock, *, rate: int = RATE, quota: int = QUOTA
    ) -> None:
        self._database = database
        self._metrics = metrics
        self._clock = clock
        self._rate = rate
        self._quota = Quota(database, clock, quota)
        self._slots = Slots(UPLOADS, "uploads")

    @asynccontextmanager
    async def upload(self, table: Table, namespace: str, kind: Kind, limits: Limits) -> AsyncIterator["UploadSession"]:
        """Room for one body. Raises RefusedError (503) where there is none for too long, 507 over the quota."""
        async with self._slots.held(namespace):
            room = await self._quota.room(table, namespace)
            upload = Upload(self._database, kind, self._clock.now())
            full = None if room is None else (room, self._quota.exceeded(table, namespace))
            arrival = UploadSession(
                upload,
                cutter=Cutter(limits, lined=kind.lined),
                metrics=self._metrics,
                pace=Pace(self._rate),
                clock=self._clock,
                full=full,
            )
            with self._metrics.uploads.track_inprogress():
                try:
                    async with asyncio.timeout(UPLOAD_SECONDS):
                        yield arrival
                except TimeoutError:
                    raise RefusedError(errors.too_slow(f"the body took more than {UPLOAD_SECONDS:g} s")) from None
                finally:
                    await arrival.left()
            self._quota.add(table, namespace, arrival.described().size)


class UploadSession:
    """One body that comes in. `full` is how many bytes there is room for, and what is said of more."""

    def __init__(  # noqa: PLR0913 - what one body needs; `Intake` alone makes one
        self,
        upload: Upload,
        *,
        cutter: Cutter,
        metrics: Metrics,
        pace: Pace,
        clock: Clock,
        full: tuple[int, errors.Refusal] | None = None,
    ) -> None:
        self._upload = upload
        self._cutter = cutter
        self._metrics = metrics
        self._pace = pace
        self._clock = clock
        self._full = full
        self._begun = False
        self._done = False

    async def receive(self, source: Source, shape: Shape) -> chunks.Chunk:
        """Take it in but for its last chunk, which is given. Raises RefusedError for what must not be kept."""
        while data := await self._read(source):
            self._metrics.bytes.labels("in").inc(len(data))
            shape.feed(data)
            for chunk in self._cutter.feed(data):
                self._begun = True
                await self._upload.add(chunk)
            if self._full is not None and self._cutter.size > self._full[0]:
                raise RefusedError(self._full[1])
        shape.end()
        return self._cutter.end()

    def described(self, keys: str | None = None) -> Described:
        """What it is, once it has been received."""
        length = self._cutter.lines if self._cutter.lined else None
        return Described(size=self._cutter.size, digest=self._cutter.digest, length=length, keys=keys)

    async def finish(self, chunk: chunks.Chunk, described: Described, table: Table, row: dict[str, Any]) -> bool:
        """Let a row refer to it; false where there was one, and this body is forgotten."""
        self._begun = True
        new = await self._upload.finish(chunk, described, table, row)
        self._done = True
        return new

    async def left(self) -> None:
        """Forget what was not finished; what cannot be forgotten now is swept later."""
        if self._done or not self._begun:
            return
        self._metrics.abandoned.inc()
        try:
            await self._upload.abandon()
        except RefusedError:
            log.info("a body that was not finished is left for later")

    async def _read(self, source: Source) -> bytes:
        began = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._pace.left):
                data = await source.readany()
        except TimeoutError:
            raise RefusedError(self._pace.too_slow()) from None
        if data:
            self._pace.note(self._clock.monotonic() - began, len(data))
        return data
