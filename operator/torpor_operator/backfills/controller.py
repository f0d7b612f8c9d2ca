"""The controller of Backfills."""

from typing import Never

from torpor_kubernetes.client.resources import BACKFILLS

from torpor_operator.backfills.archived_runs import FindArchived
from torpor_operator.backfills.cache import BackfillCache, ScheduleLookup
from torpor_operator.backfills.executor import BackfillExecutor
from torpor_operator.backfills.reconciler import BackfillReconciler
from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.reconcile_loop import Loop
from torpor_operator.controller.workqueue import Key


class BackfillController:
    """Reconciles Backfills."""

    def __init__(self, context: ControllerContext, schedules: ScheduleLookup, find_archived: FindArchived) -> None:
        self._queue = queue = context.work_queue(BACKFILLS)
        self._cache = BackfillCache(context, schedules, queue)
        executor = BackfillExecutor(context.api, self._cache, find_archived, context.writer)
        self._reconciler = BackfillReconciler(context, queue, self._cache, executor)

    def watches(self) -> list[Loop]:
        """The watch of Backfills."""
        return [self._cache.objects.run]

    async def run(self) -> Never:
        """Reconcile until cancelled, while this replica leads."""
        await self._reconciler.run()

    def object_keys(self) -> list[Key]:
        """The keys of all Backfills."""
        return self._cache.objects.keys()

    def enqueue(self, key: Key) -> None:
        """Enqueue a Backfill."""
        self._queue.add(key)
