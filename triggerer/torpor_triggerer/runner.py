"""What waits against what runs: each wait that is ours and shown by a watch runs exactly once here, all others do not.

Level-based: `settle` compares one TaskRun as it is now with what runs for it, and is called whenever either may have
changed. It decides nothing about who may write: a run that ends twice, here or elsewhere, loses the second write.
"""

import heapq
import logging
from collections.abc import Callable, Collection

from torpor_api.store import Key

from torpor_triggerer.lifecycle import Lifecycle
from torpor_triggerer.run import Run
from torpor_triggerer.wait import Wait

log = logging.getLogger(__name__)


class Runner:
    """All runs of this process, `capacity` at most."""

    def __init__(self, lifecycle: Lifecycle, capacity: int, find: Callable[[Key], Wait | None]) -> None:
        self._lifecycle = lifecycle
        self._capacity = capacity
        self._find = find
        self._owned: frozenset[int] = frozenset()
        self._runs: dict[Key, Run] = {}
        self._queue: list[tuple[float, Key]] = []
        self._queued: set[Key] = set()
        self._stopped = False

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def runs(self) -> Collection[Run]:
        """All that runs."""
        return self._runs.values()

    def own(self, shards: frozenset[int]) -> None:
        """Serve these shards from now on; whoever calls it settles what that may change."""
        self._owned = shards

    def settle(self, key: Key) -> None:
        """Bring what runs for one TaskRun in line with what it is. Never raises: one TaskRun disturbs no other."""
        if self._stopped:
            return
        try:
            self._settle(key)
        except Exception:
            log.exception("%s/%s: cannot be served", *key)

    async def stop(self) -> None:
        """Stop all triggers, for another replica to go on: `cleanup` is called, `on_kill` is not."""
        self._stopped = True
        for run in self._runs.values():
            self._lifecycle.leave(run)
        await self._lifecycle.stop()

    def _settle(self, key: Key) -> None:
        wait = self._find(key)
        if wait is not None and wait.shard not in self._owned:
            wait = None
        run = self._runs.get(key)
        if run is not None and (wait is None or wait.turn != run.wait.turn):
            self._lifecycle.leave(self._runs.pop(key))
            self._next_in_queue()
            run = None
        if wait is None:
            return
        if run is None:
            self._begin_or_queue(key, wait)
        elif wait.cancelled and not run.wait.cancelled:
            run.wait = wait
            self._lifecycle.cancel(run)

    def _begin_or_queue(self, key: Key, wait: Wait) -> None:
        if len(self._runs) < self._capacity:
            self._runs[key] = self._lifecycle.begin(wait)
        elif key not in self._queued:
            self._queued.add(key)
            heapq.heappush(self._queue, (wait.deferred_at, key))

    def _next_in_queue(self) -> None:
        """The oldest wait takes the room; what left the queue meanwhile is skipped."""
        while self._queue and len(self._runs) < self._capacity:
            key = heapq.heappop(self._queue)[1]
            self._queued.discard(key)
            if key not in self._runs:
                self.settle(key)
