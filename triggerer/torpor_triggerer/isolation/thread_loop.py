"""A thread with an event loop of its own, for the triggers of one class that has blocked the loop of all.

It is never joined: a thread cannot be stopped, and one that hangs for good must not keep the process from ending. Who
waits for something that is done here waits in the loop of all, and may give up whenever it wants.
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
    """Runs what it is called with, for the loop of all, `home`."""

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
        """What keeps it; empty where nothing does."""
        return self._blocked_reason(self.class_name)

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns or raises there; it is cancelled there where whoever waits for it here is."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    async def in_main_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """From there: what `work` returns or raises in the loop of all."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.main_loop))

    def stop(self) -> None:
        """Begin nothing more; what hangs is left to hang."""
        self._stopped = True
        self.loop.call_soon_threadsafe(self.loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.call_soon(self._on_start, self)
        while True:
            try:
                self.loop.run_forever()
            except BaseException:
                log.exception("the thread of trigger %s goes on", self.class_name)
            if self._stopped:  # not by a trigger that calls `stop` itself
                break
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.get_loop()  # which it cancels all tasks of, and closes
