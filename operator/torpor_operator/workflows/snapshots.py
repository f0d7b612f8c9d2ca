"""Gathers what a pass of a Workflow reads."""

import functools
from collections.abc import Mapping

from torpor_crds.models.taskrun import TaskRun

from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import Need
from torpor_operator.model.snapshot import Answer, Snapshot
from torpor_operator.taskrun.step import TaskRunView
from torpor_operator.workflows.archive_uploads import ArchiveUploads
from torpor_operator.workflows.slot_pools import SlotAllocator


class WorkflowSnapshots:
    """Gathers the snapshot of a Workflow from memory."""

    def __init__(self, context: ControllerContext, slots: SlotAllocator, uploads: ArchiveUploads) -> None:
        self._context = context
        self._slots = slots
        self._uploads = uploads

    def gather(self, key: Key, known: Mapping[Need, Answer]) -> Snapshot | None:
        """The Workflow and its objects, or None if there is no such Workflow."""
        context, cluster = self._context, self._context.cluster
        workflow = cluster.workflows.get(key)
        if workflow is None:
            return None
        uid = workflow.metadata.uid
        owned = cluster.taskruns_of(key, uid)
        taskruns = [taskrun for taskrun in owned if taskrun.spec.notification is None]
        taskrun_uids = {taskrun.metadata.uid for taskrun in taskruns}
        return Snapshot(
            workflow=workflow,
            taskruns={taskrun.metadata.name: taskrun for taskrun in taskruns},
            notifications={each.metadata.name: each for each in owned if each.spec.notification is not None},
            pods={taskrun.metadata.uid: cluster.pods_of(taskrun) for taskrun in taskruns},
            unconfirmed_pods={owner: name for owner, name in cluster.unconfirmed_pods.items() if owner in taskrun_uids},
            created=cluster.seen.instances(uid, workflow.status.clears),
            children=cluster.child_runs(taskruns),
            released=cluster.runs.by_taskrun(uid),
            find_run=lambda name: cluster.workflows.get(Key(key.namespace, name)),
            runs_of_root=cluster.runs.count_in_root(workflow),
            awaited=cluster.is_awaited(workflow),
            uncreated=cluster.creation_errors.get(uid),
            uncopied=cluster.copy_errors.get(uid, ""),
            # Each TaskRun asks for its pool, each task for the slots of its pool: compute both once.
            pools=functools.cache(context.triggerer_pools.get),
            slots=functools.cache(functools.partial(self._slots.free, key)),
            holds=self._slots.holds,
            archive=context.archive.endpoint(),
            archival=self._uploads.outcome(workflow),
            image_volumes=context.image_volumes.supported(),
            not_ready=context.namespaces.why_not_ready(key.namespace),
            known=known,
            settings=context.settings,
            now=context.api.clock.now(),
        )

    def view(self, taskrun: TaskRun) -> TaskRunView:
        """One TaskRun and its pods."""
        context = self._context
        return TaskRunView(
            taskrun=taskrun,
            pods=context.cluster.pods_of(taskrun),
            unconfirmed_pod=context.cluster.unconfirmed_pods.get(taskrun.metadata.uid),
            pool=context.triggerer_pools.get(taskrun.spec.trigger_pool),
            known={},
            settings=context.settings,
            now=context.api.clock.now(),
            children=context.cluster.child_runs([taskrun]).get(taskrun.metadata.uid, ()),
        )
