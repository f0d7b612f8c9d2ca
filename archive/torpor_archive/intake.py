"""A body on its way from the network into the database, a chunk at a time: what comes faster waits in the socket.

However it ends, nothing stays of a body that was not finished.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from sqlalchemy import Table

from torpor_archive import framing, refusal
from torpor_archive.database import Database
from torpor_archive.framing import Cutter, Limits
from torpor_archive.kinds import Kind
from torpor_archive.metrics import Metrics
from torpor_archive.refusal import RefusedError
from torpor_archive.shape import Shape
from torpor_archive.store import Described, Upload

UPLOADS = 16
"""At a time: each may hold one chunk and one line."""
ROOM_SECONDS = 30.0
IDLE_SECONDS = 60.0
UPLOAD_SECONDS = 900.0

log = logging.getLogger(__name__)


class Source(Protocol):
    """Where a body comes from."""

    async def readany(self) -> bytes:
        """What has come; nothing at the end."""


class Intake:
    """All uploads of a process."""

    def __init__(self, database: Database, metrics: Metrics) -> None:
        self._database = database
        self._metrics = metrics
        self._room = asyncio.Semaphore(UPLOADS)

    @asynccontextmanager
    async def upload(self, kind: Kind, limits: Limits, now: float) -> AsyncIterator["Arrival"]:
        """Room for one body. Raises RefusedError (503) where there is none for too long."""
        try:
            await asyncio.wait_for(self._room.acquire(), ROOM_SECONDS)
        except TimeoutError:
            busy = refusal.unavailable("Busy", f"{UPLOADS} bodies are coming in already: try again later")
            raise RefusedError(busy) from None
        arrival = Arrival(Upload(self._database, kind, now), Cutter(limits, lined=kind.lined), self._metrics)
        with self._metrics.uploads.track_inprogress():
            try:
                async with asyncio.timeout(UPLOAD_SECONDS):
                    yield arrival
            except TimeoutError:
                raise RefusedError(refusal.invalid(f"the body took more than {UPLOAD_SECONDS:g} s")) from None
            finally:
                self._room.release()
                await arrival.left()


class Arrival:
    """One body that comes in."""

    def __init__(self, upload: Upload, cutter: Cutter, metrics: Metrics) -> None:
        self._upload = upload
        self._cutter = cutter
        self._metrics = metrics
        self._begun = False
        self._done = False

    async def receive(self, source: Source, shape: Shape) -> framing.Chunk:
        """Take it in but for its last chunk, which is given. Raises RefusedError for what must not be kept."""
        while data := await _read(source):
            self._metrics.bytes.labels("in").inc(len(data))
            shape.feed(data)
            for chunk in self._cutter.feed(data):
                self._begun = True
                await self._upload.add(chunk)
        shape.end()
        return self._cutter.end()

    def described(self, keys: str | None = None) -> Described:
        """What it is, once it has been received."""
        length = self._cutter.lines if self._cutter.lined else None
        return Described(size=self._cutter.size, digest=self._cutter.digest, length=length, keys=keys)

    async def finish(self, chunk: framing.Chunk, described: Described, table: Table, row: dict[str, Any]) -> bool:
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


async def _read(source: Source) -> bytes:
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            return await source.readany()
    except TimeoutError:
        raise RefusedError(refusal.invalid(f"nothing came for {IDLE_SECONDS:g} s")) from None
