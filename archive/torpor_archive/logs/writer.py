"""Writes finished logs in few transactions: a commit costs a disk more than the logs themselves.

While one transaction runs, finished logs gather for the next.
"""

import asyncio
from collections.abc import Sequence
from typing import Never

from torpor_kubernetes.timing import Clock

from torpor_archive.errors import RefusedError
from torpor_archive.storage import log_store
from torpor_archive.storage.database import Database
from torpor_archive.storage.log_store import FinishedLog

BATCH = 32
"""Logs of one transaction. Each has 1 MB at most, and a tenth of it compressed."""


class LogWriter:
    """Finished logs, each with the future of who waits for it."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._pending: list[tuple[FinishedLog, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()

    async def write(self, finished: Sequence[FinishedLog]) -> None:
        """Return when the logs are stored. Raises RefusedError (503) if the database is unavailable."""
        loop = asyncio.get_running_loop()
        added = [(each, loop.create_future()) for each in finished]
        self._pending += added
        self._wake.set()
        await asyncio.gather(*(written for _, written in added))

    async def run(self) -> Never:
        """Write what is pending, forever."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                batch, self._pending = self._pending[:BATCH], self._pending[BATCH:]
                await self._write(batch)

    async def _write(self, batch: Sequence[tuple[FinishedLog, asyncio.Future[None]]]) -> None:
        try:
            await log_store.finish(self._database, [each for each, _ in batch], self._clock.now())
        except RefusedError as error:  # the database is unavailable to the others as well
            for _, written in batch:
                _resolve(written, error)
        except Exception as error:  # noqa: BLE001 - a task boundary: it is raised to who waits
            if len(batch) > 1:  # one invalid log must not fail the others
                for each in batch:
                    await self._write([each])
                return
            _resolve(batch[0][1], error)
        else:
            for _, written in batch:
                _resolve(written, None)


def _resolve(written: asyncio.Future[None], error: Exception | None) -> None:
    if written.done():  # who waited was cancelled
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)
