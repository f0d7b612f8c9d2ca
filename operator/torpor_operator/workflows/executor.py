"""Executes the actions of a plan. Each action is one write, and another writer may have been faster.

AlreadyExists on a create and NotFound on a delete are success. After a conflict the watch brings the winner's version.
What the API server refuses is reported on the object; what fails otherwise is left to a later pass.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from torpor_crds.models.workflow import Workflow, WorkflowStatus
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_wire.reason import Reason

from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.cluster_writer import ClusterWriter, NotLeadingError, TaskRunWriter
from torpor_operator.controller.workqueue import key_of
from torpor_operator.model.actions import (
    Action,
    ArchiveRun,
    CopyTemplate,
    CreatePod,
    CreateTaskRun,
    DeletePod,
    DeleteTaskRun,
    DeleteWorkflow,
    Notice,
    PatchTaskRun,
    PostEvent,
    RemoveAnnotation,
    RemovePodFinalizer,
    RemoveSchedulingGate,
    ResumeRun,
    SetFinalizers,
)
from torpor_operator.model.child_run_actions import ChangeChildRun, CreateChildRun, MoveChildRun
from torpor_operator.model.workflow_plan import is_urgent, requires_role
from torpor_operator.settings import Settings
from torpor_operator.workflows.pod_writer import PodWriter
from torpor_operator.workflows.workflow_writer import WorkflowWriter

_LOG = logging.getLogger(__name__)


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


class WorkflowExecutor:
    """Executes actions, a bounded number at a time over all Workflows."""

    def __init__(
        self,
        api: Api,
        cluster: ClusterCache,
        writer: ClusterWriter,
        settings: Settings,
        *,
        archive_run: Callable[[Workflow], None],
    ) -> None:
        self._api = api
        self._cluster = cluster
        self._writer = writer
        self._settings = settings
        self._archive_run = archive_run
        self._taskruns = TaskRunWriter(api, cluster)
        self._workflows = WorkflowWriter(api, cluster)
        self.pods = PodWriter(api, cluster, writer, node_grace=settings.node_grace)

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
        ends = wanted.completion_time is not None
        try:
            stored = await self._writer.write_status(WORKFLOWS, workflow.metadata, wanted.to_json(), urgent=ends)
        except errors.NotFound:
            self._cluster.drop_workflow(workflow)
            return True
        if stored is None:
            return False
        self._cluster.store_workflow(stored)
        return True

    async def _apply_remaining(self, batch: _Batch) -> None:
        for action in batch.remaining:
            if not batch.skips(action) and not await self._try_apply(batch.workflow, action):
                batch.add_failure(action)

    async def _try_apply(self, workflow: Workflow, action: Action) -> bool:
        namespace = workflow.metadata.namespace
        try:
            await self._writer.send(namespace, partial(self._apply, workflow, action), urgent=is_urgent(action))
        except (errors.LostRace, errors.Conflict, errors.NotFound):
            return True
        except NotLeadingError:
            return False
        except errors.ApiError as error:
            _LOG.warning("%s/%s: %s: %s", *key_of(workflow.metadata), type(action).__name__, error.message)
            if _lacks_role(action, error):
                self._writer.on_forbidden(namespace)
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
                await self.pods.create(action)
            case DeletePod():
                await self._api.delete(PODS, action.namespace, action.name, uid=action.uid)
            case RemoveSchedulingGate():
                await self.pods.remove_scheduling_gate(action)
            case RemovePodFinalizer():
                await self.pods.remove_finalizer(action)
            case PatchTaskRun():
                await self._patch_taskrun(action)
            case ResumeRun():
                await self._workflows.resume(workflow)
            case SetFinalizers():
                for name in action.deleted_claims:
                    await self.pods.claims.delete(workflow, name)
                await self._workflows.set_finalizers(workflow, action)
            case CopyTemplate():
                await self._workflows.copy_template(workflow, action)
            case CreateChildRun():
                await self._create_child_run(workflow, action)
            case ChangeChildRun():
                await self._workflows.change_child(action)
            case MoveChildRun():
                await self._workflows.move_child(action)
            case DeleteWorkflow():
                await self._api.delete(WORKFLOWS, *key_of(workflow.metadata), uid=workflow.metadata.uid)
            case ArchiveRun():
                self._archive_run(workflow)
            case PostEvent():
                await self._post(workflow, action)
            case _:
                assert_never(action)

    async def _patch_taskrun(self, action: PatchTaskRun) -> None:
        await self._taskruns.patch(action)
        for ended in action.ended_pods:
            if not self._writer.is_leader():  # again, since the patch may have taken long
                raise NotLeadingError
            with suppress(errors.LostRace, errors.Conflict, errors.NotFound):
                await self._api.delete(PODS, ended.namespace, ended.name, uid=ended.uid)

    async def _create_taskrun(self, workflow: Workflow, action: CreateTaskRun) -> None:
        try:
            stored = await self._create_or_get(workflow, action.body)
        except (errors.Refused, errors.Forbidden, errors.AlreadyExists) as error:
            await self._report_creation(workflow, action, error)
            raise
        self._cluster.creation_errors.pop(workflow.metadata.uid, None)
        self.pods.created.keep(stored)
        self._cluster.taskruns.store.absorb(stored)

    async def _create_child_run(self, workflow: Workflow, action: CreateChildRun) -> None:
        try:
            await self._workflows.create_child(action)
        except (errors.Refused, errors.Forbidden, errors.AlreadyExists) as error:
            await self._report_creation(workflow, action, error)
            raise
        self._cluster.creation_errors.pop(workflow.metadata.uid, None)

    async def _report_creation(
        self, workflow: Workflow, action: CreateTaskRun | CreateChildRun, error: errors.ApiError
    ) -> None:
        """Report an object that cannot be created until somebody acts. A missing role is reported elsewhere."""
        if _lacks_role(action, error):
            return
        event = _creation_failed(workflow, action.body, error)
        # Without the used amount of a quota: it differs at each try, and each difference would be a status write.
        message = event.message.partition(", requested: ")[0]
        self._cluster.creation_errors[workflow.metadata.uid] = Notice(reason=event.reason, message=message)
        await self._post(workflow, event)

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

    async def _post(self, workflow: Workflow, action: PostEvent) -> None:
        resource, about = (TASKRUNS, action.regarding.metadata) if action.regarding else (WORKFLOWS, workflow.metadata)
        notice = Notice(reason=action.reason, message=action.message, warning=action.warning)
        await self._writer.post_or_raise(resource, about, notice)


def _lacks_role(action: Action, error: errors.ApiError) -> bool:
    """Whether the operator has no role in the namespace."""
    return isinstance(error, errors.Forbidden) and error.lacks_role and requires_role(action)


def _creation_failed(workflow: Workflow, body: Object, error: errors.ApiError) -> PostEvent:
    """The Event for an object that cannot be created until somebody acts. Later passes retry with backoff."""
    reason, name = Reason.QUOTA_EXCEEDED if error.exceeds_quota else Reason.LAUNCH_FAILED, body["metadata"]["name"]
    return PostEvent(
        regarding=None,
        reason=reason,
        message=f"{body['kind']} {name} cannot be created: {error.message}",
        warning=True,
        key=f"{workflow.metadata.uid}/{name}/{reason}",
    )
