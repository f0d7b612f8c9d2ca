"""A simulated process: it can be killed or paused between any two steps, and has its own clock."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any

from tests.simulation.loop import WHO, VirtualLoop

EPOCH = 1_700_000_000.0


class Process:
    """`kind` is the program; `name` appears in the trace. Compared by identity."""

    def __init__(self, loop: VirtualLoop, kind: str, name: str, *, offset: float = 0.0) -> None:
        self.kind = kind
        self.name = name
        self.alive = True
        self.paused = False
        self.paused_until = 0.0
        self.cut_until = 0.0  # until then the network drops its requests
        self.loop = loop
        self.offset = offset
        self.context: Context = copy_context()
        self.context.run(WHO.set, self)
        self.on_exit: Callable[[BaseException | None], None] = lambda _: None
        self.on_term: Callable[[], object] = lambda: None
        self.stopping = False

    def start(self, main: Coroutine[Any, Any, Any]) -> None:
        """Run the program. Its exit is reported once, unless it is killed."""
        task = self.context.run(self.loop.create_task, main)
        task.add_done_callback(self._ended, context=self.context)
        self.on_term = task.cancel

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> None:
        """Call a function as this process after a delay."""
        self.loop.call_later(delay, callback, *args, context=self.context)

    def terminate(self) -> None:
        """Send SIGTERM: cancels the program, or calls `on_term`."""
        self.stopping = True
        self.context.run(self.on_term)

    def kill(self) -> None:
        """Send SIGKILL: no further step, not even `finally`."""
        self.alive = False
        self.loop.forget(self)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        if self.alive:
            self.kill()
            self.on_exit(None if task.cancelled() else task.exception())


class ProcessClock:
    """The clock of a process. Its wall clock may be off by seconds."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def now(self) -> float:
        return EPOCH + self._process.loop.time() + self._process.offset

    def monotonic(self) -> float:
        return self._process.loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))
