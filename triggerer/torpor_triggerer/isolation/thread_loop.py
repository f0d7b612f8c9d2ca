"""A thread with an event loop, for the triggers of one class that has blocked the main loop.

The thread is never joined: it cannot be stopped, and a hanging one must not block the exit. Callers wait in the main
loop and may give up at any time.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from torpor_triggerer.batching.pollers import Pollers
from torpor_triggerer.services.client_pool import ClientPool
from torpor_triggerer.usercode import attribution

T = TypeVar("T")

log = logging.getLogger(__name__)


class ThreadLoop:
    """Runs coroutines for the main loop."""

    def __init__(
        self,
        class_name: str,
        main_loop: asyncio.AbstractEventLoop,
        on_start: Callable[["ThreadLoop"], None],
        blocked_reason: Callable[[str], str],
    ) -> None:
        self.class_name = class_name
        self.main_loop = main_loop
        self.loop = asyncio.new_event_loop()
        self.clients = ClientPool()
        """Those that its triggers share; one that belongs to another loop is of no use here."""
        self.pollers = Pollers()
        self._on_start = on_start
        self._blocked_reason = blocked_reason
        self._stopped = False
        self.loop.set_task_factory(attribution.factory)
        threading.Thread(target=self._run, name=f"trigger {class_name}", daemon=True).start()

    @property
    def blocked_reason(self) -> str:
        """What blocks it; empty if nothing does."""
        return self._blocked_reason(self.class_name)

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns or raises in the thread; a cancellation is passed on."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    async def in_main_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """From the thread: return what `work` returns or raises in the main loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.main_loop))

    def stop(self) -> None:
        """Start nothing more; running code is not interrupted."""
        self._stopped = True
        self.loop.call_soon_threadsafe(self.loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.call_soon(self._on_start, self)
        while True:
            try:
                self.loop.run_forever()
            except BaseException:
                log.exception("The thread of trigger %s continues after an error", self.class_name)
            if self._stopped:  # not by a trigger that calls `stop` itself
                break
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.get_loop()  # which it cancels all tasks of, and closes
