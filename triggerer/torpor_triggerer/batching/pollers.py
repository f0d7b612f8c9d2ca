"""One query for many waits: triggers whose class has `poll_many`, grouped by source.

Waits share a source if they agree in class, namespace, service account and the class's `source`, so no wait gets what
only another may read. A wait joins or leaves at any time; it costs a future.
"""

import asyncio
import math
from collections.abc import Coroutine, Hashable
from contextvars import copy_context
from typing import Any

from torpor.triggers.support import polling

from torpor_triggerer.batching.batches import LookStats, Member
from torpor_triggerer.batching.source import PollContext, Source


class Pollers:
    """All sources of an event loop. The key of a source may contain secrets and is never shown."""

    def __init__(self) -> None:
        self._context = copy_context()
        self._sources: dict[Hashable, Source] = {}
        self._tasks: dict[Source, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def event(self, trigger: Any, looks: LookStats, context: PollContext) -> Coroutine[Any, Any, Any]:
        """Return the event that `poll_many` yields for a trigger; await it at once. Raises what the poll raises.

        Not a coroutine: its frame would keep the context for as long as the trigger waits.
        """
        member = _member(trigger, looks)
        self._open(_key(trigger, context), type(trigger), context).join(member)
        return self._answer(member)

    async def ended(self) -> None:
        """Return when all polling without waits has ended."""
        closed = [task for source, task in self._tasks.items() if source.closed]
        if closed:
            await asyncio.wait(closed)

    async def _answer(self, member: Member) -> Any:
        try:
            return await member.answer
        finally:
            self._leave(member)

    def _open(self, key: Hashable, kind: Any, context: PollContext) -> Source:
        found = self._sources.get(key)
        if found is None or found.closed:
            found = self._sources[key] = Source(kind, context, self._expel)
            # In an empty context: it outlives its first wait, and its lines must not be attributed to that wait.
            task = self._context.copy().run(asyncio.create_task, found.run(), name=f"poll {kind.__name__}")
            self._tasks[found] = task
            task.add_done_callback(lambda _, key=key, source=found: self._forget(key, source))  # type: ignore[misc]
        return found

    def _forget(self, key: Hashable, source: Source) -> None:
        del self._tasks[source]
        if self._sources.get(key) is source:
            del self._sources[key]

    def _expel(self, source: Source, member: Member) -> None:
        self._open(object(), source.kind, source.context).join(member)

    def _leave(self, member: Member) -> None:
        source: Source = member.source
        source.members.pop(member, None)
        if not source.members and not source.closed:
            source.closed = True
            self._tasks[source].cancel()


def _key(trigger: Any, context: PollContext) -> Hashable:
    source = getattr(trigger, "source", None)
    if source is None:
        return object()
    key = (type(trigger), context.owner, source)
    hash(key)
    return key


def _member(trigger: Any, looks: LookStats) -> Member:
    interval = float(getattr(trigger, "interval", polling.INTERVAL))
    if not math.isfinite(interval) or interval < polling.INTERVAL_MIN:
        raise ValueError(f"interval is {interval:g} seconds; {polling.INTERVAL_MIN:g} is the least")
    answer = asyncio.get_running_loop().create_future()
    return Member(trigger=trigger, answer=answer, looks=looks, interval=interval)
