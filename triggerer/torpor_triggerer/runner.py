"""What waits against what runs: each wait that is ours and shown by a watch runs exactly once here, all others do not.

Level-based: `settle` compares one TaskRun as it is now with what runs for it, and is called whenever either may have
changed. It decides nothing about who may write: a run that ends twice, here or elsewhere, loses the second write.
Where there are more waits than room, the oldest of each namespace run, equally many of each (`room`); what has to make
way for another goes back to the queue.
"""

import logging
from collections.abc import Callable, Collection, Iterator

from torpor_api.store import Key

from torpor_triggerer.arrivals import Arrivals
from torpor_triggerer.lifecycle import Lifecycle
from torpor_triggerer.room import Room
from torpor_triggerer.run import Run
from torpor_triggerer.wait import Wait

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
