"""Runs a coroutine in an event loop of another thread, with an API client of its own.

What runs there goes on while the main event loop computes.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from torpor_kubernetes.client.api import Api

T = TypeVar("T")


async def run_in_thread(
    connect: Callable[[], AbstractAsyncContextManager[Api]],
    work: Callable[[Api], Coroutine[Any, Any, T]],
    *,
    name: str,
) -> T:
    """Return or raise what `work` does. A cancellation reaches `work`, and this returns after `work` has ended."""

    async def connected() -> T:
        async with connect() as api:
            return await work(api)

    thread = _LoopThread(connected(), name=name)
    try:
        return await asyncio.shield(thread.result)
    finally:
        thread.cancel()
        await asyncio.wait((thread.result,))


class _LoopThread(Generic[T]):
    """A thread whose event loop runs one coroutine. `result` belongs to the loop that makes this object."""

    def __init__(self, work: Coroutine[Any, Any, T], *, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[T] = self._loop.create_future()
        self._work = work
        self._lock = threading.Lock()
        self._cancelled = False
        self._cancel_task: Callable[[], object] | None = None
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def cancel(self) -> None:
        """Cancel the coroutine, unless it has ended."""
        with self._lock:
            self._cancelled = True
            if self._cancel_task is not None:
                self._cancel_task()

    def _run(self) -> None:
        try:
            result = asyncio.run(self._main())
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(self.result.cancel)
        except BaseException as error:  # noqa: BLE001 - raised in the other thread
            self._loop.call_soon_threadsafe(self._fail, error)
        else:
            self._loop.call_soon_threadsafe(self.result.set_result, result)

    async def _main(self) -> T:
        task = asyncio.create_task(self._work)
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._cancelled:
                task.cancel()
            self._cancel_task = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return await task
        finally:
            with self._lock:
                self._cancel_task = None

    def _fail(self, error: BaseException) -> None:
        self.result.set_exception(error)
        self.result.exception()  # marks it as read, since the caller may be cancelled
