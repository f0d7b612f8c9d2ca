"""Decides which waits run: each wait of an owned shard runs exactly once here, no other wait does.

Level-based: `reconcile` compares one TaskRun with its run, and is called whenever either may have changed. A run that
ends twice, here or elsewhere, loses its second write. If there are more waits than capacity, the oldest of each
namespace run, equally many of each; a run that has to make room returns to the queue.
"""

import heapq
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache

from torpor_kubernetes.cache.store import ObjectKey

from torpor_triggerer.model.packed_wait import PackedWait
from torpor_triggerer.running.capacity import FairSlots, age, counts_from
from torpor_triggerer.running.lifecycle import Lifecycle
from torpor_triggerer.running.state import Timed, WaitRun
from torpor_triggerer.timers import Timer

log = logging.getLogger(__name__)


class Scheduler:
    """All runs and timers of this process: at most `capacity`, not counting runs whose outcome is being written.

    Waits for runs that tasks have started have slots of their own, `capacity` for each depth: a wait must not queue
    behind one that ends only after it.
    """

    def __init__(
        self,
        lifecycle: Lifecycle,
        capacity: int,
        find: Callable[[ObjectKey], PackedWait | None],
        now: Callable[[], float],
    ) -> None:
        self._lifecycle = lifecycle
        self._find = find
        self._now = now
        self._shards: frozenset[int] = frozenset()
        self._slots: defaultdict[int, FairSlots[PackedWait]] = defaultdict(
            lambda: FairSlots(capacity, age, lambda wait: wait.namespace)
        )
        self._runs: dict[ObjectKey, WaitRun] = {}
        self._timers: dict[ObjectKey, Timer[Timed]] = {}
        self._queued: dict[ObjectKey, PackedWait] = {}
        self._stopped = False

    def __len__(self) -> int:
        return len(self._runs) + len(self._timers)

    @property
    def runs(self) -> Collection[WaitRun]:
        """All runs."""
        return self._runs.values()

    @property
    def timed(self) -> Iterator[PackedWait]:
        """All waits that have a timer and no run."""
        return (timer.item for timer in self._timers.values() if isinstance(timer.item, PackedWait))

    @property
    def moments(self) -> Iterator[float]:
        """When each of them fires, or reaches its deadline."""
        return (timer.moment for timer in self._timers.values())

    @property
    def queued(self) -> Collection[PackedWait]:
        """All waits without a slot."""
        return self._queued.values()

    def queue(self) -> Iterator[PackedWait]:
        """Return all waits without a slot, oldest first."""
        keys = (wait.key for wait in heapq.merge(*(slots.queue() for slots in self._slots.values()), key=age))
        return (self._queued[key] for key in keys if key in self._queued)

    def find(self, key: ObjectKey) -> WaitRun | None:
        """Return the run of a TaskRun."""
        return self._runs.get(key)

    def find_timed(self, key: ObjectKey) -> PackedWait | None:
        """Return the wait of a TaskRun that has a timer and no run."""
        timer = self._timers.get(key)
        return timer.item if timer is not None and isinstance(timer.item, PackedWait) else None

    def find_queued(self, key: ObjectKey) -> PackedWait | None:
        """Return the queued wait of a TaskRun."""
        return self._queued.get(key)

    def set_shards(self, shards: frozenset[int]) -> None:
        """Serve these shards from now on. The caller reconciles the TaskRuns that this affects."""
        self._shards = shards

    def reconcile(self, key: ObjectKey) -> None:
        """Make what runs for a TaskRun match its state. Never raises: one TaskRun must not affect another."""
        if self._stopped:
            return
        try:
            self._reconcile(key)
        except Exception:
            log.exception("%s/%s: failed to reconcile", *key)

    def restart_runs(self, matches: Callable[[WaitRun], bool]) -> None:
        """Restart some runs as another replica would. All are released first, so that none joins a former trigger."""
        if self._stopped:
            return
        keys = [key for key, run in self._runs.items() if not run.is_ending and matches(run)]
        runs = [self._runs.pop(key) for key in keys]
        for run in runs:
            self._lifecycle.release(run)
        for run in runs:
            self._start(run.packed.key, run.packed)

    def keep_timer(self, run: WaitRun) -> None:
        """Forget a run whose timer is all that it needs. A run that is only starting is not known yet."""
        key = run.packed.key
        if run.timer is not None and self._runs.get(key) is run:
            del self._runs[key]
            self._timers[key] = run.timer

    def fire(self, wait: PackedWait) -> None:
        """Start the run of a wait whose timer has expired. A failure is handled as in `_start`."""
        key = wait.key
        timer = self._timers.pop(key, None)
        if timer is None or self._stopped:
            return
        try:
            run = self._lifecycle.fire(wait, timer.moment)
        except Exception:
            log.exception("%s/%s: failed to fire", *key)
            next_wait = self._free_slot(wait)
            if next_wait is not None:
                self._start(next_wait.key, next_wait)
        else:
            self._keep(key, run)

    async def stop(self) -> None:
        """Stop all triggers, so that another replica takes over: calls `cleanup`, not `on_kill`."""
        self._stopped = True
        for run in self._runs.values():
            self._lifecycle.release(run)
        await self._lifecycle.stop()

    def _reconcile(self, key: ObjectKey) -> None:
        wait, served = self._owned(key), self._served(key)
        if served is not None and (wait is None or not wait.is_same(served)):
            self._stop_serving(key, served)
            served = None
        if wait is not None and served is None:
            self._serve(key, wait)
        elif wait is not None and served is not None and wait.cancelled and not served.cancelled:
            wait.since = served.since
            self._cancel(key, wait)

    def _owned(self, key: ObjectKey) -> PackedWait | None:
        """The wait of a TaskRun, if this replica owns its shard."""
        wait = self._find(key)
        return wait if wait is not None and wait.shard in self._shards else None

    def _served(self, key: ObjectKey) -> PackedWait | None:
        """The wait that runs or queues for a TaskRun, or has a timer."""
        run = self._runs.get(key)
        return run.packed if run is not None else self.find_timed(key) or self._queued.get(key)

    def _serve(self, key: ObjectKey, wait: PackedWait) -> None:
        wait.since = _interned_second(int(counts_from(wait, self._now())))
        without_slot = self._slots[wait.run_depth].enter(wait)
        if without_slot is not None and without_slot.key != key:
            self._return_to_queue(without_slot.key)
        elif without_slot is not None and not wait.cancelled:
            self._queued[key] = wait
            return
        self._start(key, wait)

    def _stop_serving(self, key: ObjectKey, wait: PackedWait) -> None:
        next_wait = self._free_slot(wait)
        self._queued.pop(key, None)
        self._discard_timer(key)
        run = self._runs.pop(key, None)
        if run is not None:
            self._lifecycle.release(run)
        if next_wait is not None:
            self._start(next_wait.key, next_wait)

    def _discard_timer(self, key: ObjectKey) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            self._lifecycle.timers.discard(timer)

    def _free_slot(self, wait: PackedWait) -> PackedWait | None:
        """Return the queued wait that gets its slot."""
        next_wait = self._slots[wait.run_depth].leave(wait)
        return None if next_wait is None else self._queued.pop(next_wait.key, None)

    def _start(self, key: ObjectKey, wait: PackedWait) -> None:
        """Start a run. If that fails, the next wait gets its slot, and a later `reconcile` retries."""
        waiting: PackedWait | None = wait
        while waiting is not None:
            key = key if waiting is wait else waiting.key
            try:
                run = self._lifecycle.start(waiting)
            except Exception:
                log.exception("%s/%s: failed to start", *key)
                waiting = self._free_slot(waiting)
            else:
                self._keep(key, run)
                return

    def _keep(self, key: ObjectKey, run: WaitRun) -> None:
        """Keep a run, or only its timer. The key is that of the watch's store, which is one object for both."""
        if run.timed and run.timer is not None:
            self._timers[key] = run.timer
        else:
            self._runs[key] = run

    def _return_to_queue(self, key: ObjectKey) -> None:
        """A run whose outcome is being written continues: it ends soon."""
        timed, run = self.find_timed(key), self._runs.get(key)
        if timed is not None:
            self._queued[key] = timed
            self._discard_timer(key)
        elif run is not None and not run.reporting and run.outcome is None:
            self._queued[key] = run.packed
            self._lifecycle.release(self._runs.pop(key))

    def _cancel(self, key: ObjectKey, wait: PackedWait) -> None:
        """Cancel a wait. One without a run needs no slot: its trigger is made, so that `on_kill` ends earlier work."""
        run = self._runs.get(key)
        if run is not None:
            run.packed = wait
            self._lifecycle.cancel(run)
            return
        self._discard_timer(key)
        self._queued.pop(key, None)
        self._start(key, wait)


@lru_cache(maxsize=64)
def _interned_second(second: int) -> int:
    """One object for all equal numbers: thousands of waits count from the same second."""
    return second
