"""Decides which waits run: each wait of an owned shard runs exactly once here, no other wait does.

Level-based: `reconcile` compares one TaskRun with its run, and is called whenever either may have changed. A run that
ends twice, here or elsewhere, loses its second write. If there are more waits than capacity, the oldest of each
namespace run, equally many of each; a run that has to make room returns to the queue.
"""

import heapq
import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

from torpor_api.cache.store import Key

from torpor_triggerer.model.deferred_taskrun import Wait
from torpor_triggerer.running.arrivals import Arrivals
from torpor_triggerer.running.execution import Lifecycle
from torpor_triggerer.running.state import Run

T = TypeVar("T")


class Capacity(Generic[T]):
    """A number of slots that owners share equally, the oldest items of each owner first. `age` must be unique."""

    def __init__(
        self, capacity: int, age: Callable[[T], tuple[Any, ...]], owner: Callable[[T], str] = lambda _: ""
    ) -> None:
        self._capacity = capacity
        self._age = age
        self._owner = owner
        self._lines: dict[str, list[T]] = {}
        self._running: Counter[str] = Counter()
        self._free = capacity

    def enter(self, item: T) -> T | None:
        """Request a slot. Return the item without one: a running item that loses its slot, or this one."""
        owner = self._owner(item)
        line = self._lines.setdefault(owner, [])
        index = self._index(line, item)
        if self._is_at(line, index, item):
            return None if index < self._running[owner] else item
        line.insert(index, item)
        if self._free:
            self._free -= 1
            self._running[owner] += 1
            return None
        return self._preempt(owner, index)

    def leave(self, item: T) -> T | None:
        """Withdraw an item. Return the queued item that gets its slot."""
        owner = self._owner(item)
        line = self._lines.get(owner, [])
        index = self._index(line, item)
        if not self._is_at(line, index, item):
            return None
        del line[index]
        if not line:
            del self._lines[owner]
        if index >= self._running[owner]:
            return None
        self._take(owner)
        self._free += 1
        return self._next()

    def queue(self) -> Iterator[T]:
        """Return the items without a slot, oldest first."""
        queued = (islice(line, self._running[owner], None) for owner, line in list(self._lines.items()))
        return heapq.merge(*queued, key=self._age)

    def _preempt(self, owner: str, index: int) -> T:
        """Return the item without a slot after an owner got a new item at `index` of its line."""
        richest, most = self._running.most_common(1)[0]
        if most >= self._running[owner] + 2:
            self._take(richest)
            self._running[owner] += 1
            return self._lines[richest][self._running[richest]]
        return self._lines[owner][max(index, self._running[owner])]

    def _next(self) -> T | None:
        """Assign the free slot: to the owner with the fewest, then to the oldest item."""
        queueing = [owner for owner, line in self._lines.items() if len(line) > self._running[owner]]
        if not queueing:
            return None
        owner = min(queueing, key=lambda one: (self._running[one], self._age(self._lines[one][self._running[one]])))
        self._free -= 1
        self._running[owner] += 1
        return self._lines[owner][self._running[owner] - 1]

    def _take(self, owner: str) -> None:
        self._running[owner] -= 1
        if not self._running[owner]:
            del self._running[owner]

    def _index(self, line: list[T], item: T) -> int:
        return bisect_left(line, self._age(item), key=self._age)

    def _is_at(self, line: list[T], index: int, item: T) -> bool:
        return index < len(line) and self._age(line[index]) == self._age(item)


log = logging.getLogger(__name__)


class Scheduler:
    """All runs of this process: at most `capacity`, not counting runs whose outcome is being written."""

    def __init__(
        self, lifecycle: Lifecycle, capacity: int, find: Callable[[Key], Wait | None], now: Callable[[], float]
    ) -> None:
        self._lifecycle = lifecycle
        self._find = find
        self._shards: frozenset[int] = frozenset()
        self._arrivals = Arrivals(now)
        self._capacity: Capacity[Wait] = Capacity(capacity, self._arrivals.age, lambda wait: wait.namespace)
        self._runs: dict[Key, Run] = {}
        self._queued: dict[Key, Wait] = {}
        self._stopped = False

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def runs(self) -> Collection[Run]:
        """All runs."""
        return self._runs.values()

    @property
    def queued(self) -> Collection[Wait]:
        """All waits without a slot."""
        return self._queued.values()

    def queue(self) -> Iterator[Wait]:
        """Return all waits without a slot, oldest first."""
        keys = map(_key, self._capacity.queue())
        return (self._queued[key] for key in keys if key in self._queued)

    def find(self, key: Key) -> Run | None:
        """Return the run of a TaskRun."""
        return self._runs.get(key)

    def find_queued(self, key: Key) -> Wait | None:
        """Return the queued wait of a TaskRun."""
        return self._queued.get(key)

    def set_shards(self, shards: frozenset[int]) -> None:
        """Serve these shards from now on. The caller reconciles the TaskRuns that this affects."""
        self._shards = shards

    def reconcile(self, key: Key) -> None:
        """Make what runs for a TaskRun match its state. Never raises: one TaskRun must not affect another."""
        if self._stopped:
            return
        try:
            self._reconcile(key)
        except Exception:
            log.exception("%s/%s: failed to reconcile", *key)

    def restart_runs(self, matches: Callable[[Run], bool]) -> None:
        """Restart some runs as another replica would. All are released first, so that none joins a former trigger."""
        if self._stopped:
            return
        keys = [key for key, run in self._runs.items() if not run.is_ending and matches(run)]
        runs = [self._runs.pop(key) for key in keys]
        for run in runs:
            self._lifecycle.release(run)
        for run in runs:
            self._start(run.wait)

    async def stop(self) -> None:
        """Stop all triggers, so that another replica takes over: calls `cleanup`, not `on_kill`."""
        self._stopped = True
        for run in self._runs.values():
            self._lifecycle.release(run)
        await self._lifecycle.stop()

    def _reconcile(self, key: Key) -> None:
        wait, served = self._owned(key), self._served(key)
        if served is not None and (wait is None or not _is_same(wait, served)):
            self._stop_serving(key, served)
            served = None
        if wait is not None and served is None:
            self._serve(key, wait)
        elif wait is not None and served is not None and wait.cancelled and not served.cancelled:
            self._cancel(key, wait)

    def _owned(self, key: Key) -> Wait | None:
        """The wait of a TaskRun, if this replica owns its shard."""
        wait = self._find(key)
        return wait if wait is not None and wait.shard in self._shards else None

    def _served(self, key: Key) -> Wait | None:
        """The wait that runs or queues for a TaskRun."""
        run = self._runs.get(key)
        return self._queued.get(key) if run is None else run.wait

    def _serve(self, key: Key, wait: Wait) -> None:
        self._arrivals.add(wait)
        without_slot = self._capacity.enter(wait)
        if without_slot is not None and _key(without_slot) != key:
            self._return_to_queue(_key(without_slot))
        elif without_slot is not None and not wait.cancelled:
            self._queued[key] = wait
            return
        self._start(wait)

    def _stop_serving(self, key: Key, wait: Wait) -> None:
        next_wait = self._free_slot(wait)
        self._queued.pop(key, None)
        run = self._runs.pop(key, None)
        if run is not None:
            self._lifecycle.release(run)
        if next_wait is not None:
            self._start(next_wait)

    def _free_slot(self, wait: Wait) -> Wait | None:
        """Return the queued wait that gets its slot."""
        next_wait = self._capacity.leave(wait)
        self._arrivals.remove(wait)
        return None if next_wait is None else self._queued.pop(_key(next_wait), None)

    def _start(self, wait: Wait) -> None:
        """Start a run. If that fails, the next wait gets its slot, and a later `reconcile` retries."""
        waiting: Wait | None = wait
        while waiting is not None:
            key = _key(waiting)
            try:
                self._runs[key] = self._lifecycle.start(waiting)
            except Exception:
                log.exception("%s/%s: failed to start", *key)
                waiting = self._free_slot(waiting)
            else:
                return

    def _return_to_queue(self, key: Key) -> None:
        """A run whose outcome is being written continues: it ends soon."""
        run = self._runs.get(key)
        if run is None or run.reporting or run.outcome is not None:
            return
        self._queued[key] = run.wait
        self._lifecycle.release(self._runs.pop(key))

    def _cancel(self, key: Key, wait: Wait) -> None:
        """A queued wait is cancelled without a slot: its trigger is made, so that `on_kill` can end earlier work."""
        run = self._runs.get(key)
        if run is not None:
            run.wait = wait
            self._lifecycle.cancel(run)
            return
        del self._queued[key]
        self._start(wait)


def _is_same(one: Wait, other: Wait) -> bool:
    """Whether both are the same deferral. A changed `deferredAt` makes another one."""
    return (one.segment_id, one.deferred_at) == (other.segment_id, other.deferred_at)


def _key(wait: Wait) -> Key:
    return Key(wait.namespace, wait.name)
