"""The controllers of Schedules and Backfills: built, watched and run together."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from torpor_api.client.api import Api

from torpor_operator.controller.cache import ClusterCache
from torpor_operator.controller.queries import QueryResolver
from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.workqueue import WorkQueue
from torpor_operator.model.snapshot import Pool
from torpor_operator.schedule_controller.cache import ScheduleCache
from torpor_operator.schedule_controller.executor import ScheduleExecutor
from torpor_operator.schedule_controller.reconciler import ScheduleReconciler
from torpor_operator.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleControllers:
    """The cache and the reconcile loop of Schedules."""

    cache: ScheduleCache
    reconciler: ScheduleReconciler

    @classmethod
    def build(  # noqa: PLR0913 - what they share with the rest of the operator
        cls,
        api: Api,
        cluster: ClusterCache,
        resolver: QueryResolver,
        settings: Settings,
        *,
        queue: WorkQueue,
        jitter: Callable[[], float],
        is_leader: Callable[[], bool] = lambda: True,
        on_forbidden: Callable[[str], None] = lambda _: None,
        triggerer_pool: Callable[[str], Pool] = lambda _: Pool(),
        archives: Callable[[], bool] = lambda: False,
        why_not_ready: Callable[[str], str] = lambda _: "",
    ) -> Self:
        """Build them. `queue` is that of Schedules, to which `cluster` adds."""
        cache = ScheduleCache(
            api,
            cluster,
            enqueue=queue.add,
            jitter=jitter,
            triggerer_pool=triggerer_pool,
            archives=archives,
            why_not_ready=why_not_ready,
        )
        executor = ScheduleExecutor(api, cluster, cache, is_leader=is_leader, on_forbidden=on_forbidden)
        reconciler = ScheduleReconciler(
            clock=api.clock,
            queue=queue,
            cache=cache,
            resolver=resolver,
            executor=executor,
            reporter=UnreadableReporter(api, api.clock),
            settings=settings,
            jitter=jitter,
        )
        return cls(cache=cache, reconciler=reconciler)

    def namespaces(self) -> set[str]:
        """The namespaces that have Schedules."""
        return {key.namespace for key in self.cache.all_keys()}

    def enqueue_namespace(self, namespace: str) -> None:
        """Enqueue every Schedule of a namespace."""
        self.cache.enqueue_namespace(namespace)

    async def watch(self) -> None:
        """Keep the cache up to date, also while another replica leads."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.cache.schedules.run())

    async def run(self) -> None:
        """Reconcile until cancelled, while this replica leads."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.reconciler.run())
