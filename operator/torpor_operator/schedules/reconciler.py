"""A pass of a Schedule: fetch, gather, decide, act, store the status, post Events.

An event takes several rounds: its run is created, then the status is stored, then its source is armed. They follow one
another in one pass, from the answers of the API server. An error of one Schedule is logged and retried with backoff.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Never

from torpor_crds.models.schedule import Schedule
from torpor_crds.models.schedule_status import ScheduleStatus
from torpor_wire.reason import Reason
from torpor_wire.retry import Backoff

from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.reconcile_loop import Loop
from torpor_operator.controller.workqueue import Key, WorkQueue, key_of
from torpor_operator.model.actions import Need, Notice
from torpor_operator.model.snapshot import Answer
from torpor_operator.schedules.cache import ScheduleCache
from torpor_operator.schedules.count_pace import counts_due
from torpor_operator.schedules.event_pace import EventPace
from torpor_operator.schedules.executor import ScheduleExecutor
from torpor_operator.schedules.plan.actions import DeleteRun, SchedulePlan
from torpor_operator.schedules.plan.planner import plan

_BACKOFF = Backoff(first=0.5, cap=30.0)
_ROUNDS = 8
"""Rounds of one pass; the queue takes turns between Schedules after them."""
_WORKERS = 32
_REPORTED_DELAY = 5.0
"""Seconds that a source waits for its turn before an Event says so."""


@dataclass(slots=True, kw_only=True)
class ScheduleMemory:
    """What the reconciler keeps of a Schedule between two passes. Losing it costs requests, nothing else."""

    uid: str = ""
    answers: dict[Need, Answer] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    status_written: float = 0.0
    failures: int = 0
    cooldown_until: float = 0.0


class ScheduleReconciler:
    """Reconciles Schedules while this replica leads."""

    def __init__(
        self, context: ControllerContext, queue: WorkQueue, cache: ScheduleCache, executor: ScheduleExecutor
    ) -> None:
        settings, self._clock = context.settings, context.api.clock
        self._cache = cache
        self._resolver = context.resolver
        self._executor = executor
        self._pace = EventPace(self._clock, rate=settings.schedule_event_rate, burst=settings.schedule_event_burst)
        self._status_interval = settings.status_interval
        self._loop = context.reconcile_loop(cache.objects, queue, ScheduleMemory, workers=_WORKERS, backoff=_BACKOFF)

    async def run(self, *beside: Loop) -> Never:
        """Run until cancelled, with other loops beside."""
        await self._loop.run(self._reconcile, *beside)

    async def _reconcile(self, key: Key, memory: ScheduleMemory) -> float | None:
        """Repeat rounds until one changes nothing. Returns when the next pass is due, unless a change comes first."""
        for _ in range(_ROUNDS):
            decision = await self._decide(key, memory)
            if decision is None:
                return None
            schedule, decided = decision
            paced = self._pace.admit(key.namespace, decided.actions)
            decided = replace(decided, actions=paced.actions)
            applied = await self._executor.apply(schedule, decided.actions)
            memory.refused |= applied.refused
            if not applied.storable:
                return self._loop.retry_time(memory)
            stored = await self._store(schedule, decided, memory)
            if stored is None or not applied.complete:
                return self._loop.retry_time(memory)
            if not stored and _only_deletes(decided):
                return self._loop.retry_time(memory)
            if not (await self._executor.apply(schedule, decided.after_status)).complete:
                return self._loop.retry_time(memory)
            memory.failures = 0
            if not decided.actions and not decided.after_status and not stored:
                return await self._next_pass(schedule, decided, memory, paced.delays)
        return self._clock.now()

    async def _decide(self, key: Key, memory: ScheduleMemory) -> tuple[Schedule, SchedulePlan] | None:
        """The Schedule and its plan. A plan may ask for facts; their answers may raise more questions."""
        while True:
            snapshot = self._cache.snapshot(key, memory.answers, memory.refused)
            if snapshot is None:
                return None
            if snapshot.schedule.metadata.uid != memory.uid:
                memory.uid, memory.answers, memory.refused = snapshot.schedule.metadata.uid, {}, {}
            with self._loop.plan_timer():
                decided = plan(snapshot)
            queries = [query for query in decided.needs if query not in memory.answers]
            if not queries:
                return snapshot.schedule, decided
            memory.answers |= await self._resolver.resolve(queries, namespace=key.namespace)

    async def _store(self, schedule: Schedule, decided: SchedulePlan, memory: ScheduleMemory) -> bool | None:
        """Store a changed status, then post the Events. Returns whether it was written; None after a conflict."""
        wanted = decided.status
        if wanted is None or wanted == schedule.status or self._is_postponed(schedule.status, wanted, memory):
            if decided.actions or decided.after_status:
                await self._executor.post(schedule, decided.notices)
            return False
        current = self._cache.objects.get(key_of(schedule.metadata))
        if (
            current is None
            or current.metadata.uid != schedule.metadata.uid
            or not await self._executor.write_status(current, wanted)
        ):
            return None
        memory.status_written = self._clock.now()
        memory.answers, memory.refused = {}, {}
        await self._executor.post(schedule, decided.notices)
        return True

    async def _next_pass(
        self, schedule: Schedule, decided: SchedulePlan, memory: ScheduleMemory, delays: Sequence[float]
    ) -> float | None:
        """When the next pass is due. `delays`: seconds until each source that waits for its turn may be armed."""
        due = [] if decided.again_at is None else [decided.again_at]
        if delays:
            due.append(self._clock.now() + min(delays))
            await self._report_delay(schedule, max(delays))
        if decided.status is not None and decided.status != schedule.status:
            due.append(self._counts_due(schedule.status, decided.status, memory))
        return min(due, default=None)

    async def _report_delay(self, schedule: Schedule, delay: float) -> None:
        if delay >= _REPORTED_DELAY:
            message = (
                f"the Schedules of this namespace have more than {self._pace.rate:g} events a second; "
                "sources wait for their turn before they take the next event"
            )
            await self._executor.post(schedule, [Notice(reason=Reason.EVENTS_DELAYED, message=message, warning=True)])

    def _is_postponed(self, stored: ScheduleStatus, wanted: ScheduleStatus, memory: ScheduleMemory) -> bool:
        return not _has_news(stored, wanted) and self._clock.now() < self._counts_due(stored, wanted, memory)

    def _counts_due(self, stored: ScheduleStatus, wanted: ScheduleStatus, memory: ScheduleMemory) -> float:
        written, interval = memory.status_written, self._status_interval
        return counts_due(stored, wanted, written=written, interval=interval, now=self._clock.now())


def _only_deletes(decided: SchedulePlan) -> bool:
    """Whether the next round would only delete the same runs again: the watch shows a deletion later, or never."""
    deletes = [isinstance(action, DeleteRun) for action in decided.actions]
    return bool(deletes) and all(deletes)


def _has_news(former: ScheduleStatus, wanted: ScheduleStatus) -> bool:
    """Whether more than the counts of runs has changed."""
    counts = {"active": wanted.active, "queued": wanted.queued}
    return former.model_copy(update=counts) != wanted
