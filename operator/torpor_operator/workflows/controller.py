"""The controller of Workflows."""

from functools import partial
from typing import Never

from torpor_operator.controller.context import ControllerContext, Loop
from torpor_operator.controller.orphan_reporter import OrphanReporter
from torpor_operator.workflows.archive_uploads import ArchiveUploads
from torpor_operator.workflows.executor import WorkflowExecutor
from torpor_operator.workflows.listener import WorkflowListener, WorkflowObjects
from torpor_operator.workflows.orphans import OrphanedPods, OrphanedTaskRuns
from torpor_operator.workflows.reconciler import BACKOFF, WorkflowMemory, WorkflowReconciler
from torpor_operator.workflows.slot_pools import SlotAllocator
from torpor_operator.workflows.snapshots import WorkflowSnapshots


class WorkflowController:
    """Reconciles Workflows, uploads finished ones to the archive, and cleans up what belongs to none."""

    def __init__(self, context: ControllerContext) -> None:
        api, settings, cluster, archive = context.api, context.settings, context.cluster, context.archive
        self._cluster = cluster
        self.queue = context.work_queue()
        self._uploads = ArchiveUploads(
            archive.store_run,
            api.clock,
            enqueue=self.queue.add,
            grace=settings.archive_grace,
            not_before=archive.events.next_list_at,
            on_idle=archive.events.drop,
            jitter=context.jitter,
        )
        self.slots = SlotAllocator(
            api, cluster.taskruns.store.indexed, cluster.has_pod, self.queue.add, context.namespaces.check
        )
        self.snapshots = WorkflowSnapshots(
            cluster,
            settings,
            api.clock,
            slots=self.slots,
            uploads=self._uploads,
            triggerer_pool=context.triggerer_pools.get,
            archive_endpoint=archive.endpoint,
            why_not_ready=context.namespaces.why_not_ready,
            image_volumes=context.image_volumes.supported,
        )
        orphaned_pods = OrphanedPods(api)
        cluster.subscribe(
            WorkflowListener(
                cluster,
                self.queue,
                self.snapshots,
                slots=self.slots,
                uploads=self._uploads,
                orphaned_pods=orphaned_pods,
            )
        )
        self.executor = WorkflowExecutor(api, cluster, context.writer, settings, archive_run=self._uploads.request)
        self.loop = context.reconcile_loop(
            WorkflowObjects(cluster), self.queue, WorkflowMemory, workers=settings.reconcilers, backoff=BACKOFF
        )
        self._reconciler = WorkflowReconciler(
            self.loop,
            clock=api.clock,
            cluster=cluster,
            snapshots=self.snapshots,
            slots=self.slots,
            resolver=context.resolver,
            executor=self.executor,
            settings=settings,
            guard=context.guard,
        )
        orphans = OrphanReporter(cluster, context.writer, api.clock, grace=settings.stray_grace)
        self._beside: tuple[Loop, ...] = (
            partial(orphaned_pods.run, context.writer, self.executor.pods),
            partial(orphans.run, OrphanedTaskRuns(cluster)),
        )

    def watches(self) -> list[Loop]:
        """The uploads. kopf watches the Workflows."""
        return [self._uploads.run]

    async def run(self) -> Never:
        """Reconcile until cancelled, while this replica leads."""
        await self._reconciler.run(*self._beside)

    def namespaces(self) -> set[str]:
        """The namespaces that have Workflows."""
        return self._cluster.namespaces()

    def enqueue_namespace(self, namespace: str) -> None:
        """Enqueue every Workflow of a namespace."""
        for key in list(self._cluster.workflows):
            if key.namespace == namespace:
                self.queue.add(key)
