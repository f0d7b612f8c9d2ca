"""Executes the actions of a Schedule's plan. Each action is one write, and another writer may have been faster."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import assert_never

from torpor_crds.models.base import Metadata
from torpor_crds.models.schedule import Schedule
from torpor_crds.models.schedule_status import ScheduleStatus
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_wire import constants
from torpor_wire.reason import Reason

from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.cluster_writer import ClusterWriter, NotLeadingError, TaskRunWriter, preconditions
from torpor_operator.controller.workqueue import key_of
from torpor_operator.model.actions import Notice, PatchTaskRun, RemoveAnnotation, SetFinalizers
from torpor_operator.scheduled_runs import run_builder
from torpor_operator.schedules.cache import ScheduleCache
from torpor_operator.schedules.plan.actions import (
    Action,
    CancelRun,
    CreateRun,
    CreateSource,
    DeleteRun,
    DeleteSource,
    StartQueued,
    Suspend,
)

_LOG = logging.getLogger(__name__)
_STARTS = (CreateSource, PatchTaskRun)
"""Actions that lead to further events. The others end something or go on with it, so they come first.

So does the run of an event, which a user waits for. The arming of sources limits how many there are (ADR 0053).
"""
_INDEPENDENT = (CreateSource, PatchTaskRun, DeleteRun)
"""Actions on which no status depends: one that always fails must not keep the other sources from going on."""


@dataclass(slots=True, kw_only=True)
class Applied:
    """The outcome of the actions. `refused`: by name of the run, why the API server rejects it.

    `storable` is false if the status depends on an action that failed: it must not be stored.
    """

    complete: bool = True
    storable: bool = True
    refused: dict[str, str] = field(default_factory=dict)


class ScheduleExecutor:
    """Executes actions."""

    def __init__(self, api: Api, cluster: ClusterCache, cache: ScheduleCache, writer: ClusterWriter) -> None:
        self._api = api
        self._cluster = cluster
        self._cache = cache
        self._writer = writer
        self._taskruns = TaskRunWriter(api, cluster)

    async def apply(self, schedule: Schedule, actions: Sequence[Action]) -> Applied:
        """Execute all actions, when it is the turn of the namespace. Failures are logged."""
        applied = Applied()
        async with asyncio.TaskGroup() as group:
            for action in actions:
                group.create_task(self._try(schedule, action, applied))
        return applied

    async def write_status(self, schedule: Schedule, wanted: ScheduleStatus) -> bool:
        """Store the status unless the Schedule has changed. Returns whether it was stored."""
        try:
            stored = await self._writer.write_status(SCHEDULES, schedule.metadata, wanted.to_json())
        except errors.NotFound:
            return False
        if stored is not None:
            self._cache.objects.absorb(stored)
        return stored is not None

    async def post(self, schedule: Schedule, notices: Iterable[Notice]) -> None:
        """Post Events. One that cannot be posted is logged and lost."""
        await self._writer.post(SCHEDULES, schedule.metadata, notices)

    async def _try(self, schedule: Schedule, action: Action, applied: Applied) -> None:
        namespace, urgent = schedule.metadata.namespace, not isinstance(action, _STARTS)
        try:
            await self._writer.send(namespace, partial(self._apply, schedule, action), urgent=urgent)
        except NotLeadingError:
            applied.complete = applied.storable = False
        except errors.ApiError as error:
            applied.complete = False
            applied.storable &= isinstance(action, _INDEPENDENT)
            if not isinstance(error, errors.LostRace | errors.NotFound | errors.Conflict):
                await self._note_failure(schedule, action, error, applied)

    async def _note_failure(self, schedule: Schedule, action: Action, error: errors.ApiError, applied: Applied) -> None:
        """Remember a rejected run, and post an Event about an action that is retried."""
        _LOG.warning("%s/%s: %s: %s", *key_of(schedule.metadata), type(action).__name__, error.message)
        if isinstance(error, errors.ApiUnavailable) or error.status == HTTPStatus.UNAUTHORIZED:
            return
        if isinstance(error, errors.Forbidden) and error.lacks_role:
            self._writer.on_forbidden(schedule.metadata.namespace)
        elif isinstance(action, CreateRun) and not error.exceeds_quota:
            applied.refused[action.body["metadata"]["name"]] = error.message
        else:
            # Without the used amount of a quota: it differs at each try.
            message = error.message.partition(", requested: ")[0]
            reason = Reason.QUOTA_EXCEEDED if error.exceeds_quota else Reason.SOURCE_FAILED
            await self.post(schedule, [Notice(reason=reason, message=message, warning=True)])

    async def _apply(self, schedule: Schedule, action: Action) -> None:  # noqa: C901 - a case an action
        match action:
            case CreateSource():
                await self._create_source(schedule, action.body)
            case DeleteSource():
                await self._delete_source(action.taskrun.metadata)
            case PatchTaskRun():
                await self._taskruns.patch(action)
            case CreateRun():
                await self._create_run(schedule, action.body)
            case StartQueued():
                label = constants.LABEL_QUEUED.replace("/", "~1")
                await self._patch_run(
                    action.run,
                    {"op": "add", "path": "/spec/suspend", "value": False},
                    {"op": "remove", "path": f"/metadata/labels/{label}"},
                )
            case CancelRun():
                await self._patch_run(action.run, {"op": "add", "path": "/spec/cancel", "value": True})
            case DeleteRun():
                await self._api.delete(WORKFLOWS, *key_of(action.run.metadata), uid=action.run.metadata.uid)
            case Suspend():
                await self._patch(schedule, {"op": "add", "path": "/spec/suspend", "value": True})
            case SetFinalizers():
                value = list(action.finalizers)
                await self._patch(schedule, {"op": "add", "path": "/metadata/finalizers", "value": value})
            case RemoveAnnotation():
                path = f"/metadata/annotations/{action.name.replace('/', '~1')}"
                value_test = {"op": "test", "path": path, "value": action.value}
                await self._patch(schedule, value_test, {"op": "remove", "path": path}, at_version=False)
            case _:
                assert_never(action)

    async def _create_source(self, schedule: Schedule, body: Object) -> None:
        namespace, name = schedule.metadata.namespace, body["metadata"]["name"]
        try:
            stored = await self._api.create(TASKRUNS, namespace, body)
        except errors.AlreadyExists:
            stored = await self._api.get(TASKRUNS, namespace, name)
        self._cluster.taskruns.store.absorb(stored)
        if (unreadable := self._cluster.taskruns.store.unreadable(namespace, name)) is not None:
            raise errors.ApiError(f"TaskRun {name} cannot be read: {unreadable.message}")

    async def _delete_source(self, about: Metadata) -> None:
        """Delete the version that the cache has, and remove it from the cache: the watch may be late."""
        await self._api.delete(TASKRUNS, *key_of(about), uid=about.uid, resource_version=about.resource_version)
        pinned = {"namespace": about.namespace, "name": about.name, "resourceVersion": about.resource_version}
        self._cluster.taskruns.store.delete({"metadata": pinned})

    async def _create_run(self, schedule: Schedule, body: Object) -> None:
        namespace, name = schedule.metadata.namespace, body["metadata"]["name"]
        try:
            stored = await self._api.create(WORKFLOWS, namespace, body)
        except errors.AlreadyExists:
            stored = await self._api.get(WORKFLOWS, namespace, name)
            if not run_builder.is_same_run(stored, body, run_builder.EVENT_FIELDS):
                raise errors.AlreadyExists(
                    f"a Workflow named {name} exists that is not the run of this event"
                ) from None
        self._cluster.store_workflow(stored)

    async def _patch_run(self, run: Workflow, *ops: Object) -> None:
        patch = [*preconditions(run.metadata), *ops]
        try:
            stored = await self._api.patch(WORKFLOWS, *key_of(run.metadata), patch)
        except errors.NotFound:
            self._cluster.drop_workflow(run)  # kopf does not report what vanished during a relist
            raise
        self._cluster.store_workflow(stored)

    async def _patch(self, schedule: Schedule, *ops: Object, at_version: bool = True) -> None:
        pinned = preconditions(schedule.metadata)
        patch = [*(pinned if at_version else pinned[:1]), *ops]
        self._cache.objects.absorb(await self._api.patch(SCHEDULES, *key_of(schedule.metadata), patch))
