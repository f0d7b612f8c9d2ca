"""The reconcile loop of Schedules: fetch, gather, decide, act, store the status, post Events.

An event takes several rounds: its run is created, then the status is stored, then its source is armed. They follow one
another in one pass, from the answers of the API server. An error of one Schedule is logged and retried with backoff.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from torpor_crds.models.schedule import Schedule
from torpor_crds.models.schedule_status import ScheduleStatus
from torpor_kubernetes.client.resources import SCHEDULES
from torpor_kubernetes.timing import Clock
from torpor_wire.reason import Reason
from torpor_wire.retry import Backoff

from torpor_operator.controller.reconcile_loop import ReconcileLoop
from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.model.actions import Need, Notice
from torpor_operator.model.snapshot import Answer
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_operator.schedules.cache import ScheduleCache
from torpor_operator.schedules.event_pace import EventPace
from torpor_operator.schedules.executor import ScheduleExecutor
from torpor_operator.schedules.orphans import OrphanedSources
from torpor_operator.schedules.plan.actions import DeleteRun, SchedulePlan
from torpor_operator.schedules.plan.planner import plan
from torpor_operator.settings import Settings
from torpor_operator.workflows.queries import QueryResolver

_BACKOFF = Backoff(first=0.5, cap=30.0)
_ROUNDS = 8
"""Rounds of one pass; the queue takes turns between Schedules after them."""
_WORKERS = 32
_REPORTED_DELAY = 5.0
"""Seconds that a source waits for its turn before an Event says so."""


@dataclass(slots=True, kw_only=True)
class Memo:
    """What the reconciler keeps of a Schedule between two passes. Losing it costs requests, nothing else."""

    uid: str = ""
    answers: dict[Need, Answer] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    status_written: float = 0.0
    failures: int = 0
    cooldown_until: float = 0.0


class ScheduleReconciler:
    """Reconciles Schedules while this replica leads."""

    def __init__(  # noqa: PLR0913 - dependencies
        self,
        *,
        clock: Clock,
        queue: WorkQueue,
        cache: ScheduleCache,
        resolver: QueryResolver,
        executor: ScheduleExecutor,
        pace: EventPace,
        orphans: OrphanedSources,
        reporter: UnreadableReporter,
        settings: Settings,
        jitter: Callable[[], float] = random.random,
        guard: WorkGuard | None = None,
    ) -> None:
        self._clock = clock
        self._cache = cache
        self._resolver = resolver
        self._executor = executor
        self._pace = pace
        self._orphans = orphans
        self._settings = settings
        self._loop = ReconcileLoop(
            SCHEDULES,
            cache.schedules,
            queue,
            Memo,
            clock=clock,
            reporter=reporter,
            resync=settings.resync,
            workers=_WORKERS,
            backoff=_BACKOFF,
            jitter=jitter,
            guard=guard,
        )

    async def run(self) -> None:
        """Run until cancelled. Then wait for running writes, so that the next leader's lists contain them."""
        try:
            await self._loop.run(self._reconcile, partial(self._orphans.run, self._executor))
        finally:
            await self._executor.drain()

    async def _reconcile(self, key: Key, memo: Memo) -> float | None:
        """Repeat rounds until one changes nothing. Returns when the next pass is due, unless a change comes first."""
        for _ in range(_ROUNDS):
            found = await self._decide(key, memo)
            if found is None:
                return None
            schedule, decided = found
            paced = self._pace.admit(key.namespace, decided.actions)
            decided = replace(decided, actions=paced.actions)
            applied = await self._executor.apply(schedule, decided.actions)
            memo.refused |= applied.refused
            if not applied.storable:
                return self._loop.retry_time(memo)
            stored = await self._store(schedule, decided, memo)
            if stored is None or not applied.complete:
                return self._loop.retry_time(memo)
            if not stored and _only_deletes(decided):
                return self._loop.retry_time(memo)
            if not (await self._executor.apply(schedule, decided.after_status)).complete:
                return self._loop.retry_time(memo)
            memo.failures = 0
            if not decided.actions and not decided.after_status and not stored:
                return await self._next_pass(schedule, decided, memo, paced.delays)
        return self._clock.now()

    async def _decide(self, key: Key, memo: Memo) -> tuple[Schedule, SchedulePlan] | None:
        """The Schedule and its plan. A plan may ask for facts; their answers may raise more questions."""
        while True:
            snapshot = self._cache.snapshot(key, memo.answers, memo.refused, self._settings, self._clock.now())
            if snapshot is None:
                return None
            if snapshot.schedule.metadata.uid != memo.uid:
                memo.uid, memo.answers, memo.refused = snapshot.schedule.metadata.uid, {}, {}
            decided = plan(snapshot)
            queries = [query for query in decided.needs if query not in memo.answers]
            if not queries:
                return snapshot.schedule, decided
            memo.answers |= await self._resolver.resolve(queries, namespace=key.namespace)

    async def _store(self, schedule: Schedule, decided: SchedulePlan, memo: Memo) -> bool | None:
        """Store a changed status, then post the Events. Returns whether it was written; None after a conflict."""
        wanted = decided.status
        postponed = self._clock.now() < self._counts_due(memo)
        if wanted is None or wanted == schedule.status or (postponed and not _has_news(schedule.status, wanted)):
            if decided.actions or decided.after_status:
                await self._executor.post(schedule, decided.notices)
            return False
        current = self._cache.schedules.store.get(schedule.metadata.namespace, schedule.metadata.name)
        if (
            current is None
            or current.metadata.uid != schedule.metadata.uid
            or not await self._executor.write_status(current, wanted)
        ):
            return None
        memo.status_written = self._clock.now()
        memo.answers, memo.refused = {}, {}
        await self._executor.post(schedule, decided.notices)
        return True

    async def _next_pass(
        self, schedule: Schedule, decided: SchedulePlan, memo: Memo, delays: Sequence[float]
    ) -> float | None:
        """When the next pass is due. `delays`: seconds until each source that waits for its turn may be armed."""
        due = [] if decided.again_at is None else [decided.again_at]
        if delays:
            due.append(self._clock.now() + min(delays))
            await self._report_delay(schedule, max(delays))
        if decided.status is not None and decided.status != schedule.status:
            due.append(self._counts_due(memo))
        return min(due, default=None)

    async def _report_delay(self, schedule: Schedule, delay: float) -> None:
        if delay >= _REPORTED_DELAY:
            message = (
                f"the Schedules of this namespace have more than {self._pace.rate:g} events a second; "
                "sources wait for their turn before they take the next event"
            )
            await self._executor.post(schedule, [Notice(reason=Reason.EVENTS_DELAYED, message=message, warning=True)])

    def _counts_due(self, memo: Memo) -> float:
        return memo.status_written + self._settings.status_interval


def _only_deletes(decided: SchedulePlan) -> bool:
    """Whether the next round would only delete the same runs again: the watch shows a deletion later, or never."""
    deletes = [isinstance(action, DeleteRun) for action in decided.actions]
    return bool(deletes) and all(deletes)


def _has_news(former: ScheduleStatus, wanted: ScheduleStatus) -> bool:
    """Whether more than the counts of runs has changed."""
    counts = {"active": wanted.active, "queued": wanted.queued}
    return former.model_copy(update=counts) != wanted
