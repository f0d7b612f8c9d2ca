"""Ends the process if its event loop hangs, also if it hangs in code that never releases the interpreter.

Both timers belong to the kernel and to C code: one measures the CPU time of the process, the other real time. The event
loop sets them back twice a second. When one expires, the stacks of all threads are printed, and the process ends.
"""

import asyncio
import faulthandler
import signal
import time
from types import TracebackType
from typing import Never, Self

_PAUSE = 0.5


class HangTimer:
    """A context manager for the main thread. Durations are in seconds."""

    def __init__(self, *, cpu_seconds: float, seconds: float) -> None:
        self._cpu_seconds = cpu_seconds
        self._seconds = seconds
        self._turned_at = time.monotonic()
        self._task: asyncio.Task[Never] | None = None

    async def __aenter__(self) -> Self:
        # SIGPROF ends a process that has no handler for it.
        faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)
        self._set_back()
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        faulthandler.unregister(signal.SIGPROF)

    def is_alive(self) -> bool:
        """Whether the event loop has turned lately. Any thread may ask."""
        return time.monotonic() - self._turned_at < self._seconds

    async def _run(self) -> Never:
        while True:
            self._set_back()
            await asyncio.sleep(_PAUSE)

    def _set_back(self) -> None:
        self._turned_at = time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, self._cpu_seconds)
        faulthandler.dump_traceback_later(self._seconds, exit=True)
