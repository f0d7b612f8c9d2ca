"""The keys of objects to reconcile: each once, not before its time, and never two passes of one at a time.

A key that is added while it is processed is due again afterwards, as in client-go's workqueue, so no change is lost.
After a pass a key may have a cooldown, since a pass over a large object at each of its changes costs too much.
Namespaces take turns, and only so many keys of one are processed at a time: a namespace with thousands of objects
does not delay the others. A namespace whose passes take much CPU comes after those whose passes take less.
"""

import asyncio
import heapq
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from torpor_crds.models.base import Metadata
from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.timing import Clock

from torpor_operator.observability.loop_metrics import UNCOUNTED, LoopMetrics
from torpor_operator.quarantine.cpu_shares import CpuShares

KEYS_PER_NAMESPACE = 16


class Key(NamedTuple):
    """The namespace and the name of an object."""

    namespace: str
    name: str


def key_of(metadata: Metadata) -> Key:
    """The key of the object with this metadata."""
    return Key(metadata.namespace, metadata.name)


def owner_key(taskrun: TaskRun) -> Key:
    """The key of the object that a TaskRun names as its owner."""
    return Key(taskrun.metadata.namespace, taskrun.spec.owner.name)


class WorkQueue:
    """Due keys by namespace, in the order in which they were added, and a heap of those that are due later."""

    def __init__(
        self,
        clock: Clock,
        *,
        keys_per_namespace: int = KEYS_PER_NAMESPACE,
        cpu_shares: CpuShares | None = None,
        metrics: LoopMetrics = UNCOUNTED,
    ) -> None:
        """`keys_per_namespace`: how many keys of one namespace are processed at a time.

        `cpu_shares`: the CPU time that each namespace has used, over all queues.
        """
        self._clock = clock
        self._cpu_shares = cpu_shares or CpuShares()
        self._keys_per_namespace = keys_per_namespace
        self._due: dict[str, dict[Key, float]] = {}  # with the monotonic time since when
        self._processing: set[Key] = set()
        self._processing_in: Counter[str] = Counter()  # by namespace
        self._dirty: set[Key] = set()  # added while they are processed
        self._later: list[tuple[float, Key]] = []
        self._soonest: dict[Key, float] = {}
        self._cooldowns: dict[Key, float] = {}  # monotonic: a clock that is set back does not prolong them
        self._after_cooldown: set[Key] = set()
        self._changed = asyncio.Event()
        self.metrics = metrics
        metrics.watch_depth(self.depth)

    def depth(self) -> int:
        """The number of due keys."""
        return sum(map(len, self._due.values()))

    def add(self, key: Key) -> None:
        """Make the key due now, or after its cooldown."""
        if key in self._processing:
            self._dirty.add(key)
        elif self._cooldowns.get(key, 0.0) > self._clock.monotonic():
            self._after_cooldown.add(key)
            self._changed.set()
        else:
            self._due.setdefault(key.namespace, {}).setdefault(key, self._clock.monotonic())
            self._changed.set()

    def begin(self, keys: Iterable[Key]) -> None:
        """Make these keys due in this order, before those that are due already."""
        waiting, self._due = self._due, {}
        for key in (*keys, *(key for due in waiting.values() for key in due)):
            self.add(key)

    def add_at(self, key: Key, moment: float) -> None:
        """Make the key due at a moment (seconds since the epoch), unless it is due earlier."""
        if moment < self._soonest.get(key, float("inf")):
            self._soonest[key] = moment
            heapq.heappush(self._later, (moment, key))
            self._changed.set()

    async def get(self) -> Key:
        """Wait for a due key. Call `done` after processing it."""
        while True:
            self._add_due()
            key = self._take()
            if key is not None:
                return key
            await self._until_changed()

    def done(self, key: Key, *, cooldown_until: float = 0.0) -> None:
        """End the processing of a key. It is not due again before a moment of the monotonic clock."""
        self._processing.discard(key)
        self._processing_in -= Counter((key.namespace,))
        self._changed.set()
        self._cooldowns[key] = cooldown_until
        if key in self._dirty:
            self._dirty.discard(key)
            self.add(key)

    def _take(self) -> Key | None:
        """The first due key of the namespace that used the least CPU; it then goes behind its equals."""
        namespaces = [name for name in self._due if self._processing_in[name] < self._keys_per_namespace]
        namespace = self._cpu_shares.least(namespaces, self._clock.monotonic())
        if namespace is None:
            return None
        due = self._due.pop(namespace)
        key, since = next(iter(due.items()))
        del due[key]
        self.metrics.waited(self._clock.monotonic() - since)
        if due:
            self._due[namespace] = due
        self._processing.add(key)
        self._processing_in[namespace] += 1
        return key

    def _add_due(self) -> None:
        self._end_cooldowns()
        now = self._clock.now()
        while self._later and self._later[0][0] <= now:
            moment, key = heapq.heappop(self._later)
            if self._soonest.get(key) == moment:
                del self._soonest[key]
                self.add(key)

    def _end_cooldowns(self) -> None:
        now = self._clock.monotonic()
        for key in [key for key, moment in self._cooldowns.items() if moment <= now]:
            del self._cooldowns[key]
            if key in self._after_cooldown:
                self._after_cooldown.discard(key)
                self.add(key)

    async def _until_changed(self) -> None:
        self._changed.clear()
        waits: list[asyncio.Task[object]] = [asyncio.create_task(self._changed.wait())]
        delays = [self._cooldowns[key] - self._clock.monotonic() for key in self._after_cooldown]
        if self._later:
            delays.append(self._later[0][0] - self._clock.now())
        if delays:
            waits.append(asyncio.create_task(self._clock.sleep(min(delays))))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
