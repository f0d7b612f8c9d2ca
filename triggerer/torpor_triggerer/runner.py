"""What waits against what runs: each wait that is ours and shown by a watch runs exactly once here, all others do not.

Level-based: `settle` compares one TaskRun as it is now with what runs for it, and is called whenever either may have
changed. A wait whose moment is known lies in a heap and has no task; each other has one. It decides nothing about who
may write: a run that ends twice, here or elsewhere, loses the second write.
"""

import asyncio
import heapq
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, assert_never

from torpor.triggers.services import Services
from torpor_api.clock import Clock
from torpor_api.store import Key

from torpor_triggerer import conduct, limits, outcome
from torpor_triggerer.admission import Admitted, admit
from torpor_triggerer.alarms import Alarms
from torpor_triggerer.outcome import Cancelled, Outcome
from torpor_triggerer.registry import Registry
from torpor_triggerer.report import Reporter
from torpor_triggerer.settings import Settings
from torpor_triggerer.timers import Timer
from torpor_triggerer.wait import Wait

log = logging.getLogger(__name__)

Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class Due(Enum):
    """Why a run's alarm rings."""

    PAYLOAD = "its moment has come"
    DEADLINE = "the wait has lasted too long"
    ABANDON = "its trigger was stopped, and goes on all the same"


@dataclass(slots=True, kw_only=True, eq=False)
class Run:
    """One wait being served. `verdict`: how it ends, whatever its trigger says; `left`: nobody needs its outcome."""

    wait: Wait
    trigger: Any = None
    task: asyncio.Task[None] | None = None
    timer: Timer[tuple["Run", Due]] | None = None
    verdict: Outcome | None = None
    looking: bool = False
    reporting: bool = False
    left: bool = False

    @property
    def subject(self) -> str:
        """For the log."""
        return f"{self.wait.namespace}/{self.wait.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the runner works with, made by whoever starts it."""

    registry: Registry
    reporter: Reporter
    clock: Clock
    lend: Callable[[Wait], Services]
    spawn: Spawn


class Runner:
    """All runs of this process."""

    def __init__(self, means: Means, settings: Settings, find: Callable[[Key], Wait | None]) -> None:
        self.alarms: Alarms[tuple[Run, Due]] = Alarms(means.clock, self._ring)
        self._means = means
        self._clock = means.clock
        self._settings = settings
        self._find = find
        self._owned: frozenset[int] = frozenset()
        self._runs: dict[Key, Run] = {}
        self._queue: list[tuple[float, Key]] = []
        self._queued: set[Key] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False

    def __len__(self) -> int:
        return len(self._runs)

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
            self._leave(run)
        if not self._tasks:
            return
        try:
            await limits.within(self._clock, self._settings.stop_seconds, _all(self._tasks))
        except TimeoutError:
            log.warning("%d triggers did not stop in time", len(self._tasks))
        for task in self._tasks:
            task.cancel()

    def _settle(self, key: Key) -> None:
        wait = self._find(key)
        if wait is not None and wait.shard not in self._owned:
            wait = None
        run = self._runs.get(key)
        if run is not None and (wait is None or wait.turn != run.wait.turn):
            self._leave(self._runs.pop(key))
            self._next_in_queue()
            run = None
        if wait is None:
            return
        if run is None:
            self._start_or_queue(key, wait)
        elif wait.cancelled and not run.wait.cancelled:
            run.wait = wait
            self._conclude(run, Cancelled())

    def _start_or_queue(self, key: Key, wait: Wait) -> None:
        if len(self._runs) < self._settings.capacity:
            self._runs[key] = run = Run(wait=wait)
            self._start(run)
        elif key not in self._queued:
            self._queued.add(key)
            heapq.heappush(self._queue, (wait.deferred_at, key))

    def _next_in_queue(self) -> None:
        """The oldest wait takes the room; what left the queue meanwhile is skipped."""
        while self._queue and len(self._runs) < self._settings.capacity:
            key = heapq.heappop(self._queue)[1]
            self._queued.discard(key)
            if key not in self._runs:
                self.settle(key)

    def _start(self, run: Run) -> None:
        admitted = admit(run.wait, self._means.registry, self._means.lend(run.wait))
        if not isinstance(admitted, Admitted):
            self._conclude(run, Cancelled() if run.wait.cancelled else admitted)
            return
        run.trigger = admitted.trigger
        due = conduct.due(run.trigger, run.subject)
        deadline = self._deadline(run.wait)
        if run.wait.cancelled:
            self._conclude(run, Cancelled())
        elif due is not None and (deadline is None or due <= deadline):
            run.timer = self.alarms.add(due, (run, Due.PAYLOAD))
        else:
            if deadline is not None:
                run.timer = self.alarms.add(deadline, (run, Due.DEADLINE))
            if due is None:
                self._spawn(run, self._conduct(run))

    def _deadline(self, wait: Wait) -> float | None:
        """When it is given up: a wait that is taken over after its deadline is looked at once more."""
        now = self._clock.now()
        if wait.deadline is None or wait.deadline > now:
            return wait.deadline
        return now + self._settings.look_seconds

    def _ring(self, alarm: tuple[Run, Due]) -> None:
        run, due = alarm
        run.timer = None
        match due:
            case Due.PAYLOAD:
                self._conclude(run, conduct.payload(run.trigger, run.subject))
            case Due.DEADLINE:
                self._conclude(run, outcome.too_late(run.wait, conduct.last_look(run.trigger, run.subject)))
            case Due.ABANDON:
                self._abandon(run)
            case _:
                assert_never(due)

    def _conclude(self, run: Run, verdict: Outcome) -> None:
        """End a run so, unless its end is being written already."""
        if run.reporting or run.verdict is not None or run.left:
            return
        run.verdict = verdict
        if run.timer is not None:
            self.alarms.discard(run.timer)
        if run.task is not None:
            run.task.cancel()
        if not run.looking:
            self._spawn(run, self._end(run, verdict))
            return
        patience = 2 * self._settings.kill_seconds + self._settings.stop_seconds
        run.timer = self.alarms.add(self._clock.now() + patience, (run, Due.ABANDON))

    def _abandon(self, run: Run) -> None:
        if run.reporting or run.left or run.verdict is None:
            return
        log.error("%s: its trigger does not stop when it is cancelled", run.subject)
        self._spawn(run, self._report(run, run.verdict))

    def _leave(self, run: Run) -> None:
        """Nothing waits for this run any more; a write that is under way may end, its answer is due anyway."""
        run.left = True
        if run.timer is not None:
            self.alarms.discard(run.timer)
        if run.task is not None and not run.reporting:
            run.task.cancel()

    async def _conduct(self, run: Run) -> None:
        ends: Outcome
        run.looking = True
        try:
            ends = await conduct.first_event(run.trigger, run.subject)
            run.reporting = True
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if run.verdict is None or run.left or task is None:
                raise
            task.uncancel()
            ends = run.verdict
            if isinstance(ends, Cancelled):
                await self._tell(run, "on_kill")
        finally:
            await self._tell(run, "cleanup")
        await self._report(run, ends)

    async def _end(self, run: Run, ends: Outcome) -> None:
        """The end of a wait whose trigger does not run here; what it began elsewhere is still to be killed."""
        if isinstance(ends, Cancelled):
            await self._tell(run, "on_kill")
            await self._tell(run, "cleanup")
        await self._report(run, ends)

    async def _tell(self, run: Run, method: str) -> None:
        seconds = self._settings.kill_seconds
        await conduct.tell(self._clock, run.trigger, method, seconds=seconds, subject=run.subject)

    async def _report(self, run: Run, ends: Outcome) -> None:
        run.reporting = True
        try:
            await self._means.reporter.report(run.wait, ends, lambda: run.left)
        except Exception:
            log.exception("%s: its outcome cannot be written", run.subject)

    def _spawn(self, run: Run, work: Coroutine[Any, Any, None]) -> None:
        task = self._means.spawn(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        run.task = task


async def _all(tasks: set[asyncio.Task[None]]) -> None:
    await asyncio.wait(set(tasks))
