"""Reads and patches the objects of an act with the caller's credentials."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from torpor_client.changes import approvals, operations
from torpor_client.changes.operations import Operations
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Object
from torpor_kubernetes.client.resources import CLUSTER_TEMPLATES, TASKRUNS, TEMPLATES, WORKFLOWS, Resource
from torpor_views.instance import InstanceView
from torpor_views.model import RunView
from torpor_wire import constants, names
from torpor_wire.enums import TemplateKind

from torpor_ui import errors
from torpor_ui.cluster.bounded_lists import DEFERRED, PAGE, read_each
from torpor_ui.cluster.caller import Caller
from torpor_ui.presentation.keys import InstanceKey, RunKey

_TRIES = 5
_INSTANCES_MAX = 50_000


async def change(caller: Caller, resource: Resource, item: Object, patch: Callable[[Object], Operations]) -> Object:
    """Patch an object, or after a lost race its new version. Raises ApiError; LostRace after five races."""
    metadata = item["metadata"]
    for left in reversed(range(_TRIES)):
        try:
            return await caller.api.patch(
                resource, metadata["namespace"], metadata["name"], [operations.same_object(item), *patch(item)]
            )
        except (api_errors.LostRace, api_errors.Conflict):
            item = await caller.api.get(resource, metadata["namespace"], metadata["name"])
            if not left or item["metadata"]["uid"] != metadata["uid"]:
                raise
    raise AssertionError("the last try returns or raises")


async def live_workflow(caller: Caller, key: RunKey) -> Object:
    """Return the Workflow of a run to change. Raises ProblemError for one that only the archive has."""
    if key.source != "live":
        raise errors.cannot("this run is in the archive only and cannot change; resubmit creates a new run from it")
    try:
        return await caller.api.get(WORKFLOWS, key.namespace, key.name)
    except api_errors.NotFound as error:
        raise errors.not_found(f"there is no run {key.name} in namespace {key.namespace}") from error


async def any_workflow(caller: Caller, key: RunKey) -> Object:
    """Return the Workflow of a run, live or archived. Raises ProblemError."""
    if key.source == "live":
        return await live_workflow(caller, key)
    async with aclosing(caller.archive.run(key.namespace, key.name)) as objects:
        async for item in objects:
            if item.get("kind") == "Workflow":
                return item
    raise errors.not_found(f"the archive has no run {key.name} in namespace {key.namespace}")


async def run_of(caller: Caller, workflow: Mapping[str, Any]) -> RunView:
    """Return a live run with its TaskRuns. Memory holds what the views need of them, and one page."""
    metadata = workflow["metadata"]
    selector = f"{constants.LABEL_WORKFLOW}={names.label(metadata['name'])}"
    views: list[InstanceView] = []
    async with aclosing(
        caller.api.pages(TASKRUNS, metadata["namespace"], label_selector=selector, limit=PAGE)
    ) as pages:
        async for page in pages:
            views += await asyncio.to_thread(lambda items: list(map(InstanceView.parse, items)), page.items)
            if len(views) > _INSTANCES_MAX:
                raise errors.too_large(f"the run has more than {_INSTANCES_MAX} TaskRuns", "Use the command torpor.")
    return await asyncio.to_thread(_with_instances, workflow, views)


def _with_instances(workflow: Mapping[str, Any], views: Sequence[InstanceView]) -> RunView:
    return RunView.parse(workflow, now=time.time()).with_instances(views)


async def asking_taskruns(caller: Caller, key: RunKey, tasks: Sequence[InstanceKey]) -> Mapping[InstanceKey, Object]:
    """Return the TaskRuns of these instances that wait for an answer. Needs no right to read Workflows.

    Each task is listed once, also for many of its instances, and a thread looks for them.
    """
    wanted, found = frozenset(tasks), dict[InstanceKey, Object]()

    def take(items: Sequence[Object]) -> None:
        for item in filter(approvals.asks, items):
            view = InstanceView.parse(item)
            if (instance := InstanceKey(view.task, view.path)) in wanted:
                found[instance] = item

    for task in dict.fromkeys(instance.task for instance in tasks):
        selector = f"{constants.LABEL_WORKFLOW}={names.label(key.name)},{constants.LABEL_TASK}={names.label(task)}"
        if not await read_each(
            caller.api, TASKRUNS, [key.namespace], take, field_selector=DEFERRED, label_selector=selector
        ):
            raise errors.unavailable(f"not all instances of task {task} could be read")
    return found


async def template(caller: Caller, namespace: str, name: str, *, kind: str | None = None) -> Object:
    """Return a template of the namespace or of the cluster. Raises ProblemError."""
    of_cluster = kind == TemplateKind.CLUSTER
    try:
        return await caller.api.get(CLUSTER_TEMPLATES if of_cluster else TEMPLATES, namespace, name)
    except api_errors.NotFound as error:
        raise errors.not_found(f"there is no template {name} in namespace {namespace}") from error
