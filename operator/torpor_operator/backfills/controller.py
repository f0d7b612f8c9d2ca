"""The controller of Backfills."""

from typing import Never

from torpor_operator.backfills.archived_runs import FindArchived
from torpor_operator.backfills.cache import BackfillCache, ScheduleLookup
from torpor_operator.backfills.executor import BackfillExecutor
from torpor_operator.backfills.reconciler import BackfillReconciler
from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.reconcile_loop import Loop


class BackfillController:
    """Reconciles Backfills."""

    def __init__(self, context: ControllerContext, schedules: ScheduleLookup, find_archived: FindArchived) -> None:
        queue = context.work_queue()
        self._cache = BackfillCache(context, schedules, queue)
        executor = BackfillExecutor(context.api, self._cache, find_archived, context.writer)
        self._reconciler = BackfillReconciler(context, queue, self._cache, executor)

    def watches(self) -> list[Loop]:
        """The watch of Backfills."""
        return [self._cache.backfills.run]

    async def run(self) -> Never:
        """Reconcile until cancelled, while this replica leads."""
        await self._reconciler.run()

    def namespaces(self) -> set[str]:
        """The namespaces that have Backfills."""
        return {key.namespace for key in self._cache.all_keys()}

    def enqueue_namespace(self, namespace: str) -> None:
        """Enqueue every Backfill of a namespace."""
        self._cache.enqueue_namespace(namespace)
