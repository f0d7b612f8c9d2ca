"""Writing task pods: creating each once, lifting gate and finalizer; and what it means where the server will not.

A pod whose creation was not answered is noted on the observer: no other of its TaskRun is made before it was looked
for. What a container is given is read from its TaskRun first, since the operator does not hold it (`cached_taskrun`).
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from torpor_api.client import errors
from torpor_api.client.api import Api, Object
from torpor_api.client.resources import PODS, TASKRUNS
from torpor_api.models.taskrun import parse
from torpor_api.timing import Clock
from torpor_wire import constants, retry, transitions
from torpor_wire.reason import Reason

from torpor_operator.controller.cache import Observer
from torpor_operator.model import pod
from torpor_operator.model.actions import CreatePod, LiftGate, PatchTaskRun, RemovePodFinalizer
from torpor_operator.model.pod import Pod
from torpor_operator.taskrun import pod_builder

_FOR_GOOD = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY})
"""Answers to a pod that its author can change and a repetition cannot; 400 is a quantity or a field of another type."""
_QUOTA = "exceeded quota"
_NO_ROLE = "cannot create resource"  # an API server that has just started has not read the roles
_SET_UP = "; manifests/namespace sets a namespace up for workflows"


class PodWriter:
    """`write` stores a transition of the pod's TaskRun; `node_grace` is how many seconds a lost pod has to end."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        observer: Observer,
        write: Callable[[PatchTaskRun], Awaitable[None]],
        *,
        node_grace: float,
    ) -> None:
        self._api = api
        self._clock = clock
        self._node_grace = node_grace
        self._observer = observer
        self._write = write

    async def create(self, action: CreatePod) -> None:
        """Create the pod, or find the one that was created before; one that never can be fails its TaskRun."""
        taskrun = action.taskrun
        namespace, name = taskrun.metadata.namespace, action.body["metadata"]["name"]
        body = await self._completed(action)
        try:
            stored = await self._api.create(PODS, namespace, body)
        except errors.Unavailable:
            self._observer.unclear[taskrun.metadata.uid] = name
            raise
        except errors.AlreadyExists:
            stored = await self._api.get(PODS, namespace, name)
            if pod.parse(stored).owner_uid != taskrun.metadata.uid:
                await self._taken(action, pod.parse(stored))
                return
        except errors.ApiError as error:
            if error.status not in _FOR_GOOD:
                raise
            await self._refused(action, error)
            return
        self._observer.unclear.pop(taskrun.metadata.uid, None)
        self._observer.pods.store.absorb(stored)

    async def _completed(self, action: CreatePod) -> Object:
        """The pod with its container's program and arguments. Raises errors.NotFound where the TaskRun is gone."""
        metadata = action.taskrun.metadata
        if action.taskrun.spec.container is None:
            return action.body
        found = await self._api.get(TASKRUNS, metadata.namespace, metadata.name)
        if found["metadata"]["uid"] != metadata.uid:
            raise errors.NotFound(f"TaskRun {metadata.name} is another one now")
        return pod_builder.completed(action.body, parse(found))

    async def _taken(self, action: CreatePod, other: Pod) -> None:
        """The name is another's; a former TaskRun of our name is gone, and takes its pod with it: a lost one, never."""
        if other.owner_name == action.taskrun.metadata.name:
            lost = pod.lost_with_its_node(other, self._clock.now() - self._node_grace)
            if lost is not None and action.taskrun.status.reason != Reason.NODE_LOST:
                await self._explain(action, Reason.NODE_LOST, lost)
            raise errors.Unavailable(f"pod {other.name} is of a former TaskRun of that name and has not gone yet")
        await self._launch_failed(action, f"a pod named {other.name} is there and is not ours; delete it")

    async def _refused(self, action: CreatePod, error: errors.ApiError) -> None:
        """A quota may have room later: that is said on the object and tried again. Little else mends itself."""
        if _NO_ROLE in error.message:
            raise error
        if _QUOTA in error.message:
            message = f"its pod waits for quota of the namespace: {error.message}"
            if action.taskrun.status.reason != Reason.QUOTA_EXCEEDED:  # what is used up changes with each try
                await self._explain(action, Reason.QUOTA_EXCEEDED, message)
            raise error
        hint = _SET_UP if "service account" in error.message else ""
        await self._launch_failed(action, f"its pod was refused: {error.message}{hint}")

    async def _explain(self, action: CreatePod, reason: Reason, message: str) -> None:
        patch = transitions.explain(action.taskrun.pin(launch=True), reason=reason, message=message)
        await self._write(PatchTaskRun(taskrun=action.taskrun, patch=patch))

    async def _launch_failed(self, action: CreatePod, message: str) -> None:
        """A pod that can never be made fails its TaskRun at once; a retry would meet the same."""
        pin, now = action.taskrun.pin(launch=True), self._clock.now()
        patch = transitions.fail(pin, retry.Policy(), reason=Reason.LAUNCH_FAILED, message=message, now=now)
        await self._write(PatchTaskRun(taskrun=action.taskrun, patch=patch))

    async def lift_gate(self, action: LiftGate) -> None:
        """Lift our gate and nobody else's: `test` pins the list that it is taken from."""
        seen = [{"name": gate} for gate in action.gates]
        kept = [{"name": gate} for gate in action.gates if gate != constants.POD_GATE]
        await self._patch_pod(action, "/spec/schedulingGates", seen, kept)

    async def let_go(self, action: RemovePodFinalizer) -> None:
        """Lift our finalizer and nobody else's, likewise."""
        kept = [name for name in action.finalizers if name != constants.POD_FINALIZER]
        await self._patch_pod(action, "/metadata/finalizers", list(action.finalizers), kept)

    async def _patch_pod(self, action: LiftGate | RemovePodFinalizer, path: str, seen: object, kept: object) -> None:
        ops: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": action.uid},
            {"op": "test", "path": path, "value": seen},
            {"op": "replace", "path": path, "value": kept},
        ]
        stored = await self._api.patch(PODS, action.namespace, action.name, ops)
        if "deletionTimestamp" not in stored["metadata"]:
            self._observer.pods.store.absorb(stored)
