"""Writes task pods: creates each once, lifts its scheduling gate, removes its finalizer, and handles refusals.

After a creation without an answer, the cache notes the pod: no other pod of its TaskRun is created before a read. The
cache drops the program, event and state of a container (`cached_taskrun`), so the TaskRun is read before its pod is
created, unless this process has just created the TaskRun itself.
"""

import secrets
from collections.abc import Sequence
from http import HTTPStatus

from torpor_crds.models.taskrun import TaskRun, parse
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import PODS, TASKRUNS
from torpor_wire import constants, retry, transitions
from torpor_wire.reason import Reason

from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.cluster_writer import ClusterWriter, NotLeadingError, TaskRunWriter
from torpor_operator.model import pod
from torpor_operator.model.actions import CreatePod, PatchTaskRun, RemovePodFinalizer, RemoveSchedulingGate
from torpor_operator.model.pod import Pod
from torpor_operator.taskrun import pod_builder
from torpor_operator.workflows.claim_writer import ClaimWriter, ForeignClaimError
from torpor_operator.workflows.created_taskruns import CreatedTaskRuns

_PERMANENT = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY})
"""Errors that the author can fix and a retry cannot. 400 is an invalid quantity or a field of another type."""
_NO_ROLE = "cannot create resource"  # a new API server refuses everything until it has read the roles
_NO_MANAGED_FIELDS: Object = {"op": "add", "path": "/metadata/managedFields", "value": [{}]}
"""Ends the record of who set which field of the pod: later writes, also of kubelets, cost less (ADR 0088)."""
_SET_UP = "; manifests/namespace sets up a namespace for workflows"


class PodWriter:
    """`node_grace`: seconds that a deleted pod may take to terminate."""

    def __init__(self, api: Api, cluster: ClusterCache, writer: ClusterWriter, *, node_grace: float) -> None:
        self._api = api
        self._clock = api.clock
        self._cluster = cluster
        self._writer = writer
        self._taskruns = TaskRunWriter(api, cluster)
        self._node_grace = node_grace
        self.claims = ClaimWriter(api)
        self.created = CreatedTaskRuns()

    async def create(self, action: CreatePod) -> None:
        """Create the pod, or read the one that an earlier request created. A permanent error fails its TaskRun."""
        taskrun = action.taskrun
        namespace, name = taskrun.metadata.namespace, action.body["metadata"]["name"]
        body = await self._add_program(action)
        if not await self._create_claims(action):
            return
        if not self._writer.is_leader():  # again, since the read may have taken long
            raise NotLeadingError
        try:
            stored = await self._api.create(PODS, namespace, body)
        except errors.ApiUnavailable:
            self._cluster.unconfirmed_pods[taskrun.metadata.uid] = name
            raise
        except errors.AlreadyExists:
            stored = await self._api.get(PODS, namespace, name)
            if pod.parse_pod(stored).owner_uid != taskrun.metadata.uid:
                await self._name_is_taken(action, pod.parse_pod(stored))
                return
        except errors.ApiError as error:
            if error.status not in _PERMANENT:
                raise
            await self._refused(action, error)
            return
        self._cluster.unconfirmed_pods.pop(taskrun.metadata.uid, None)
        self._cluster.pods.store.absorb(stored)

    async def _create_claims(self, action: CreatePod) -> bool:
        """Create the volumes of the run that the pod mounts. False if one is refused, which fails the TaskRun."""
        for claim in action.claims:
            try:
                await self.claims.create(claim)
            except ForeignClaimError as error:
                await self._launch_failed(action, str(error))
                return False
            except errors.ApiError as error:
                if error.status not in _PERMANENT:
                    raise
                await self._refused(action, error, "a volume of the run")
                return False
        return True

    async def _add_program(self, action: CreatePod) -> Object:
        """The pod with its container's program, arguments, event and state.

        Raises errors.NotFound if the TaskRun is gone, and errors.Conflict if it is at another segment.
        """
        if action.taskrun.spec.container is None:
            return action.body
        taskrun = self.created.take(action.taskrun.metadata.uid)
        if taskrun is None or not _is_pod_of(taskrun, action):
            taskrun = await self._read(action)
        return pod_builder.completed(action.body, taskrun, self._clock.now(), secrets.token_hex(16))

    async def _read(self, action: CreatePod) -> TaskRun:
        metadata = action.taskrun.metadata
        stored = await self._api.get(TASKRUNS, metadata.namespace, metadata.name)
        if stored["metadata"]["uid"] != metadata.uid:
            raise errors.NotFound(f"TaskRun {metadata.name} was replaced by another of that name")
        taskrun = parse(stored)
        if not _is_pod_of(taskrun, action):  # its event and state would be those of another segment
            raise errors.Conflict(f"TaskRun {metadata.name} is at another segment than its pod")
        return taskrun

    async def _name_is_taken(self, action: CreatePod, other: Pod) -> None:
        """Wait for the pod of a deleted TaskRun of the same name, unless its node is lost. Else fail the launch."""
        if other.owner_name == action.taskrun.metadata.name:
            node_lost = pod.node_lost_message(other, self._clock.now() - self._node_grace)
            if node_lost is not None and action.taskrun.status.reason != Reason.NODE_LOST:
                await self._explain(action, Reason.NODE_LOST, node_lost)
            raise errors.ApiUnavailable(f"pod {other.name} of a deleted TaskRun of the same name still exists")
        await self._launch_failed(action, f"a pod named {other.name} exists and does not belong to Torpor; delete it")

    async def _refused(self, action: CreatePod, error: errors.ApiError, what: str = "the pod") -> None:
        """Report an exceeded quota and retry; any other refusal fails the launch."""
        if _NO_ROLE in error.message:
            raise error
        if error.exceeds_quota:
            message = f"{what} waits for quota of the namespace: {error.message}"
            if action.taskrun.status.reason != Reason.QUOTA_EXCEEDED:  # the used amount differs at each try
                await self._explain(action, Reason.QUOTA_EXCEEDED, message)
            raise error
        hint = _SET_UP if "service account" in error.message else ""
        await self._launch_failed(action, f"{what} was refused: {error.message}{hint}")

    async def _explain(self, action: CreatePod, reason: Reason, message: str) -> None:
        patch = transitions.explain(action.taskrun.pin(launch=True), reason=reason, message=message)
        await self._taskruns.patch(PatchTaskRun(taskrun=action.taskrun, patch=patch))

    async def _launch_failed(self, action: CreatePod, message: str) -> None:
        """Fail the TaskRun without a retry, which would fail in the same way."""
        pin, now = action.taskrun.pin(launch=True), self._clock.now()
        patch = transitions.fail(pin, retry.Policy(), reason=Reason.LAUNCH_FAILED, message=message, now=now)
        await self._taskruns.patch(PatchTaskRun(taskrun=action.taskrun, patch=patch))

    async def remove_scheduling_gate(self, action: RemoveSchedulingGate) -> None:
        """Remove our scheduling gate. A `test` operation keeps the gates of others."""
        seen = [{"name": gate} for gate in action.gates]
        kept = [{"name": gate} for gate in action.gates if gate != constants.POD_GATE]
        further = [_NO_MANAGED_FIELDS, *_outcome_max(action)]
        await self._patch_pod(action, "/spec/schedulingGates", seen, kept, further)

    async def remove_finalizer(self, action: RemovePodFinalizer) -> None:
        """Remove our finalizer, and likewise keep those of others."""
        kept = [name for name in action.finalizers if name != constants.POD_FINALIZER]
        await self._patch_pod(action, "/metadata/finalizers", list(action.finalizers), kept)

    async def _patch_pod(
        self,
        action: RemoveSchedulingGate | RemovePodFinalizer,
        path: str,
        seen: object,
        kept: object,
        further: Sequence[Object] = (),
    ) -> None:
        ops: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": action.uid},
            {"op": "test", "path": path, "value": seen},
            {"op": "replace", "path": path, "value": kept},
            *further,
        ]
        stored = await self._api.patch(PODS, action.namespace, action.name, ops)
        if "deletionTimestamp" not in stored["metadata"]:
            self._cluster.pods.store.absorb(stored)


def _is_pod_of(taskrun: TaskRun, action: CreatePod) -> bool:
    """Whether the pod is that of the present segment of the TaskRun."""
    return pod.pod_name(taskrun) == str(action.body["metadata"]["name"])


def _outcome_max(action: RemoveSchedulingGate) -> list[Object]:
    """The annotation with the share of the outcome. Such a pod has annotations: its nonce."""
    if action.outcome_max is None:
        return []
    path = f"/metadata/annotations/{constants.OUTCOME_MAX.replace('/', '~1')}"
    return [{"op": "add", "path": path, "value": str(action.outcome_max)}]
