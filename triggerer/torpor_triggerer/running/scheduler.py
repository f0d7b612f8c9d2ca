"""What waits against what runs: each wait that is ours and shown by a watch runs exactly once here, all others do not.

Level-based: `settle` compares one TaskRun as it is now with what runs for it, and is called whenever either may have
changed. It decides nothing about who may write: a run that ends twice, here or elsewhere, loses the second write.
Where there are more waits than room, the oldest of each namespace run, equally many of each (`room`); what has to make
way for another goes back to the queue.
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


class Room(Generic[T]):
    """Room for so many, and the order of those that ask for it: by `age`, which no two have in common."""

    def __init__(
        self, capacity: int, age: Callable[[T], tuple[Any, ...]], owner: Callable[[T], str] = lambda _: ""
    ) -> None:
        self._capacity = capacity
        self._age = age
        self._owner = owner
        self._lines: dict[str, list[T]] = {}
        self._running: Counter[str] = Counter()
        self._free = capacity

    def enter(self, one: T) -> T | None:
        """Ask for room. Returns who has none for it: one that had, or the one that asks."""
        owner = self._owner(one)
        line = self._lines.setdefault(owner, [])
        at = self._at(line, one)
        if self._is_at(line, at, one):
            return None if at < self._running[owner] else one
        line.insert(at, one)
        if self._free:
            self._free -= 1
            self._running[owner] += 1
            return None
        return self._make_way(owner, at)

    def leave(self, one: T) -> T | None:
        """Ask no more. Returns who may run for it."""
        owner = self._owner(one)
        line = self._lines.get(owner, [])
        at = self._at(line, one)
        if not self._is_at(line, at, one):
            return None
        del line[at]
        if not line:
            del self._lines[owner]
        if at >= self._running[owner]:
            return None
        self._take(owner)
        self._free += 1
        return self._next()

    def queue(self) -> Iterator[T]:
        """Those that have no room, oldest first."""
        queued = (islice(line, self._running[owner], None) for owner, line in list(self._lines.items()))
        return heapq.merge(*queued, key=self._age)

    def _make_way(self, owner: str, at: int) -> T:
        """Who has no room once one has come to a place in a line."""
        richest, most = self._running.most_common(1)[0]
        if most >= self._running[owner] + 2:
            self._take(richest)
            self._running[owner] += 1
            return self._lines[richest][self._running[richest]]
        return self._lines[owner][max(at, self._running[owner])]

    def _next(self) -> T | None:
        """Who has the room that is free now."""
        queueing = [one for one, line in self._lines.items() if len(line) > self._running[one]]
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

    def _at(self, line: list[T], one: T) -> int:
        return bisect_left(line, self._age(one), key=self._age)

    def _is_at(self, line: list[T], at: int, one: T) -> bool:
        return at < len(line) and self._age(line[at]) == self._age(one)


log = logging.getLogger(__name__)


class Runner:
    """All runs of this process, `capacity` at most, but for those whose end is being written already."""

    def __init__(
        self, lifecycle: Lifecycle, capacity: int, find: Callable[[Key], Wait | None], now: Callable[[], float]
    ) -> None:
        self._lifecycle = lifecycle
        self._find = find
        self._owned: frozenset[int] = frozenset()
        self._arrivals = Arrivals(now)
        self._room: Room[Wait] = Room(capacity, self._arrivals.age, lambda wait: wait.namespace)
        self._runs: dict[Key, Run] = {}
        self._queued: dict[Key, Wait] = {}
        self._stopped = False

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def runs(self) -> Collection[Run]:
        """All that runs."""
        return self._runs.values()

    @property
    def queued(self) -> Collection[Wait]:
        """All that wait for room."""
        return self._queued.values()

    def queue(self) -> Iterator[Wait]:
        """The same, oldest first."""
        keys = map(_key, self._room.queue())
        return (self._queued[key] for key in keys if key in self._queued)

    def find(self, key: Key) -> Run | None:
        """What runs for a TaskRun."""
        return self._runs.get(key)

    def find_queued(self, key: Key) -> Wait | None:
        """What waits for room for a TaskRun."""
        return self._queued.get(key)

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

    def begin_anew(self, concerns: Callable[[Run], bool]) -> None:
        """Begin some runs again, as another replica would: all are left first, so that none joins what it was."""
        if self._stopped:
            return
        keys = [key for key, run in self._runs.items() if not run.reporting and run.verdict is None and concerns(run)]
        waits = {key: self._runs.pop(key) for key in keys}
        for run in waits.values():
            self._lifecycle.leave(run)
        for run in waits.values():
            self._begin(run.wait)

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
        served = self._served(key)
        if served is not None and (wait is None or not _is_same(wait, served)):
            self._leave(key, served)
            served = None
        if wait is None:
            return
        if served is None:
            self._enter(key, wait)
        elif wait.cancelled and not served.cancelled:
            self._cancel(key, wait)

    def _served(self, key: Key) -> Wait | None:
        """The wait that runs or queues for a TaskRun."""
        run = self._runs.get(key)
        return self._queued.get(key) if run is None else run.wait

    def _enter(self, key: Key, wait: Wait) -> None:
        self._arrivals.note(wait)
        without = self._room.enter(wait)
        if without is not None and _key(without) != key:
            self._make_way(_key(without))
        elif without is not None and not wait.cancelled:
            self._queued[key] = wait
            return
        self._begin(wait)

    def _leave(self, key: Key, wait: Wait) -> None:
        waiting = self._give_up_room(wait)
        self._queued.pop(key, None)
        run = self._runs.pop(key, None)
        if run is not None:
            self._lifecycle.leave(run)
        if waiting is not None:
            self._begin(waiting)

    def _give_up_room(self, wait: Wait) -> Wait | None:
        """The wait that queued and has its room now."""
        next_one = self._room.leave(wait)
        self._arrivals.forget(wait)
        return None if next_one is None else self._queued.pop(_key(next_one), None)

    def _begin(self, wait: Wait) -> None:
        """Begin one. One that cannot be begun gives its room to the next; a later `settle` tries it again."""
        waiting: Wait | None = wait
        while waiting is not None:
            key = _key(waiting)
            try:
                self._runs[key] = self._lifecycle.begin(waiting)
            except Exception:
                log.exception("%s/%s: cannot be begun", *key)
                waiting = self._give_up_room(waiting)
            else:
                return

    def _make_way(self, key: Key) -> None:
        """What is being written is not stopped for want of room: it will be over soon."""
        run = self._runs.get(key)
        if run is None or run.reporting or run.verdict is not None:
            return
        self._queued[key] = run.wait
        self._lifecycle.leave(self._runs.pop(key))

    def _cancel(self, key: Key, wait: Wait) -> None:
        """One that queues takes no room to be cancelled: its trigger is made, and told to kill what it began before."""
        run = self._runs.get(key)
        if run is not None:
            run.wait = wait
            self._lifecycle.cancel(run)
            return
        del self._queued[key]
        self._begin(wait)


def _is_same(one: Wait, other: Wait) -> bool:
    """Whether it is still the wait that it was; one whose beginning somebody has changed is another."""
    return (one.turn, one.deferred_at) == (other.turn, other.deferred_at)


def _key(wait: Wait) -> Key:
    return Key(wait.namespace, wait.name)
