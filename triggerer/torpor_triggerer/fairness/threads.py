"""Worker threads for blocking calls, shared by namespaces.

A thread cannot be stopped, so a call that hangs keeps its slot until it ends. At the end of the process it must not
block the exit, so each is a daemon thread instead of one of an executor.
"""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from torpor_kubernetes.fairness.namespace_shares import Shares

T = TypeVar("T")

THREADS = 32

log = logging.getLogger(__name__)


class WorkerThreads:
    """Calls functions in threads, `limit` at a time; further calls wait."""

    def __init__(self, limit: int = THREADS) -> None:
        self._limit = limit
        self._slots = Shares(limit)

    async def call(self, work: Callable[[], T], owner: str = "") -> T:
        """Return what `work` returns or raises. If the caller is cancelled, `work` continues without effect."""
        if not self._slots.try_acquire(owner):
            log.debug("All threads of %r are busy (%d in total); the call waits", owner, self._limit)
            await self._slots.acquire(owner)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        try:
            context = contextvars.copy_context()
            threading.Thread(target=self._work, args=(work, done, context, owner), daemon=True).start()
        except BaseException:
            self._slots.release(owner)
            raise
        return await done

    def _work(
        self, work: Callable[[], Any], done: "asyncio.Future[Any]", context: contextvars.Context, owner: str
    ) -> None:
        try:
            result, error = context.run(work), None
        except BaseException as raised:  # noqa: BLE001 - the caller gets any exception of its function
            result, error = None, raised
        try:
            done.get_loop().call_soon_threadsafe(self._end, owner, done, result, error)
        except RuntimeError:
            log.debug("A thread ended after the loop")

    def _end(self, owner: str, done: "asyncio.Future[Any]", result: object, error: BaseException | None) -> None:
        self._slots.release(owner)
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            # A future takes no StopIteration: it would end the coroutine that awaits it as if it had returned.
            done.set_exception(RuntimeError("it raised StopIteration") if isinstance(error, StopIteration) else error)
