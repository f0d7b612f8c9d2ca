"""Executes the actions of a Schedule's plan. Each action is one write, and another writer may have been faster."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, assert_never

from torpor_crds.models.base import Metadata
from torpor_crds.models.schedule import Schedule
from torpor_crds.models.schedule_status import ScheduleStatus
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_kubernetes.client.write_limits import WriteLimits
from torpor_wire import constants, transitions
from torpor_wire.reason import Reason

from torpor_operator.controller.writes import Writes, post_events
from torpor_operator.model.actions import Notice, PatchTaskRun, RemoveAnnotation, SetFinalizers
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
from torpor_operator.workflows.cache import ClusterCache
from torpor_operator.workflows.plan import status

_LOG = logging.getLogger(__name__)
_ORIGIN = ("uid", "source", "attempt", "segment")
"""Fields of spec.runOf by which the run of an event is found again. A Backfill may have created the run of a tick."""

_STARTS = (CreateSource, PatchTaskRun, CreateRun)
"""Actions that lead to further ones. The others end something or go on with it, so they come first."""
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
    """Executes actions. `is_leader` is checked before each write: a suspended process may wake up as a former leader.

    `on_forbidden` takes a namespace in which a write was refused for lack of a role.
    """

    def __init__(  # noqa: PLR0913 - clients and callbacks
        self,
        api: Api,
        cluster: ClusterCache,
        cache: ScheduleCache,
        limits: WriteLimits,
        *,
        is_leader: Callable[[], bool] = lambda: True,
        on_forbidden: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._api = api
        self._cluster = cluster
        self._cache = cache
        self._is_leader = is_leader
        self._on_forbidden = on_forbidden
        self._writes = Writes()
        self._limits = limits

    async def apply(self, schedule: Schedule, actions: Sequence[Action]) -> Applied:
        """Execute all actions, when it is the turn of the namespace. Failures are logged."""
        applied = Applied()
        async with asyncio.TaskGroup() as group:
            for action in actions:
                group.create_task(self._try(schedule, action, applied))
        return applied

    async def write_status(self, schedule: Schedule, wanted: ScheduleStatus) -> bool:
        """Store the status unless the Schedule has changed. Returns whether it was stored."""
        ops = [*_preconditions(schedule.metadata), {"op": "add", "path": "/status", "value": wanted.to_json()}]
        try:
            async with self._limits.queue.place(schedule.metadata.namespace):
                if not self._is_leader():
                    return False
                stored = await self._writes.finish(
                    self._api.patch(SCHEDULES, *_key(schedule.metadata), ops, subresource="status")
                )
        except (errors.NotFound, errors.LostRace):
            return False
        self._cache.absorb(stored)
        return True

    async def post(self, schedule: Schedule, notices: Iterable[Notice]) -> None:
        """Post Events. One that cannot be posted is logged and lost."""
        await post_events(self._limits.events, SCHEDULES, schedule.metadata, notices)

    async def report_orphan(self, run: TaskRun, message: str) -> None:
        """Report on a TaskRun of no Schedule why Torpor ignores it. Errors of the API server are logged."""
        patch = transitions.explain(run.pin(launch=True), reason=Reason.UNOWNED, message=message)
        key = _key(run.metadata)
        try:
            async with self._limits.queue.place(run.metadata.namespace):
                if not self._is_leader():
                    return
                stored = await self._writes.finish(self._api.patch(TASKRUNS, *key, patch, subresource="status"))
        except errors.ApiError as error:
            _LOG.warning("TaskRun %s/%s: %s", *key, error.message)
            return
        self._cluster.taskruns.store.absorb(stored)
        notice = Notice(reason=Reason.UNOWNED, message=message, warning=True)
        await post_events(self._limits.events, TASKRUNS, run.metadata, [notice])

    async def drain(self) -> None:
        """Wait until no write is running, so that the next leader's lists contain all of them."""
        await self._writes.drain()

    async def _try(self, schedule: Schedule, action: Action, applied: Applied) -> None:
        try:
            async with self._limits.queue.place(schedule.metadata.namespace, urgent=not isinstance(action, _STARTS)):
                if not self._is_leader():
                    applied.complete = applied.storable = False
                    return
                await self._writes.finish(self._apply(schedule, action))
        except errors.ApiError as error:
            applied.complete = False
            applied.storable &= isinstance(action, _INDEPENDENT)
            if not isinstance(error, errors.LostRace | errors.NotFound | errors.Conflict):
                await self._note_failure(schedule, action, error, applied)

    async def _note_failure(self, schedule: Schedule, action: Action, error: errors.ApiError, applied: Applied) -> None:
        """Remember a rejected run, and post an Event about an action that is retried."""
        _LOG.warning("%s/%s: %s: %s", *_key(schedule.metadata), type(action).__name__, error.message)
        exceeds_quota = status.exceeds_quota(error.message)
        if isinstance(error, errors.ApiUnavailable) or error.status == HTTPStatus.UNAUTHORIZED:
            return
        if isinstance(error, errors.Forbidden) and error.lacks_role:
            self._on_forbidden(schedule.metadata.namespace)
        elif isinstance(action, CreateRun) and not exceeds_quota:
            applied.refused[action.body["metadata"]["name"]] = error.message
        else:
            # Without the used amount of a quota: it differs at each try.
            message = error.message.partition(", requested: ")[0]
            reason = Reason.QUOTA_EXCEEDED if exceeds_quota else Reason.SOURCE_FAILED
            await self.post(schedule, [Notice(reason=reason, message=message, warning=True)])

    async def _apply(self, schedule: Schedule, action: Action) -> None:  # noqa: C901 - a case an action
        match action:
            case CreateSource():
                await self._create_source(schedule, action.body)
            case DeleteSource():
                await self._delete_source(action.taskrun.metadata)
            case PatchTaskRun():
                stored = await self._api.patch(
                    TASKRUNS, *_key(action.taskrun.metadata), action.patch, subresource="status"
                )
                self._cluster.taskruns.store.absorb(stored)
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
                await self._api.delete(WORKFLOWS, *_key(action.run.metadata), uid=action.run.metadata.uid)
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
        await self._api.delete(TASKRUNS, *_key(about), uid=about.uid, resource_version=about.resource_version)
        pinned = {"namespace": about.namespace, "name": about.name, "resourceVersion": about.resource_version}
        self._cluster.taskruns.store.delete({"metadata": pinned})

    async def _create_run(self, schedule: Schedule, body: Object) -> None:
        namespace, name = schedule.metadata.namespace, body["metadata"]["name"]
        try:
            stored = await self._api.create(WORKFLOWS, namespace, body)
        except errors.AlreadyExists:
            stored = await self._api.get(WORKFLOWS, namespace, name)
            if _origin(stored) != _origin(body):
                raise errors.AlreadyExists(
                    f"a Workflow named {name} exists that is not the run of this event"
                ) from None
        self._cluster.store_workflow(stored)

    async def _patch_run(self, run: Workflow, *ops: Object) -> None:
        patch = [*_preconditions(run.metadata), *ops]
        try:
            stored = await self._api.patch(WORKFLOWS, *_key(run.metadata), patch)
        except errors.NotFound:
            self._cluster.drop_workflow(run)  # kopf does not report what vanished during a relist
            raise
        self._cluster.store_workflow(stored)

    async def _patch(self, schedule: Schedule, *ops: Object, at_version: bool = True) -> None:
        pinned = _preconditions(schedule.metadata)
        patch = [*(pinned if at_version else pinned[:1]), *ops]
        self._cache.absorb(await self._api.patch(SCHEDULES, *_key(schedule.metadata), patch))


def _origin(workflow: Object) -> list[Any]:
    run_of = workflow["spec"].get("runOf") or {}
    return [run_of.get(name) for name in _ORIGIN]


def _preconditions(metadata: Metadata) -> list[Object]:
    return [
        {"op": "test", "path": "/metadata/uid", "value": metadata.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
    ]


def _key(metadata: Metadata) -> tuple[str, str]:
    return metadata.namespace, metadata.name
