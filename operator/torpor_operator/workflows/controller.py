"""The controller of Workflows."""

from collections.abc import Collection
from typing import Never

from torpor_kubernetes.client.resources import WORKFLOWS

from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.orphan_reporter import OrphanReporter
from torpor_operator.controller.reconcile_loop import Loop
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.workflows.archive_uploads import ArchiveUploads
from torpor_operator.workflows.executor import WorkflowExecutor
from torpor_operator.workflows.listener import WorkflowListener
from torpor_operator.workflows.orphans import OrphanedPods, OrphanedTaskRuns
from torpor_operator.workflows.reconciler import WorkflowReconciler
from torpor_operator.workflows.slot_pools import SlotAllocator
from torpor_operator.workflows.snapshots import WorkflowSnapshots


class WorkflowController:
    """Reconciles Workflows, uploads finished ones to the archive, and cleans up what belongs to none."""

    def __init__(self, context: ControllerContext) -> None:
        api, cluster = context.api, context.cluster
        self._cluster = cluster
        self._queue = context.work_queue(WORKFLOWS)
        self._uploads = _archive_uploads(context, self._queue)
        slots = SlotAllocator(
            api, cluster.taskruns.store.indexed, cluster.has_pod, self._queue.add, context.namespaces.check
        )
        snapshots = WorkflowSnapshots(context, slots, self._uploads)
        executor = WorkflowExecutor(api, cluster, context.writer, context.settings, archive_run=self._uploads.request)
        self._orphaned_pods = OrphanedPods(api, context.writer, executor.pods)
        self._orphaned_taskruns = OrphanReporter(context, OrphanedTaskRuns(cluster))
        cluster.subscribe(
            WorkflowListener(
                cluster,
                self._queue,
                snapshots,
                slots=slots,
                uploads=self._uploads,
                on_orphaned_pod=self._orphaned_pods.add,
            )
        )
        self._reconciler = WorkflowReconciler(context, self._queue, snapshots, slots, executor)

    def watches(self) -> list[Loop]:
        """The uploads. kopf watches the Workflows."""
        return [self._uploads.run]

    async def run(self) -> Never:
        """Reconcile until cancelled, while this replica leads."""
        await self._reconciler.run(self._orphaned_pods.run, self._orphaned_taskruns.run)

    def object_keys(self) -> Collection[Key]:
        """The keys of all Workflows."""
        return self._cluster.workflows.keys()

    def enqueue(self, key: Key) -> None:
        """Enqueue a Workflow."""
        self._queue.add(key)


def _archive_uploads(context: ControllerContext, queue: WorkQueue) -> ArchiveUploads:
    archive = context.archive
    return ArchiveUploads(
        archive.store_run,
        context.api.clock,
        enqueue=queue.add,
        grace=context.settings.archive_grace,
        not_before=archive.events.next_list_at,
        on_idle=archive.events.drop,
        jitter=context.jitter,
    )
