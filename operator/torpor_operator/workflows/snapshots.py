"""Gathers what a pass of a Workflow reads."""

import functools
from collections.abc import Callable, Mapping

from torpor_crds.models.archive_endpoint import ArchiveEndpoint
from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.timing import Clock

from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import Need
from torpor_operator.model.snapshot import Answer, Snapshot, TriggerPool
from torpor_operator.settings import Settings
from torpor_operator.taskrun.step import TaskRunView
from torpor_operator.workflows.archive_uploads import ArchiveUploads
from torpor_operator.workflows.slot_pools import SlotAllocator


class WorkflowSnapshots:
    """Gathers the snapshot of a Workflow from memory. The callables are called for each snapshot."""

    def __init__(  # noqa: PLR0913 - what a snapshot reads
        self,
        cluster: ClusterCache,
        settings: Settings,
        clock: Clock,
        *,
        slots: SlotAllocator,
        uploads: ArchiveUploads,
        triggerer_pool: Callable[[str], TriggerPool],
        archive_endpoint: Callable[[], ArchiveEndpoint | None],
        why_not_ready: Callable[[str], str],
        image_volumes: Callable[[], bool],
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._clock = clock
        self._slots = slots
        self._uploads = uploads
        self._triggerer_pool = triggerer_pool
        self._archive_endpoint = archive_endpoint
        self._why_not_ready = why_not_ready
        self._image_volumes = image_volumes

    def gather(self, key: Key, known: Mapping[Need, Answer]) -> Snapshot | None:
        """The Workflow and its objects, or None if there is no such Workflow."""
        cluster, workflow = self._cluster, self._cluster.workflows.get(key)
        if workflow is None:
            return None
        uid = workflow.metadata.uid
        taskruns = cluster.taskruns_of(key, uid)
        taskrun_uids = {taskrun.metadata.uid for taskrun in taskruns}
        return Snapshot(
            workflow=workflow,
            taskruns={taskrun.metadata.name: taskrun for taskrun in taskruns},
            pods={taskrun.metadata.uid: cluster.pods_of(taskrun) for taskrun in taskruns},
            unconfirmed_pods={owner: name for owner, name in cluster.unconfirmed_pods.items() if owner in taskrun_uids},
            created=cluster.seen.instances(uid, workflow.status.clears),
            uncreated=cluster.creation_errors.get(uid, ""),
            uncopied=cluster.copy_errors.get(uid, ""),
            # Each TaskRun asks for its pool, each task for the slots of its pool: compute both once.
            pools=functools.cache(self._triggerer_pool),
            slots=functools.cache(functools.partial(self._slots.free, key)),
            holds=self._slots.holds,
            archive=self._archive_endpoint(),
            archival=self._uploads.outcome(workflow),
            image_volumes=self._image_volumes(),
            not_ready=self._why_not_ready(key.namespace),
            known=known,
            settings=self._settings,
            now=self._clock.now(),
        )

    def view(self, taskrun: TaskRun) -> TaskRunView:
        """One TaskRun and its pods."""
        return TaskRunView(
            taskrun=taskrun,
            pods=self._cluster.pods_of(taskrun),
            unconfirmed_pod=self._cluster.unconfirmed_pods.get(taskrun.metadata.uid),
            pool=self._triggerer_pool(taskrun.spec.trigger_pool),
            known={},
            settings=self._settings,
            now=self._clock.now(),
        )
