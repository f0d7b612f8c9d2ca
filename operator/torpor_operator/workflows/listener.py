"""Which changes in the cluster start a pass of a Workflow, and the Workflows as the reconcile loop sees them."""

from collections.abc import Callable, Collection, Iterable

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire.state import TERMINAL, State

from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.workqueue import Key, WorkQueue, key_of, owner_key
from torpor_operator.model.pod import Pod
from torpor_operator.taskrun.cache_index import PoolKey
from torpor_operator.taskrun.step import TaskRunView
from torpor_operator.workflows.archive_uploads import ArchiveUploads
from torpor_operator.workflows.plan import next_pass
from torpor_operator.workflows.slot_pools import SlotAllocator
from torpor_operator.workflows.snapshots import WorkflowSnapshots

_ALL_STATES = frozenset(State)
_NOT_WAITING = frozenset({State.SCHEDULED, State.UP_FOR_RETRY, State.FAILED, State.CANCELLED})
"""States of a TaskRun whose Workflow acts on a change of its run. While it waits, its trigger sees the changes."""


class WorkflowObjects:
    """The Workflows in the cache. kopf's handler reports those that cannot be read."""

    resource = WORKFLOWS

    def __init__(self, cluster: ClusterCache) -> None:
        self._cluster = cluster

    def keys(self) -> Iterable[Key]:
        """The keys of all Workflows: those that run first, and of them those with the fewest TaskRuns.

        A pass takes as long as there are TaskRuns, and a run that was created while no replica led has none.
        """
        return sorted(self._cluster.workflows, key=self._size)

    def _size(self, key: Key) -> tuple[bool, int]:
        workflow = self._cluster.workflows[key]
        has_ended = workflow.status.completion_time is not None
        return has_ended, self._cluster.taskruns.store.count_indexed(workflow.metadata.uid)

    def uid(self, key: Key) -> str | None:
        """The uid of a Workflow, or None if it is gone."""
        cached = self._cluster.workflows.get(key)
        return None if cached is None else cached.metadata.uid

    def unreadable(self, key: Key) -> None:
        """Return None."""

    async def refresh(self) -> None:
        """Do nothing: a new leader has refreshed the whole cache."""

    async def drop_deleted(self) -> None:
        """Drop the Workflows whose deletion kopf did not report. Raises errors.ApiError."""
        await self._cluster.drop_deleted()


class WorkflowListener:
    """Enqueues a Workflow when a change of one of its objects requires a pass, now or later."""

    def __init__(  # noqa: PLR0913 - dependencies
        self,
        cluster: ClusterCache,
        queue: WorkQueue,
        snapshots: WorkflowSnapshots,
        *,
        slots: SlotAllocator,
        uploads: ArchiveUploads,
        on_orphaned_pod: Callable[[Pod], None],
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._snapshots = snapshots
        self._slots = slots
        self._uploads = uploads
        self._on_orphaned_pod = on_orphaned_pod

    def on_workflow(self, key: Key, workflow: Workflow | None) -> None:
        """Enqueue it, and the run whose task starts it, or may have to wait for it again."""
        self._queue.add(key)
        if workflow is not None:
            ends = workflow.spec.cancel or workflow.spec.stop
            self._enqueue_parent(key, workflow, _ALL_STATES if ends else _NOT_WAITING)

    def on_workflow_dropped(self, key: Key, workflow: Workflow | None) -> None:
        """Forget it, and enqueue the run whose task waits for it."""
        self._slots.forget(key)
        self._uploads.forget(key)
        self._queue.add(key)
        if workflow is not None:
            self._enqueue_parent(key, workflow, _ALL_STATES)

    def on_taskrun(self, taskrun: TaskRun, former: TaskRun | None) -> None:
        """Enqueue its Workflow if its own rules require a pass."""
        self._enqueue_after(taskrun, lambda view: next_pass.after_taskrun(view, former))
        self._recount(taskrun)
        if taskrun.spec.run is not None and taskrun.status.state in TERMINAL:
            for child in self._cluster.child_runs([taskrun]).get(taskrun.metadata.uid, ()):
                self._queue.add(key_of(child.metadata))  # nothing waits for it any more, so its TTL counts
        if former is not None:
            self._recount(former)

    def on_taskrun_dropped(self, taskrun: TaskRun) -> None:
        """Enqueue its Workflow."""
        if taskrun.spec.schedule is None:
            self._queue.add(owner_key(taskrun))
        self._recount(taskrun)

    def on_pod(self, taskrun: TaskRun, pod: Pod | None, former: Pod | None) -> None:
        """Enqueue its Workflow if the rules of its TaskRun require a pass."""
        workflow = self._cluster.owner_of(taskrun)
        self._enqueue_after(taskrun, lambda view: next_pass.after_pod(view, former, pod, workflow))

    def on_orphaned_pod(self, pod: Pod) -> None:
        """Pass it on: no Workflow plans it."""
        self._on_orphaned_pod(pod)

    def _enqueue_after(self, taskrun: TaskRun, due: Callable[[TaskRunView], float | None]) -> None:
        if taskrun.spec.schedule is not None:
            return
        view = self._snapshots.view(taskrun)
        moment = due(view)
        if moment is not None and moment <= view.now:
            self._queue.add(owner_key(taskrun))
        elif moment is not None:
            self._queue.add_at(owner_key(taskrun), moment)

    def _enqueue_parent(self, key: Key, child: Workflow, states: Collection[State]) -> None:
        """Enqueue the run that contains a run, if the state of its TaskRun is one of these, or there is none."""
        if (parent := child.spec.parent) is None:
            return
        taskrun = self._cluster.taskruns.store.by_uid(parent.uid)
        if taskrun is None:
            outer = Key(key.namespace, parent.workflow)
            if outer in self._cluster.workflows:
                self._queue.add(outer)
        elif taskrun.metadata.namespace == key.namespace and taskrun.status.state in states:
            self._queue.add(owner_key(taskrun))

    def _recount(self, taskrun: TaskRun) -> None:
        if taskrun.spec.pool is not None:
            self._slots.recount(PoolKey(taskrun.metadata.namespace, taskrun.spec.pool))
