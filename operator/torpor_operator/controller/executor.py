"""Carrying out a plan: every action is one write, any of them may find that another was faster.

AlreadyExists on a create and NotFound on a delete are success, a lost race is nobody's fault: the watch brings what
won. What the server refuses is said on the object; what it cannot do now is tried again by a later plan.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, assert_never

from torpor_api.client import errors, events
from torpor_api.client.api import Api, Object
from torpor_api.client.resources import PODS, TASKRUNS, WORKFLOWS, Resource
from torpor_api.models.base import Metadata
from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import Workflow, WorkflowStatus
from torpor_api.timing import Clock
from torpor_wire import constants, transitions
from torpor_wire.reason import Reason

from torpor_operator.controller.cache import Observer
from torpor_operator.controller.pod_executor import PodWriter
from torpor_operator.model.actions import (
    Action,
    CreatePod,
    CreateTaskRun,
    DeletePod,
    DeleteTaskRun,
    DeleteWorkflow,
    LiftGate,
    PatchTaskRun,
    PostEvent,
    RemoveAnnotation,
    RemovePodFinalizer,
    Resume,
    SetFinalizers,
)
from torpor_operator.plan import namespace_readiness, status
from torpor_operator.settings import Settings

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_CONTROLLER = f"{constants.GROUP}/operator"


@dataclass(slots=True, kw_only=True)
class _Batch:
    """The actions of one plan, taken by several hands."""

    workflow: Workflow
    waiting: Iterator[Action]
    done: bool = True
    stopped: set[str] = field(default_factory=set)

    def begins(self, action: Action) -> bool:
        """Whether to begin with it: where one TaskRun of a task could not be created, the next plan tries again."""
        return not (isinstance(action, CreateTaskRun) and action.body["spec"]["task"] in self.stopped)

    def fails(self, action: Action) -> None:
        """It was not done."""
        self.done = False
        if isinstance(action, CreateTaskRun):
            self.stopped.add(action.body["spec"]["task"])


class Applier:
    """Applies actions for one Workflow at a time, a bounded number at once over all of them.

    `leads` is asked before each: a process that was stopped in the middle wakes with the next write in its hand.
    `suspect` is told of a namespace in which a write was refused for want of a role.
    """

    def __init__(  # noqa: PLR0913 - what it writes with, and whom it asks and tells
        self,
        api: Api,
        clock: Clock,
        observer: Observer,
        settings: Settings,
        *,
        leads: Callable[[], bool] = lambda: True,
        suspect: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._leads = leads
        self._suspect = suspect
        self._settings = settings
        self._api = api
        self._clock = clock
        self._observer = observer
        self._pods = PodWriter(api, clock, observer, self._patch_taskrun, node_grace=settings.node_grace)
        self._room = asyncio.Semaphore(settings.apply_concurrency)
        self._under_way: set[asyncio.Task[Any]] = set()

    async def apply(self, workflow: Workflow, actions: Sequence[Action]) -> bool:
        """Apply them all, begun in their order; whether each was done or found done.

        What was not is logged and left to the next plan. One Workflow never takes all the room: another's writes are
        begun beside its own, and the pods of a large one do not pile up before the scheduler.
        """
        batch = _Batch(workflow=workflow, waiting=iter(actions))
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(actions), self._settings.workflow_concurrency)):
                group.create_task(self._work_off(batch))
        return batch.done

    async def write_status(self, workflow: Workflow, wanted: WorkflowStatus) -> bool:
        """Store the Workflow's status unless it has changed since; whether it was stored."""
        if not self._leads():
            return False
        metadata = workflow.metadata
        ops = [*_pinned(workflow), {"op": "add", "path": "/status", "value": wanted.to_json()}]
        try:
            stored = await self._to_its_end(
                self._api.patch(WORKFLOWS, metadata.namespace, metadata.name, ops, subresource="status")
            )
        except errors.NotFound:
            self._observer.lost_workflow(workflow)
            return True
        except errors.LostRace:
            return False
        self._observer.saw_workflow(stored)
        return True

    async def let_go(self, action: RemovePodFinalizer) -> None:
        """Lift our finalizer from a pod."""
        if not self._leads():
            raise errors.Unavailable("another leads")
        await self._to_its_end(self._pods.let_go(action))

    async def tell(self, run: TaskRun, reason: Reason, message: str) -> None:
        """Say on a TaskRun of no Workflow why nothing is done for it; one that changes meanwhile is none of ours."""
        patch = PatchTaskRun(
            taskrun=run, patch=transitions.explain(run.pin(launch=True), reason=reason, message=message)
        )
        said = self._event(TASKRUNS, run.metadata, reason, message, warning=True)
        try:
            if self._leads():
                await self._to_its_end(self._patch_taskrun(patch))
                await events.post(self._api, said)
        except errors.ApiError as error:
            _LOG.warning("TaskRun %s/%s: %s", run.metadata.namespace, run.metadata.name, error.message)

    async def settled(self) -> None:
        """Return once no write is under way: what another leader is to know of must be there before it looks."""
        while self._under_way:
            await asyncio.wait(set(self._under_way))

    async def _to_its_end(self, write: Coroutine[Any, Any, T]) -> T:
        """Cancelling who asked for it cuts no write short: the API server may carry it out all the same, some time."""
        task = asyncio.create_task(write)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)

    async def _work_off(self, batch: "_Batch") -> None:
        for action in batch.waiting:
            if batch.begins(action) and not await self._guarded(batch.workflow, action):
                batch.fails(action)

    async def _guarded(self, workflow: Workflow, action: Action) -> bool:
        try:
            async with self._room:
                if not self._leads():
                    return False
                await self._to_its_end(self._apply(workflow, action))
        except (errors.LostRace, errors.Conflict, errors.NotFound):
            return True
        except errors.ApiError as error:
            _LOG.warning("%s/%s: %s: %s", *_of(workflow), type(action).__name__, error.message)
            if isinstance(error, errors.Forbidden) and namespace_readiness.refused(action, error.message):
                self._suspect(workflow.metadata.namespace)
            return False
        return True

    async def _apply(self, workflow: Workflow, action: Action) -> None:  # noqa: C901, PLR0912 - a case an action
        match action:
            case CreateTaskRun():
                await self._create_taskrun(workflow, action)
            case DeleteTaskRun():
                await self._api.delete(
                    TASKRUNS, action.namespace, action.name, uid=action.uid, propagation="Foreground"
                )
            case RemoveAnnotation():
                await self._remove_annotation(workflow, action)
            case CreatePod():
                await self._pods.create(action)
            case DeletePod():
                await self._api.delete(PODS, action.namespace, action.name, uid=action.uid)
            case LiftGate():
                await self._pods.lift_gate(action)
            case RemovePodFinalizer():
                await self.let_go(action)
            case PatchTaskRun():
                await self._patch_taskrun(action)
            case Resume():
                await self._resume(workflow)
            case SetFinalizers():
                await self._set_finalizers(workflow, action)
            case DeleteWorkflow():
                await self._api.delete(WORKFLOWS, *_of(workflow), uid=workflow.metadata.uid)
            case PostEvent():
                await self._post(workflow, action)
            case _:
                assert_never(action)

    async def _create_taskrun(self, workflow: Workflow, action: CreateTaskRun) -> None:
        try:
            stored = await self._taskrun(workflow, action.body)
        except (errors.Refused, errors.Forbidden, errors.AlreadyExists) as error:
            if namespace_readiness.refused(action, error.message):
                raise
            told = _not_created(workflow, action.body["metadata"]["name"], error)
            # Without what is used up: that changes with each try, and each change would be a write.
            self._observer.uncreated[workflow.metadata.uid] = told.message.partition(", requested: ")[0]
            await self._post(workflow, told)
            raise
        self._observer.uncreated.pop(workflow.metadata.uid, None)
        self._observer.taskruns.store.absorb(stored)

    async def _taskrun(self, workflow: Workflow, body: Object) -> Object:
        """Create it, or find the one that was created before."""
        namespace, name = workflow.metadata.namespace, body["metadata"]["name"]
        try:
            return await self._api.create(TASKRUNS, namespace, body)
        except errors.AlreadyExists:
            stored = await self._api.get(TASKRUNS, namespace, name)
            if stored["spec"]["workflow"]["uid"] != workflow.metadata.uid:
                raise errors.AlreadyExists("one of that name belongs to another Workflow; delete it") from None
            if stored["spec"].get("clears", 0) != body["spec"].get("clears", 0):
                raise errors.Conflict("the one that it is made in place of has not gone yet") from None
            return stored

    async def _patch_taskrun(self, action: PatchTaskRun) -> None:
        metadata = action.taskrun.metadata
        stored = await self._api.patch(TASKRUNS, metadata.namespace, metadata.name, action.patch, subresource="status")
        self._observer.taskruns.store.absorb(stored)

    async def _set_finalizers(self, workflow: Workflow, action: SetFinalizers) -> None:
        wanted = {"op": "add", "path": "/metadata/finalizers", "value": list(action.finalizers)}
        stored = await self._api.patch(WORKFLOWS, *_of(workflow), [*_pinned(workflow), wanted])
        if action.finalizers or workflow.metadata.deletion_timestamp is None:
            self._observer.saw_workflow(stored)

    async def _remove_annotation(self, workflow: Workflow, action: RemoveAnnotation) -> None:
        path = f"/metadata/annotations/{action.name.replace('/', '~1')}"
        ops: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": workflow.metadata.uid},
            {"op": "test", "path": path, "value": action.value},
            {"op": "remove", "path": path},
        ]
        self._observer.saw_workflow(await self._api.patch(WORKFLOWS, *_of(workflow), ops))

    async def _resume(self, workflow: Workflow) -> None:
        taken_back = [{"op": "add", "path": f"/spec/{name}", "value": False} for name in ("stop", "cancel")]
        stored = await self._api.patch(WORKFLOWS, *_of(workflow), [*_pinned(workflow), *taken_back])
        self._observer.saw_workflow(stored)

    async def _post(self, workflow: Workflow, action: PostEvent) -> None:
        about = action.regarding
        kind, metadata = (TASKRUNS, about.metadata) if about else (WORKFLOWS, workflow.metadata)
        body = self._event(kind, metadata, action.reason, action.message, warning=action.warning)
        await events.post(self._api, body)

    def _event(self, kind: Resource, about: Metadata, reason: str, message: str, *, warning: bool) -> Object:
        return events.build(
            events.reference(kind, namespace=about.namespace, name=about.name, uid=about.uid),
            reason=reason,
            message=message,
            type="Warning" if warning else "Normal",
            reporting_controller=_CONTROLLER,
            now=self._clock.now(),
        )


def _not_created(workflow: Workflow, name: str, error: errors.ApiError) -> PostEvent:
    """What a person must act on before the run can go on; it is tried again, with growing delays."""
    reason = status.why_not_created(error.message)
    return PostEvent(
        regarding=None,
        reason=reason,
        message=f"TaskRun {name} cannot be created: {error.message}",
        warning=True,
        key=f"{workflow.metadata.uid}/{name}/{reason}",
    )


def _pinned(workflow: Workflow) -> list[Object]:
    metadata = workflow.metadata
    return [
        {"op": "test", "path": "/metadata/uid", "value": metadata.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
    ]


def _of(workflow: Workflow) -> tuple[str, str]:
    return workflow.metadata.namespace, workflow.metadata.name
