"""The controllers of Schedules and Backfills: built, watched and run together."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.write_limits import WriteLimits

from torpor_operator.backfills.archived_runs import FindArchived, no_archive
from torpor_operator.backfills.cache import BackfillCache
from torpor_operator.backfills.executor import BackfillExecutor
from torpor_operator.backfills.reconciler import BackfillReconciler
from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.model.snapshot import TriggerPool
from torpor_operator.quarantine.cpu_shares import CpuShares
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_operator.schedules.cache import ScheduleCache
from torpor_operator.schedules.event_pace import EventPace
from torpor_operator.schedules.executor import ScheduleExecutor
from torpor_operator.schedules.orphans import OrphanedSources
from torpor_operator.schedules.reconciler import ScheduleReconciler
from torpor_operator.settings import Settings
from torpor_operator.workflows.cache import ClusterCache
from torpor_operator.workflows.queries import QueryResolver


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleControllers:
    """The caches and the reconcile loops of Schedules and Backfills."""

    queue: WorkQueue
    cache: ScheduleCache
    reconciler: ScheduleReconciler
    backfills: BackfillCache
    backfill_reconciler: BackfillReconciler

    @classmethod
    def build(  # noqa: PLR0913 - what they share with the rest of the operator
        cls,
        api: Api,
        cluster: ClusterCache,
        resolver: QueryResolver,
        settings: Settings,
        limits: WriteLimits,
        *,
        jitter: Callable[[], float],
        is_leader: Callable[[], bool] = lambda: True,
        on_forbidden: Callable[[str], None] = lambda _: None,
        triggerer_pool: Callable[[str], TriggerPool] = lambda _: TriggerPool(),
        archives: Callable[[], bool] = lambda: False,
        why_not_ready: Callable[[str], str] = lambda _: "",
        find_archived: FindArchived = no_archive,
        guard: WorkGuard | None = None,
        cpu_shares: CpuShares | None = None,
    ) -> Self:
        """Build them. `cluster` calls `enqueue` of the result."""
        queue = WorkQueue(api.clock, cpu_shares=cpu_shares)
        backfill_queue = WorkQueue(api.clock, cpu_shares=cpu_shares)
        reporter = UnreadableReporter(api, api.clock, limits)

        def enqueue(key: Key) -> None:
            _enqueue(key, queue, backfills)

        cache = ScheduleCache(
            api,
            cluster,
            enqueue=enqueue,
            jitter=jitter,
            triggerer_pool=triggerer_pool,
            archives=archives,
            why_not_ready=why_not_ready,
            guard=guard,
            namespaces=settings.namespaces,
        )
        backfills = BackfillCache(
            api,
            cluster,
            cache,
            enqueue=backfill_queue.add,
            jitter=jitter,
            guard=guard,
            namespaces=settings.namespaces,
        )
        executor = ScheduleExecutor(api, cluster, cache, limits, is_leader=is_leader, on_forbidden=on_forbidden)
        reconciler = ScheduleReconciler(
            clock=api.clock,
            queue=queue,
            cache=cache,
            resolver=resolver,
            executor=executor,
            pace=EventPace(api.clock, rate=settings.schedule_event_rate, burst=settings.schedule_event_burst),
            orphans=OrphanedSources(cluster, cache, api.clock, settings.stray_grace),
            reporter=reporter,
            settings=settings,
            jitter=jitter,
            guard=guard,
        )
        backfill_reconciler = BackfillReconciler(
            clock=api.clock,
            queue=backfill_queue,
            cache=backfills,
            resolver=resolver,
            executor=BackfillExecutor(
                api, backfills, find_archived, limits, is_leader=is_leader, on_forbidden=on_forbidden
            ),
            reporter=reporter,
            settings=settings,
            why_not_ready=why_not_ready,
            jitter=jitter,
            guard=guard,
        )
        return cls(
            queue=queue,
            cache=cache,
            reconciler=reconciler,
            backfills=backfills,
            backfill_reconciler=backfill_reconciler,
        )

    def namespaces(self) -> set[str]:
        """The namespaces that have Schedules or Backfills."""
        return {key.namespace for key in (*self.cache.all_keys(), *self.backfills.all_keys())}

    def enqueue(self, key: Key) -> None:
        """Enqueue a Schedule and its Backfills: an object of the Schedule has changed."""
        _enqueue(key, self.queue, self.backfills)

    def enqueue_namespace(self, namespace: str) -> None:
        """Enqueue every Schedule and Backfill of a namespace."""
        self.cache.enqueue_namespace(namespace)
        self.backfills.enqueue_namespace(namespace)

    async def watch(self) -> None:
        """Keep the cache up to date, also while another replica leads."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.cache.schedules.run())
            group.create_task(self.backfills.backfills.run())

    async def run(self) -> None:
        """Reconcile until cancelled, while this replica leads."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.reconciler.run())
            group.create_task(self.backfill_reconciler.run())


def _enqueue(schedule: Key, queue: WorkQueue, backfills: BackfillCache) -> None:
    queue.add(schedule)
    backfills.enqueue_schedule(schedule)
