"""One query for many waits: triggers whose class has `poll_many`, grouped by source.

Waits share a source if they agree in class, namespace, service account and the class's `source`, so no wait gets what
only another may read. A wait joins or leaves at any time; it costs a future.
"""

import asyncio
import logging
from collections.abc import Coroutine, Hashable
from contextvars import copy_context
from typing import Any, Never, TypeVar

from torpor.triggers.support import polling
from torpor_kubernetes.timing import Clock

from torpor_triggerer.batching.batches import Answered, Member, PollStats
from torpor_triggerer.batching.source import PollContext, PollSource
from torpor_triggerer.timers import Timers

RESTART_SECONDS = 1.0

T = TypeVar("T")

log = logging.getLogger(__name__)


class Pollers:
    """All sources of an event loop. The key of a source may contain secrets and is never shown.

    A source has a task while it is polled. Between two rounds it has a timer, and all timers have one task.
    """

    def __init__(self) -> None:
        self._context = copy_context()
        self._sources: dict[Hashable, PollSource] = {}
        self._keys: dict[PollSource, Hashable] = {}
        self._tasks: dict[PollSource, asyncio.Task[Any]] = {}
        self._timers: Timers[PollSource] | None = None
        self._timing: asyncio.Task[Never] | None = None

    def __len__(self) -> int:
        return len(self._keys)

    def event(self, trigger: Any, poll_stats: PollStats, context: PollContext) -> Coroutine[Any, Any, Any]:
        """Return the event that `poll_many` yields for a trigger; await it at once. Raises what the poll raises.

        Not a coroutine: its frame would keep the context for as long as the trigger waits.
        """
        return self._answer(self.join(trigger, poll_stats, context, asyncio.get_running_loop().create_future()))

    def join(self, trigger: Any, poll_stats: PollStats, context: PollContext, answer: Answered) -> Member:
        """Poll a trigger with the others of its source until `answer` gets its event. Raises what the class raises."""
        member = _member(trigger, poll_stats, answer)
        self._open(_key(trigger, context), type(trigger), context).join(member)
        return member

    def leave(self, member: Member) -> None:
        """Poll a trigger no more. Does nothing after its event."""
        source: PollSource = member.source
        source.members.pop(member, None)
        if source.members or source.closed:
            return
        source.closed = True
        if source in self._tasks:
            self._tasks[source].cancel()
        else:
            self._end(source)

    def hasten(self, source: PollSource, moment: float) -> None:
        """Poll a source that rests no later than at a moment, monotonic."""
        if self._timers is not None and source.timer is not None and moment < source.timer.moment:
            self._timers.discard(source.timer)
            source.timer = self._timers.add(moment, source)

    def expel(self, source: PollSource, member: Member) -> None:
        """Poll a wait alone from now on."""
        self._open(object(), source.kind, source.context).join(member)

    async def ended(self) -> None:
        """Return when all polling without waits has ended."""
        while closed := [task for source, task in self._tasks.items() if source.closed]:
            await asyncio.wait(closed)

    async def _answer(self, member: Member) -> Any:
        try:
            return await member.answer  # type: ignore[misc]  # the future that `event` made
        finally:
            self.leave(member)

    def _open(self, key: Hashable, kind: Any, context: PollContext) -> PollSource:
        source = self._sources.get(key)
        if source is None or source.closed:
            source = self._sources[key] = PollSource(kind, context, self)
            self._keys[source] = key
            if self._timers is None:
                self._timers = Timers(context.clock, self._poll, now=context.clock.monotonic)
                self._timing = self._create_task(_run_timers(self._timers, context.clock))
            self._poll(source)
        return source

    def _poll(self, source: PollSource) -> None:
        source.timer = None
        self._start(source, self._poll_once(source))

    def _start(self, source: PollSource, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks[source] = self._create_task(work, name=f"poll {source.kind.__name__}")
        task.add_done_callback(lambda _: self._end(source) if source.closed else None, context=self._context)

    def _create_task(self, work: Coroutine[Any, Any, T], name: str | None = None) -> "asyncio.Task[T]":
        """In an empty context: it outlives its first wait, and its lines must not be attributed to that wait."""
        return self._context.copy().run(asyncio.create_task, work, name=name)

    async def _poll_once(self, source: PollSource) -> None:
        pause = await source.poll()
        if pause is not None and self._timers is not None and not source.closed:
            del self._tasks[source]
            source.timer = self._timers.add(source.context.clock.monotonic() + pause, source)

    def _end(self, source: PollSource) -> None:
        """Forget a source without waits, after it has released its clients."""
        self._tasks.pop(source, None)
        if source.timer is not None and self._timers is not None:
            self._timers.discard(source.timer)
        if source.holds_clients:
            self._start(source, source.release())
            return
        key = self._keys.pop(source, None)
        if self._sources.get(key) is source:
            del self._sources[key]
        if not self._keys and self._timing is not None:
            self._timing.cancel()
            self._timers = self._timing = None


async def _run_timers(timers: Timers[PollSource], clock: Clock) -> Never:
    """Expire timers until cancelled. After an error the timers go on: every wait with a source depends on them."""
    while True:
        try:
            await timers.run()
        except Exception:
            log.exception("Failed to time the polls of sources; restarting in %.0f s", RESTART_SECONDS)
            await clock.sleep(RESTART_SECONDS)


def _key(trigger: Any, context: PollContext) -> Hashable:
    source = getattr(trigger, "source", None)
    if source is None:
        return object()
    key = (type(trigger), context.owner, source)
    hash(key)
    return key


def _member(trigger: Any, poll_stats: PollStats, answer: Answered) -> Member:
    return Member(trigger=trigger, answer=answer, poll_stats=poll_stats, interval=polling.interval_of(trigger))
