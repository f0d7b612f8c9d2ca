"""Handles objects that no plan sees: pods that our finalizer keeps, and TaskRuns without a Workflow.

Deleting a TaskRun deletes its pods. The pod of a container task would stay forever, waiting until its outcome is
stored. The same holds if the Workflow alone is gone, by `kubectl delete --cascade=orphan`. The cache may be behind, so
reads confirm what is gone.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Never

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS, Resource
from torpor_wire import constants, instance_paths
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.cluster_writer import ClusterWriter
from torpor_operator.model import task_groups
from torpor_operator.model.pod import Pod
from torpor_operator.taskrun import containers
from torpor_operator.workflows.pod_writer import PodWriter

_LOG = logging.getLogger(__name__)
_PAUSE = 1.0


class OrphanedPods:
    """Removes our finalizer from pods whose TaskRun or Workflow is gone."""

    def __init__(self, api: Api, writer: ClusterWriter, pods: PodWriter) -> None:
        self._api = api
        self._writer = writer
        self._pod_writer = pods
        self._clock = api.clock
        self._pods: dict[str, Pod] = {}
        self._added = asyncio.Event()

    def add(self, pod: Pod) -> None:
        """Add a pod that our finalizer keeps, that is being deleted, and that no Workflow in the cache plans."""
        self._pods[pod.uid] = pod
        self._added.set()

    async def run(self) -> Never:
        """Release each added pod whose owners are gone, while this replica leads. Retries after an error."""
        while True:
            await self._added.wait()
            self._added.clear()
            for pod in list(self._pods.values()):
                await self._release(pod)
            if self._pods:
                await self._clock.sleep(_PAUSE)
                self._added.set()

    async def _release(self, pod: Pod) -> None:
        try:
            if await self._is_orphaned(pod):
                action = containers.remove_finalizer(pod)
                await self._writer.send(pod.namespace, lambda: self._pod_writer.remove_finalizer(action), urgent=True)
        except (errors.LostRace, errors.NotFound):
            _LOG.debug("pod %s/%s has changed", pod.namespace, pod.name)
        except errors.ApiError as error:
            _LOG.warning("pod %s/%s: %s", pod.namespace, pod.name, error.message)
            return
        self._pods.pop(pod.uid, None)

    async def _is_orphaned(self, pod: Pod) -> bool:
        """Whether the TaskRun of the pod is gone, or the Workflow of that TaskRun."""
        # The creator of a pod chooses its labels, finalizers and owners, even an owner's name that is invalid.
        stored = await self._stored(TASKRUNS, pod.namespace, pod.owner_name, pod.owner_uid)
        if stored is None or "workflow" not in stored["spec"]:
            return True
        owner = stored["spec"]["workflow"]
        return await self._stored(WORKFLOWS, pod.namespace, owner["name"], owner["uid"]) is None

    async def _stored(self, resource: Resource, namespace: str, name: str, uid: str) -> Object | None:
        """The object of that name and uid, or None."""
        try:
            stored = await self._api.get(resource, namespace, name)
        except (errors.NotFound, ValueError):
            return None
        return stored if stored["metadata"]["uid"] == uid else None


class OrphanedTaskRuns:
    """The TaskRuns that belong to no Workflow."""

    def __init__(self, cluster: ClusterCache) -> None:
        self._cluster = cluster

    def find(self) -> Iterator[TaskRun]:
        """The orphans that have not ended and are not reported."""
        covered: set[str] = set()
        for workflow in self._cluster.workflows.values():
            depths = _depths(workflow)
            own = self._cluster.taskruns.store.indexed(workflow.metadata.uid)
            covered.update(
                run.metadata.uid
                for run in own
                if run.spec.notification is not None or depths.get(run.spec.task) == len(run.spec.group_path)
            )
        for run in self._cluster.taskruns.store.values():
            if run.metadata.uid not in covered and run.spec.schedule is None and _is_open(run):
                yield run

    def message(self, run: TaskRun) -> str:
        """Why Torpor ignores a TaskRun."""
        owner, task = run.spec.owner, run.spec.task
        workflow = self._cluster.owner_of(run)
        if workflow is None:
            problem = f"Workflow {owner.name} does not exist in this namespace"
        elif workflow.metadata.uid != owner.uid:
            problem = f"Workflow {owner.name} has another uid: {workflow.metadata.uid}"
        elif all(declared.name != task for declared in workflow.spec.tasks):
            problem = f"Workflow {owner.name} has no task {task}"
        elif (depth := _depths(workflow)[task]) != len(run.spec.group_path):
            problem = (
                f"task {task} of Workflow {owner.name} requires {depth} group indexes; "
                f"this TaskRun has {len(run.spec.group_path)}"
            )
        else:
            instance = instance_paths.written(run.spec.path) or str(constants.UNMAPPED)
            problem = f"the TaskRun of {task}/{instance} of Workflow {owner.name} has another name"
        return f"{problem}. Torpor ignores this TaskRun; delete it"


def _depths(workflow: Workflow) -> Mapping[str, int]:
    """The number of groups around each task. Without valid groups a Workflow runs nothing: 0."""
    try:
        return {task: len(chain) for task, chain in task_groups.chains(workflow.spec).items()}
    except task_groups.GroupingError:
        return dict.fromkeys((task.name for task in workflow.spec.tasks), 0)


def _is_open(run: TaskRun) -> bool:
    ended = run.status.state in TERMINAL or run.metadata.deletion_timestamp is not None
    return not ended and run.status.reason != Reason.UNOWNED
