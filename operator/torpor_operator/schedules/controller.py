"""The controller of Schedules."""

from typing import Never

from torpor_kubernetes.client.resources import SCHEDULES

from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.orphan_reporter import OrphanReporter
from torpor_operator.controller.reconcile_loop import Loop
from torpor_operator.controller.workqueue import Key
from torpor_operator.schedules.cache import ScheduleCache
from torpor_operator.schedules.executor import ScheduleExecutor
from torpor_operator.schedules.orphans import OrphanedSources
from torpor_operator.schedules.reconciler import ScheduleReconciler


class ScheduleController:
    """Reconciles Schedules."""

    def __init__(self, context: ControllerContext) -> None:
        cluster = context.cluster
        self._queue = queue = context.work_queue(SCHEDULES)
        self.cache = ScheduleCache(context, queue)
        executor = ScheduleExecutor(context.api, cluster, self.cache, context.writer)
        self._reconciler = ScheduleReconciler(context, queue, self.cache, executor)
        self._orphans = OrphanReporter(context, OrphanedSources(cluster, self.cache))

    def watches(self) -> list[Loop]:
        """The watch of Schedules."""
        return [self.cache.objects.run]

    async def run(self) -> Never:
        """Reconcile until cancelled, while this replica leads."""
        await self._reconciler.run(self._orphans.run)

    def object_keys(self) -> list[Key]:
        """The keys of all Schedules."""
        return self.cache.objects.keys()

    def enqueue(self, key: Key) -> None:
        """Enqueue a Schedule."""
        self._queue.add(key)
