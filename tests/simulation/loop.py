"""An event loop with virtual time: asyncio's tasks in a seeded order, without sleeping and without I/O.

Callbacks of one process run in asyncio's order; the seed chooses between processes. Time does not pass while a callback
is ready, then jumps to the next timer.
"""

import asyncio
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Protocol

HOT = 200_000
"""Callbacks without time going on after which something spins."""


class Actor(Protocol):
    """Whoever callbacks belong to."""

    alive: bool
    paused: bool


WHO: ContextVar[Actor] = ContextVar("WHO")


class HotLoopError(AssertionError):
    """Callbacks run for ever at one moment."""


class VirtualLoop(asyncio.AbstractEventLoop):
    """Only what tasks, futures and timers need."""

    def __init__(self, rng: random.Random, start: float = 0.0) -> None:
        self._rng = rng
        self._now = start
        self._order = itertools.count()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._queues: dict[Actor, deque[asyncio.Handle]] = {}
        self.tasks: list[asyncio.Task[Any]] = []
        self.on_error: Callable[[Actor | None, BaseException | None, str], None] = lambda *_: None
        self.steps = 0
        self._running: Actor | None = None

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Context | None = None
    ) -> "asyncio.Task[Any]":
        context = context or copy_context()
        if WHO not in context and self._running is not None:  # a task that begins in an empty context
            context.run(WHO.set, self._running)
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name, context=context)
        # Kept to the end: what is collected in the middle would run `finally` at a moment no seed repeats.
        self.tasks.append(task)
        return task

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context or copy_context())
        self._push(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context or copy_context())
        heapq.heappush(self._timers, (when, next(self._order), handle))
        return handle

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.on_error(WHO.get(None), context.get("exception"), str(context.get("message")))

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are skipped when they come up."""

    def forget(self, actor: Actor) -> None:
        """The process is gone: nothing it had scheduled happens."""
        self._queues.pop(actor, None)

    def run_until(self, end: float) -> None:
        """Let everything happen that is due up to a moment."""
        asyncio._set_running_loop(self)
        try:
            while self._run_ready() and self._jump(end):
                pass
        finally:
            asyncio._set_running_loop(None)
        self._now = max(self._now, end)

    def _run_ready(self) -> bool:
        spent, rng = 0, self._rng
        while ready := [entry for entry in self._queues.items() if entry[1] and not entry[0].paused]:
            self._running, queue = ready[0] if len(ready) == 1 else ready[int(rng.random() * len(ready))]
            # Mostly a few at once: a process that is interrupted after each callback is as rare as it is slow to play.
            for _ in range(1 if rng.random() < 0.2 else 6):
                if not queue:
                    break
                handle = queue.popleft()
                if not handle.cancelled():
                    handle._run()
            spent += 1
            if spent > HOT:
                raise HotLoopError(f"the tasks do not come to rest at {self._now:.3f}")
        self.steps += spent
        return True

    def _jump(self, end: float) -> bool:
        """Go on to the next timer; False where none is due in time."""
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not timers or timers[0][0] > end:
            return False
        self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            handle = heapq.heappop(timers)[2]
            if not handle.cancelled():
                self._push(handle)
        return True

    def _push(self, handle: asyncio.Handle) -> None:
        actor = handle._context.get(WHO)  # type: ignore[attr-defined]
        if actor is None or not actor.alive:
            return
        queue = self._queues.get(actor)
        if queue is None:
            queue = self._queues[actor] = deque()
        queue.append(handle)
