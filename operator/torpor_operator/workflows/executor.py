"""Executes the actions of a plan. Each action is one write, and another writer may have been faster.

AlreadyExists on a create and NotFound on a delete are success. After a conflict the watch brings the winner's version.
What the API server refuses is reported on the object; what fails otherwise is left to a later pass.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, assert_never

from torpor_crds.models.base import Metadata
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow, WorkflowStatus
from torpor_kubernetes.client import errors, events
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS, Resource
from torpor_kubernetes.client.write_limits import WriteLimits
from torpor_kubernetes.timing import Clock
from torpor_wire import constants, transitions
from torpor_wire.reason import Reason

from torpor_operator.model.actions import (
    Action,
    ArchiveRun,
    CopyTemplate,
    CreatePod,
    CreateTaskRun,
    DeletePod,
    DeleteTaskRun,
    DeleteWorkflow,
    PatchTaskRun,
    PostEvent,
    RemoveAnnotation,
    RemovePodFinalizer,
    RemoveSchedulingGate,
    ResumeRun,
    SetFinalizers,
    is_urgent,
)
from torpor_operator.settings import Settings
from torpor_operator.workflows.cache import ClusterCache
from torpor_operator.workflows.plan import namespace_readiness, status
from torpor_operator.workflows.pod_writes import PodExecutor
from torpor_operator.workflows.workflow_writes import WorkflowExecutor, key_of, preconditions

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_CONTROLLER = f"{constants.GROUP}/operator"


@dataclass(slots=True, kw_only=True)
class _Batch:
    """The actions of one plan, which several tasks take from the same iterator."""

    workflow: Workflow
    remaining: Iterator[Action]
    failed: list[Action] = field(default_factory=list)
    failed_tasks: set[str] = field(default_factory=set)

    def skips(self, action: Action) -> bool:
        """Whether to skip it: after one TaskRun of a task could not be created, the next pass tries the others."""
        return isinstance(action, CreateTaskRun) and action.body["spec"]["task"] in self.failed_tasks

    def add_failure(self, action: Action) -> None:
        """Note that an action failed."""
        self.failed.append(action)
        if isinstance(action, CreateTaskRun):
            self.failed_tasks.add(action.body["spec"]["task"])


class Executor:
    """Executes actions, a bounded number at a time over all Workflows.

    `is_leader` is checked before each write: a process that was suspended may wake up as a former leader.
    `on_forbidden` takes a namespace in which a write was refused for lack of a role.
    """

    def __init__(  # noqa: PLR0913 - clients and callbacks
        self,
        api: Api,
        clock: Clock,
        cache: ClusterCache,
        settings: Settings,
        limits: WriteLimits,
        *,
        is_leader: Callable[[], bool] = lambda: True,
        on_forbidden: Callable[[str], None] = lambda _: None,
        archive_run: Callable[[Workflow], None] = lambda _: None,
    ) -> None:
        self._is_leader = is_leader
        self._on_forbidden = on_forbidden
        self._archive_run = archive_run
        self._settings = settings
        self._api, self._clock, self._cache = api, clock, cache
        grace = settings.node_grace
        self._pods = PodExecutor(api, clock, cache, self._patch_taskrun, node_grace=grace, is_leader=is_leader)
        self._workflows = WorkflowExecutor(api, cache)
        self._limits = limits
        self._running: set[asyncio.Task[Any]] = set()

    async def apply(self, workflow: Workflow, actions: Sequence[Action]) -> Sequence[Action]:
        """Execute all actions, started in their order. Returns those that failed: the others are done, now or before.

        Failures are logged. The writes of one Workflow never take the whole concurrency: those of others start beside
        them, and the pods of a large Workflow do not pile up before the scheduler.
        """
        batch = _Batch(workflow=workflow, remaining=iter(actions))
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(actions), self._settings.workflow_concurrency)):
                group.create_task(self._apply_remaining(batch))
        return batch.failed

    async def write_status(self, workflow: Workflow, wanted: WorkflowStatus) -> bool:
        """Store the status of the Workflow unless the Workflow has changed. Returns whether it was stored."""
        ops = [*preconditions(workflow), {"op": "add", "path": "/status", "value": wanted.to_json()}]
        try:
            async with self._limits.queue.place(workflow.metadata.namespace, urgent=wanted.completion_time is not None):
                if not self._is_leader():
                    return False
                stored = await self._finish(self._api.patch(WORKFLOWS, *key_of(workflow), ops, subresource="status"))
        except errors.NotFound:
            self._cache.drop_workflow(workflow)
            return True
        except errors.LostRace:
            return False
        self._cache.store_workflow(stored)
        return True

    async def remove_finalizer(self, action: RemovePodFinalizer) -> None:
        """Remove our finalizer from a pod."""
        async with self._limits.queue.place(action.namespace, urgent=True):
            if not self._is_leader():
                raise errors.ApiUnavailable("this replica is not the leader")
            await self._finish(self._pods.remove_finalizer(action))

    async def report_orphan(self, run: TaskRun, reason: Reason, message: str) -> None:
        """Report on an orphaned TaskRun why Torpor ignores it. Errors of the API server are logged."""
        patch = PatchTaskRun(
            taskrun=run, patch=transitions.explain(run.pin(launch=True), reason=reason, message=message)
        )
        event = self._event(TASKRUNS, run.metadata, reason, message, warning=True)
        try:
            async with self._limits.queue.place(run.metadata.namespace):
                if self._is_leader():
                    await self._finish(self._patch_taskrun(patch))
                    await self._limits.events.post(event)
        except errors.ApiError as error:
            _LOG.warning("TaskRun %s/%s: %s", run.metadata.namespace, run.metadata.name, error.message)

    async def drain(self) -> None:
        """Wait until no write is running, so that the next leader's lists contain all of them."""
        while self._running:
            await asyncio.wait(set(self._running))

    async def _finish(self, write: Coroutine[Any, Any, T]) -> T:
        """Shield a write from cancellation: the API server may carry out a request that was cut short, at any time."""
        task = asyncio.create_task(write)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _apply_remaining(self, batch: _Batch) -> None:
        for action in batch.remaining:
            if not batch.skips(action) and not await self._try_apply(batch.workflow, action):
                batch.add_failure(action)

    async def _try_apply(self, workflow: Workflow, action: Action) -> bool:
        try:
            async with self._limits.queue.place(workflow.metadata.namespace, urgent=is_urgent(action)):
                if not self._is_leader():
                    return False
                await self._finish(self._apply(workflow, action))
        except (errors.LostRace, errors.Conflict, errors.NotFound):
            return True
        except errors.ApiError as error:
            _LOG.warning("%s/%s: %s: %s", *key_of(workflow), type(action).__name__, error.message)
            if _lacks_role(action, error):
                self._on_forbidden(workflow.metadata.namespace)
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
                await self._workflows.remove_annotation(workflow, action)
            case CreatePod():
                await self._pods.create(action)
            case DeletePod():
                await self._api.delete(PODS, action.namespace, action.name, uid=action.uid)
            case RemoveSchedulingGate():
                await self._pods.remove_scheduling_gate(action)
            case RemovePodFinalizer():
                await self.remove_finalizer(action)
            case PatchTaskRun():
                await self._patch_taskrun(action)
            case ResumeRun():
                await self._workflows.resume(workflow)
            case SetFinalizers():
                await self._workflows.set_finalizers(workflow, action)
            case CopyTemplate():
                await self._workflows.copy_template(workflow, action)
            case DeleteWorkflow():
                await self._api.delete(WORKFLOWS, *key_of(workflow), uid=workflow.metadata.uid)
            case ArchiveRun():
                self._archive_run(workflow)
            case PostEvent():
                await self._post(workflow, action)
            case _:
                assert_never(action)

    async def _create_taskrun(self, workflow: Workflow, action: CreateTaskRun) -> None:
        try:
            stored = await self._create_or_get(workflow, action.body)
        except (errors.Refused, errors.Forbidden, errors.AlreadyExists) as error:
            if _lacks_role(action, error):
                raise
            event = _creation_failed(workflow, action.body["metadata"]["name"], error)
            # Without the used amount of a quota: it differs at each try, and each difference would be a status write.
            self._cache.creation_errors[workflow.metadata.uid] = event.message.partition(", requested: ")[0]
            await self._post(workflow, event)
            raise
        self._cache.creation_errors.pop(workflow.metadata.uid, None)
        self._cache.taskruns.store.absorb(stored)

    async def _create_or_get(self, workflow: Workflow, body: Object) -> Object:
        """Create a TaskRun, or read the one that an earlier request created."""
        namespace, name = workflow.metadata.namespace, body["metadata"]["name"]
        try:
            return await self._api.create(TASKRUNS, namespace, body)
        except errors.AlreadyExists:
            stored = await self._api.get(TASKRUNS, namespace, name)
            if stored["spec"]["workflow"]["uid"] != workflow.metadata.uid:
                raise errors.AlreadyExists("a TaskRun of that name belongs to another Workflow; delete it") from None
            if stored["spec"].get("clears", 0) != body["spec"].get("clears", 0):
                raise errors.Conflict("the cleared TaskRun of that name still exists") from None
            return stored

    async def _patch_taskrun(self, action: PatchTaskRun) -> None:
        key = action.taskrun.metadata.namespace, action.taskrun.metadata.name
        stored = await self._api.patch(TASKRUNS, *key, action.patch, subresource="status")
        self._cache.taskruns.store.absorb(stored)

    async def _post(self, workflow: Workflow, action: PostEvent) -> None:
        about = (TASKRUNS, action.regarding.metadata) if action.regarding else (WORKFLOWS, workflow.metadata)
        await self._limits.events.post(self._event(*about, action.reason, action.message, warning=action.warning))

    def _event(self, kind: Resource, about: Metadata, reason: str, message: str, *, warning: bool) -> Object:
        return events.build(
            events.reference(kind, namespace=about.namespace, name=about.name, uid=about.uid),
            reason=reason,
            message=message,
            type="Warning" if warning else "Normal",
            reporting_controller=_CONTROLLER,
            now=self._clock.now(),
        )


def _lacks_role(action: Action, error: errors.ApiError) -> bool:
    """Whether the operator has no role in the namespace."""
    return isinstance(error, errors.Forbidden) and error.lacks_role and namespace_readiness.requires_role(action)


def _creation_failed(workflow: Workflow, name: str, error: errors.ApiError) -> PostEvent:
    """The Event for a TaskRun that cannot be created until somebody acts. Later passes retry with backoff."""
    reason = status.create_error_reason(error.message)
    return PostEvent(
        regarding=None,
        reason=reason,
        message=f"TaskRun {name} cannot be created: {error.message}",
        warning=True,
        key=f"{workflow.metadata.uid}/{name}/{reason}",
    )
