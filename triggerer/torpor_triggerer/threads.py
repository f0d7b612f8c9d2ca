"""Worker threads for what blocks, so many at a time.

A thread cannot be stopped, so one that hangs keeps its place until it ends, whoever has given up on it; what still
hangs when the process ends must not hold that up, so each is a daemon thread rather than one of an executor.
"""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

THREADS = 32

log = logging.getLogger(__name__)


class Threads:
    """Calls functions in threads, `limit` at a time; the rest wait for their turn."""

    def __init__(self, limit: int = THREADS) -> None:
        self._limit = limit
        self._room = asyncio.Semaphore(limit)

    async def call(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises; where the caller is cancelled, `work` goes on and nobody hears of its end."""
        if self._room.locked():
            log.debug("all %d threads are busy; what blocks waits for its turn", self._limit)
        await self._room.acquire()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        try:
            threading.Thread(target=self._work, args=(work, done, contextvars.copy_context()), daemon=True).start()
        except BaseException:
            self._room.release()
            raise
        return await done

    def _work(self, work: Callable[[], Any], done: "asyncio.Future[Any]", context: contextvars.Context) -> None:
        try:
            found, error = context.run(work), None
        except BaseException as raised:  # noqa: BLE001 - whoever awaits it is to have it, whatever it is
            found, error = None, raised
        try:
            done.get_loop().call_soon_threadsafe(self._end, done, found, error)
        except RuntimeError:
            log.debug("a thread has outlived the loop")

    def _end(self, done: "asyncio.Future[Any]", found: object, error: BaseException | None) -> None:
        self._room.release()
        if done.done():
            return
        if error is None:
            done.set_result(found)
        else:
            # A future takes no StopIteration: it would end the coroutine that awaits it as if it had returned.
            done.set_exception(RuntimeError("it raised StopIteration") if isinstance(error, StopIteration) else error)
