"""A pass of a Backfill: plan, gather what the plan asks for, store the status, post Events.

A pass repeats the plan until it asks for nothing more.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Never

from torpor_crds.models.backfill import Backfill
from torpor_crds.models.run_of import TemplateRef
from torpor_kubernetes.cache.store import Unreadable
from torpor_kubernetes.client.api import Object
from torpor_wire.reason import Reason
from torpor_wire.retry import Backoff

from torpor_operator.backfills.cache import BackfillCache
from torpor_operator.backfills.executor import BackfillExecutor
from torpor_operator.backfills.plan.actions import BackfillPlan
from torpor_operator.backfills.plan.planner import plan
from torpor_operator.backfills.plan.snapshot import BackfillSnapshot, KnownRun, TemporaryObstacle
from torpor_operator.controller.archive import NotArchivedError
from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.model.actions import Need
from torpor_operator.model.snapshot import Answer

_BACKOFF = Backoff(first=1.0, cap=60.0)
_WORKERS = 4
_ROUNDS = 500
"""Plans of one pass: a few for each of its ticks. More are a bug."""
_COOLDOWN = 0.2
_COOLDOWN_PER_RUN = 0.00005
"""Seconds between two passes for each run of the Schedule: some ten times the cost of the plans of a pass."""


@dataclass(slots=True, kw_only=True)
class Gathered:
    """What the plans of one pass asked for."""

    looked_up: dict[str, KnownRun | None] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    known: dict[Need, Answer] = field(default_factory=dict)
    has_template: bool | None = None
    blocked: TemporaryObstacle | None = None


@dataclass(slots=True, kw_only=True)
class BackfillMemory:
    """What the reconciler keeps of a Backfill between two passes."""

    failures: int = 0
    cooldown_until: float = 0.0


class BackfillReconciler:
    """Reconciles Backfills while this replica leads."""

    def __init__(
        self, context: ControllerContext, queue: WorkQueue, cache: BackfillCache, executor: BackfillExecutor
    ) -> None:
        self._clock = context.api.clock
        self._cache = cache
        self._resolver = context.resolver
        self._namespaces = context.namespaces
        self._executor = executor
        self._loop = context.reconcile_loop(cache.objects, queue, BackfillMemory, workers=_WORKERS, backoff=_BACKOFF)

    async def run(self) -> Never:
        """Run until cancelled."""
        await self._loop.run(self._reconcile)

    async def _reconcile(self, key: Key, memory: BackfillMemory) -> float | None:
        """One pass. Returns when the next one is due unless a change comes first; None leaves it to changes."""
        backfill = self._cache.get(key)
        if backfill is None:
            return None
        gathered = Gathered(blocked=self._obstacle(backfill))
        decided = await self._decide(backfill, gathered, memory)
        if decided.status != backfill.status:
            if not await self._executor.write_status(backfill, decided.status):
                return self._loop.retry_time(memory)
            await self._executor.post(backfill, decided.notices)
        if gathered.blocked is not None:
            return self._loop.retry_time(memory)
        memory.failures = 0
        return decided.again_at

    def _obstacle(self, backfill: Backfill) -> TemporaryObstacle | None:
        """Why no run can be created, as far as the caches know."""
        schedule = self._cache.schedule_of(backfill)
        if isinstance(schedule, Unreadable):
            return TemporaryObstacle(
                Reason.SCHEDULE_INVALID, f"Schedule {schedule.name} cannot be read: {schedule.message}"
            )
        message = self._namespaces.why_not_ready(backfill.metadata.namespace)
        return TemporaryObstacle(Reason.NAMESPACE_NOT_READY, message) if message else None

    async def _decide(self, backfill: Backfill, gathered: Gathered, memory: BackfillMemory) -> BackfillPlan:
        """The plan that asks for nothing more."""
        for _ in range(_ROUNDS):
            snapshot = self._snapshot(backfill, gathered)
            memory.cooldown_until = self._clock.monotonic() + _COOLDOWN + len(snapshot.runs) * _COOLDOWN_PER_RUN
            with self._loop.plan_timer():
                decided = plan(snapshot)
            if decided.is_complete:
                return decided
            await self._gather(backfill.metadata.namespace, decided, gathered)
        raise RuntimeError(f"the plan requests more facts after {_ROUNDS} rounds")

    def _snapshot(self, backfill: Backfill, gathered: Gathered) -> BackfillSnapshot:
        schedule = self._cache.schedule_of(backfill)
        readable = None if isinstance(schedule, Unreadable) else schedule
        return BackfillSnapshot(
            backfill=backfill,
            schedule=readable,
            has_template=gathered.has_template,
            runs=() if readable is None else tuple(self._cache.runs_of(readable)),
            looked_up=gathered.looked_up,
            rejected=gathered.rejected,
            known=gathered.known,
            blocked=gathered.blocked,
            now=self._clock.now(),
        )

    async def _gather(self, namespace: str, decided: BackfillPlan, gathered: Gathered) -> None:
        """Create and look up what the plan asks for, side by side. Raises the first error after all have ended."""
        work: list[Awaitable[None]] = [self._create(namespace, body, gathered) for body in decided.creates]
        work += [self._find(namespace, name, gathered) for name in decided.lookups]
        if decided.template is not None:
            work.append(self._find_template(namespace, decided.template, gathered))
        if decided.needs:
            work.append(self._resolve(namespace, decided.needs, gathered))
        outcomes = await asyncio.gather(*work, return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _create(self, namespace: str, body: Object, gathered: Gathered) -> None:
        name = body["metadata"]["name"]
        match await self._executor.create_run(namespace, body):
            case TemporaryObstacle() as waiting:
                gathered.blocked = waiting
            case str(message):
                gathered.rejected[name] = message
            case None:
                pass

    async def _find(self, namespace: str, name: str, gathered: Gathered) -> None:
        try:
            gathered.looked_up[name] = await self._executor.find_run(namespace, name)
        except NotArchivedError as error:
            gathered.blocked = TemporaryObstacle(Reason.ARCHIVE_UNAVAILABLE, f"the archive cannot be read: {error}")

    async def _find_template(self, namespace: str, reference: TemplateRef, gathered: Gathered) -> None:
        gathered.has_template = await self._executor.has_template(namespace, reference)

    async def _resolve(self, namespace: str, needs: Sequence[Need], gathered: Gathered) -> None:
        gathered.known |= await self._resolver.resolve(needs, namespace=namespace)
