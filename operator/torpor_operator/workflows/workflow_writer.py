"""Executes the actions on a Workflow itself: its finalizers, its annotations, and its spec."""

from collections.abc import Mapping
from http import HTTPStatus

from torpor_crds.models.workflow import Workflow
from torpor_expressions.value import JSON
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import constants

from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.cluster_writer import preconditions
from torpor_operator.controller.workqueue import key_of
from torpor_operator.model.actions import (
    CopyTemplate,
    RemoveAnnotation,
    SetFinalizers,
)
from torpor_operator.model.child_run_actions import ChangeChildRun, CreateChildRun, MoveChildRun
from torpor_operator.taskrun import child_run


class WorkflowWriter:
    """Patches Workflows. The cache takes in each answer. Raises errors.ApiError."""

    def __init__(self, api: Api, cluster: ClusterCache) -> None:
        self._api = api
        self._cluster = cluster

    async def set_finalizers(self, workflow: Workflow, action: SetFinalizers) -> None:
        """Replace the finalizers, and add defaults and bodies, unless the Workflow has changed."""
        ops: list[Object] = [{"op": "add", "path": "/metadata/finalizers", "value": list(action.finalizers)}]
        if action.defaults is not None:
            ops.append({"op": "add", "path": "/spec/defaults", "value": dict(action.defaults)})
        ops += [{"op": "add", "path": path, "value": value} for path, value in action.additions.items()]
        try:
            ops = [*preconditions(workflow.metadata), *ops]
            stored = await self._api.patch(WORKFLOWS, *key_of(workflow.metadata), ops)
        except errors.NotFound:
            self._cluster.drop_workflow(workflow)  # the watch may be late, and show it as it was
            raise
        except errors.ApiError as error:
            if (action.defaults is not None or action.additions) and _is_rejection(error):
                self._cluster.copy_errors[workflow.metadata.uid] = error.message
            raise
        if action.finalizers or workflow.metadata.deletion_timestamp is None:
            self._cluster.store_workflow(stored)

    async def copy_template(self, workflow: Workflow, action: CopyTemplate) -> None:
        """Copy the template, or keep why the API server rejects the copy: the next plan fails the run with it."""
        values: Mapping[str, JSON] = {
            "/metadata/finalizers": [*action.finalizers],
            **{f"/spec/{name}": value for name, value in action.fields.items()},
        }
        ops: list[Object] = [{"op": "add", "path": path, "value": value} for path, value in values.items()]
        try:
            await self._patch(workflow, [*preconditions(workflow.metadata), *ops])
        except errors.ApiError as error:
            if _is_rejection(error):
                self._cluster.copy_errors[workflow.metadata.uid] = error.message
            raise

    async def create_child(self, action: CreateChildRun) -> None:
        """Create the run of a TaskRun, or read the one that an earlier request created."""
        namespace, name = action.taskrun.metadata.namespace, action.body["metadata"]["name"]
        try:
            stored = await self._api.create(WORKFLOWS, namespace, action.body)
        except errors.AlreadyExists:
            stored = await self._api.get(WORKFLOWS, namespace, name)
            if not child_run.is_same_run(stored, action.taskrun):
                self._cluster.store_workflow(stored)  # the next plan fails a task whose author chose the name
                message = f"a Workflow named {name} exists that is not the run of this task; delete it"
                raise errors.AlreadyExists(message) from None
        self._cluster.store_workflow(stored)

    async def change_child(self, action: ChangeChildRun) -> None:
        """Set fields of the spec of a child run, unless it has changed."""
        run = action.run
        ops: list[Object] = [
            {"op": "add", "path": f"/spec/{name}", "value": value} for name, value in action.fields.items()
        ]
        path = f"/metadata/annotations/{constants.SUSPENDED_BY_PARENT.replace('/', '~1')}"
        if action.by_parent:
            if not run.metadata.annotations:
                ops.append({"op": "add", "path": "/metadata/annotations", "value": {}})
            ops.append({"op": "add", "path": path, "value": "true"})
        elif action.by_parent is not None:
            ops.append({"op": "remove", "path": path})
        await self._patch(run, [*preconditions(run.metadata), *ops])

    async def move_child(self, action: MoveChildRun) -> None:
        """Set fields of `spec.parent` and the owners of a child run, unless it has changed."""
        ops: list[Object] = [
            {"op": "add", "path": f"/spec/parent/{name}", "value": value} for name, value in action.parent.items()
        ]
        ops.append({"op": "add", "path": "/metadata/ownerReferences", "value": [*action.owners]})
        await self._patch(action.run, [*preconditions(action.run.metadata), *ops])

    async def remove_annotation(self, workflow: Workflow, action: RemoveAnnotation) -> None:
        """Remove an annotation, unless its value has changed."""
        path = f"/metadata/annotations/{action.name.replace('/', '~1')}"
        ops: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": workflow.metadata.uid},
            {"op": "test", "path": path, "value": action.value},
            {"op": "remove", "path": path},
        ]
        await self._patch(workflow, ops)

    async def resume(self, workflow: Workflow) -> None:
        """Reset spec.stop and spec.cancel, unless the Workflow has changed."""
        resets: list[Object] = [{"op": "add", "path": f"/spec/{name}", "value": False} for name in ("stop", "cancel")]
        await self._patch(workflow, [*preconditions(workflow.metadata), *resets])

    async def _patch(self, workflow: Workflow, ops: list[Object]) -> None:
        self._cluster.store_workflow(await self._api.patch(WORKFLOWS, *key_of(workflow.metadata), ops))


def _is_rejection(error: errors.ApiError) -> bool:
    """Whether the same write fails again.

    A lost race, a missing role, an expired token and an unavailable API server are no rejections.
    """
    if type(error) is errors.ApiError or isinstance(error, errors.Refused):
        return True
    if not isinstance(error, errors.Forbidden) or error.status == HTTPStatus.UNAUTHORIZED:
        return False
    return not error.lacks_role
