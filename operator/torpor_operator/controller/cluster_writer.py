"""Sends the writes of all kinds while this replica leads, each when it is the turn of its namespace."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from torpor_crds.models.base import Metadata
from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import TASKRUNS, Resource
from torpor_wire import transitions
from torpor_wire.reason import Reason

from torpor_operator import object_reports
from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.workqueue import key_of
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.model.actions import Notice, PatchTaskRun

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


class NotLeadingError(errors.ApiUnavailable):
    """This replica does not lead, so it must not write."""

    def __init__(self) -> None:
        super().__init__("this replica is not the leader")


class ClusterWriter:
    """The only way to the API server for a write of a reconciler.

    `is_leader` is checked before each write: a process that was suspended may wake up as a former leader.
    `on_forbidden` takes a namespace in which a write was refused for lack of a role.
    """

    def __init__(
        self,
        api: Api,
        limits: WriteLimits,
        *,
        is_leader: Callable[[], bool],
        on_forbidden: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._api = api
        self._limits = limits
        self.is_leader = is_leader
        self.on_forbidden = on_forbidden
        self._running: set[asyncio.Task[Any]] = set()

    async def send(self, namespace: str, write: Callable[[], Coroutine[Any, Any, T]], *, urgent: bool = False) -> T:
        """Write when it is the turn of the namespace. Raises NotLeadingError and the errors of the write.

        The write is shielded from cancellation: the API server may carry out a request that was cut short, at any time.
        """
        async with self._limits.queue.place(namespace, urgent=urgent):
            if not self.is_leader():
                raise NotLeadingError
            task = asyncio.create_task(write())
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            return await asyncio.shield(task)

    async def write_status(
        self, resource: Resource, metadata: Metadata, status: Object, *, urgent: bool = False
    ) -> Object | None:
        """Store the status unless the object has changed. Returns the stored object, or None if it was not stored.

        Raises errors.NotFound if the object is gone.
        """
        ops = [*preconditions(metadata), {"op": "add", "path": "/status", "value": status}]
        try:
            return await self.send(
                metadata.namespace,
                lambda: self._api.patch(resource, *key_of(metadata), ops, subresource="status"),
                urgent=urgent,
            )
        except (errors.LostRace, NotLeadingError):
            return None

    async def post(self, resource: Resource, about: Metadata, notices: Iterable[Notice]) -> None:
        """Post Events about an object. One that cannot be posted is logged and lost."""
        await object_reports.post(self._limits.events, resource, about, notices)

    async def post_or_raise(self, resource: Resource, about: Metadata, notice: Notice) -> None:
        """Post one Event about an object. Raises errors.ApiError."""
        events = self._limits.events
        await events.post(object_reports.build(resource, about, notice, events.now()))

    async def report_orphan(self, taskrun: TaskRun, message: str) -> Object | None:
        """Report on a TaskRun that has no owner why Torpor ignores it. Returns the stored TaskRun.

        Errors of the API server are logged.
        """
        patch = transitions.explain(taskrun.pin(launch=True), reason=Reason.UNOWNED, message=message)
        key = key_of(taskrun.metadata)
        try:
            stored = await self.send(
                key.namespace, lambda: self._api.patch(TASKRUNS, *key, patch, subresource="status")
            )
        except NotLeadingError:
            return None
        except errors.ApiError as error:
            _LOG.warning("TaskRun %s/%s: %s", *key, error.message)
            return None
        await self.post(TASKRUNS, taskrun.metadata, [Notice(reason=Reason.UNOWNED, message=message, warning=True)])
        return stored

    async def drain(self) -> None:
        """Wait until no write is running, so that the next leader's lists contain all of them."""
        while self._running:
            await asyncio.wait(set(self._running))


class TaskRunWriter:
    """Patches the status of TaskRuns. The cache takes in each answer. Raises errors.ApiError."""

    def __init__(self, api: Api, cluster: ClusterCache) -> None:
        self._api = api
        self._cluster = cluster

    async def patch(self, action: PatchTaskRun) -> None:
        """Store a transition."""
        key = key_of(action.taskrun.metadata)
        stored = await self._api.patch(TASKRUNS, *key, action.patch, subresource="status")
        self._cluster.taskruns.store.absorb(stored)


def preconditions(metadata: Metadata) -> list[Object]:
    """The operations of a JSON Patch that fail if the object has changed."""
    return [
        {"op": "test", "path": "/metadata/uid", "value": metadata.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
    ]
