"""Tells queued waits on their TaskRuns that this replica has no capacity for them.

A wait gets the message after ten seconds in the queue and every ten minutes, oldest first, within the budget of all
progress messages. When it starts it gets another message, because a trigger that does not look writes no progress.
"""

import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Never, TypeAlias

from torpor_kubernetes.cache.store import ObjectKey
from torpor_kubernetes.timing import Clock
from torpor_wire.reason import Reason

from torpor_triggerer.model.deferred_taskrun import SegmentId, TriggerWait
from torpor_triggerer.model.packed_wait import PackedWait
from torpor_triggerer.reporting.events import SharedTokenBucket
from torpor_triggerer.running.scheduler import Scheduler

EVERY = 1.0
CHECKED_AT_ONCE = 1000
"""Queued waits in one pass, a microsecond each."""
FIRST_AFTER = 10.0
AGAIN_AFTER = 600.0

Write: TypeAlias = Callable[[TriggerWait, Reason, str], Coroutine[Any, Any, None]]

log = logging.getLogger(__name__)


class QueueProgress:
    """Visits the queue in turn; `write` writes one message, best effort."""

    def __init__(
        self, clock: Clock, budget: SharedTokenBucket, scheduler: Scheduler, *, capacity: int, write: Write
    ) -> None:
        self._clock = clock
        self._budget = budget
        self._scheduler = scheduler
        self._capacity = capacity
        self._write = write
        self._reported: dict[ObjectKey, tuple[SegmentId, float]] = {}
        self._round: deque[tuple[int, PackedWait]] = deque()

    async def run(self) -> Never:
        """Write messages until cancelled."""
        while True:
            await self._clock.sleep(EVERY)
            try:
                await self._pass()
            except Exception:
                log.exception("Failed to report queued waits")

    async def _pass(self) -> None:
        self._forget()
        for wait in self._started():
            if not self._budget.take(wait.namespace):
                return
            del self._reported[wait.key]
            started = wait.unpack()
            await self._write(started, Reason.WAITING, f"Waiting {started.awaited}")
        if not self._round:
            self._round.extend(enumerate(self._scheduler.queue()))
        for _ in range(min(CHECKED_AT_ONCE, len(self._round))):
            older, wait = self._round[0]
            if self._is_due(wait):
                if not self._budget.take(wait.namespace):
                    return
                self._reported[wait.key] = wait.segment_id, self._clock.now()
                await self._write(wait.unpack(), Reason.QUEUED, message(self._capacity, older))
            self._round.popleft()

    def _forget(self) -> None:
        """Forget waits that ended, or that report progress of their own."""
        for key, (segment_id, _) in list(self._reported.items()):
            wait = self._started_wait(key) or self._scheduler.find_queued(key)
            if wait is None or wait.segment_id != segment_id:
                del self._reported[key]

    def _started(self) -> list[PackedWait]:
        return [wait for wait in map(self._started_wait, self._reported) if wait is not None]

    def _started_wait(self, key: ObjectKey) -> PackedWait | None:
        """The wait of a TaskRun, if it has started and has reported no progress of its own."""
        run = self._scheduler.find(key)
        if run is None:
            return self._scheduler.find_timed(key)
        return run.packed if run.last_progress is None else None

    def _is_due(self, wait: PackedWait) -> bool:
        if self._scheduler.find_queued(wait.key) is not wait:
            return False
        reported = self._reported.get(wait.key)
        since = wait.deferred_at + FIRST_AFTER if reported is None else reported[1] + AGAIN_AFTER
        return self._clock.now() >= since


def message(capacity: int, older: int) -> str:
    """Return why the wait queues, and what helps."""
    running = "1 wait runs" if capacity == 1 else f"{capacity} waits run"
    queued = "1 older one queues" if older == 1 else f"{older} older ones queue"
    others = f", and {queued}" if older else ""
    return f"Queued: {running} on this replica{others}; the pool needs more replicas or capacity"
