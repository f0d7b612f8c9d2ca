"""A process as the simulation has it: killed or stopped between any two of its steps, with a clock of its own."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any

from tests.simulation.loop import WHO, VirtualLoop

EPOCH = 1_700_000_000.0


class Process:
    """`kind` is whose code it runs; `name` is in the trace. Compared by identity."""

    def __init__(self, loop: VirtualLoop, kind: str, name: str, *, offset: float = 0.0) -> None:
        self.kind = kind
        self.name = name
        self.alive = True
        self.paused = False
        self.paused_until = 0.0
        self.cut_until = 0.0  # no request of it arrives before
        self.loop = loop
        self.offset = offset
        self.context: Context = copy_context()
        self.context.run(WHO.set, self)
        self.on_exit: Callable[[BaseException | None], None] = lambda _: None
        self.on_term: Callable[[], object] = lambda: None
        self.stopping = False

    def start(self, main: Coroutine[Any, Any, Any]) -> None:
        """Run it; its end is reported once, unless it is killed before."""
        task = self.context.run(self.loop.create_task, main)
        task.add_done_callback(self._ended, context=self.context)
        self.on_term = task.cancel

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> None:
        """Do something as this process, in a while."""
        self.loop.call_later(delay, callback, *args, context=self.context)

    def terminate(self) -> None:
        """SIGTERM: it is cancelled, or does what it has set `on_term` to."""
        self.stopping = True
        self.context.run(self.on_term)

    def kill(self) -> None:
        """SIGKILL: not one more step, no `finally`."""
        self.alive = False
        self.loop.forget(self)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        if self.alive:
            self.kill()
            self.on_exit(None if task.cancelled() else task.exception())


class ProcessClock:
    """Time as one process sees it: its wall clock may be off by seconds."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def now(self) -> float:
        return EPOCH + self._process.loop.time() + self._process.offset

    def monotonic(self) -> float:
        return self._process.loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))
