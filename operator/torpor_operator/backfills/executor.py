"""What a pass of a Backfill reads from and writes to the API server. Another writer may have been faster."""

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from torpor_crds.models import workflow as workflows
from torpor_crds.models.backfill import Backfill, BackfillStatus
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import BACKFILLS, TEMPLATES, WORKFLOWS
from torpor_kubernetes.client.write_limits import WriteLimits
from torpor_wire.reason import Reason

from torpor_operator.backfills.archived_runs import FindArchived
from torpor_operator.backfills.cache import BackfillCache
from torpor_operator.backfills.plan.snapshot import KnownRun, TemporaryObstacle
from torpor_operator.controller.writes import Writes, post_events
from torpor_operator.model.actions import Notice
from torpor_operator.workflows.plan import status

_ORIGIN = ("uid", "source", "at")
"""Fields of spec.runOf that identify the tick of a run."""


class BackfillExecutor:
    """Creates and finds runs, and writes the status and Events of Backfills.

    `is_leader` is checked before each write: a suspended process may wake up as a former leader. `on_forbidden` takes a
    namespace in which a write was refused for lack of a role.
    """

    def __init__(  # noqa: PLR0913 - clients and callbacks
        self,
        api: Api,
        cache: BackfillCache,
        find_archived: FindArchived,
        limits: WriteLimits,
        *,
        is_leader: Callable[[], bool] = lambda: True,
        on_forbidden: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._api = api
        self._cache = cache
        self._find_archived = find_archived
        self._limits = limits
        self._is_leader = is_leader
        self._on_forbidden = on_forbidden
        self._writes = Writes()

    async def create_run(self, namespace: str, body: Object) -> str | TemporaryObstacle | None:
        """Create the run of a tick, or find the one that exists.

        Returns why this run cannot exist, or why no run can be created at the moment. Raises errors.ApiError if it is
        unknown whether the run exists.
        """
        try:
            async with self._limits.queue.place(namespace):
                if not self._is_leader():
                    raise errors.ApiUnavailable("this replica is not the leader")
                stored = await self._writes.finish(self._create_or_get(namespace, body))
        except (errors.NotFound, errors.ApiUnavailable):
            raise
        except errors.ApiError as error:
            if not error.status or error.status == HTTPStatus.UNAUTHORIZED:
                raise
            return self._refusal(namespace, error)
        unreadable = self._cache.absorb_run(stored)
        return None if unreadable is None else f"the run cannot be read: {unreadable}"

    async def find_run(self, namespace: str, name: str) -> KnownRun | None:
        """The run of this name, in the cluster or in the archive. Raises errors.ApiError and NotArchivedError.

        A Workflow without `runOf` is not a run: only the operator can set it.
        """
        try:
            stored = await self._api.get(WORKFLOWS, namespace, name)
        except errors.NotFound:
            return await self._find_archived(namespace, name)
        if "runOf" not in stored["spec"]:
            return None
        self._cache.absorb_run(stored)
        try:
            return KnownRun.of(workflows.parse(stored))
        except ValueError as error:
            raise errors.ApiError(f"Workflow {name} cannot be read: {error}") from error

    async def has_template(self, namespace: str, name: str) -> bool:
        """Whether a WorkflowTemplate exists."""
        try:
            await self._api.get(TEMPLATES, namespace, name)
        except errors.NotFound:
            return False
        return True

    async def write_status(self, backfill: Backfill, wanted: BackfillStatus) -> bool:
        """Store the status unless the Backfill has changed. Returns whether it was stored."""
        metadata = backfill.metadata
        ops: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": metadata.uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
            {"op": "add", "path": "/status", "value": wanted.to_json()},
        ]
        try:
            async with self._limits.queue.place(metadata.namespace):
                if not self._is_leader():
                    return False
                stored = await self._writes.finish(
                    self._api.patch(BACKFILLS, metadata.namespace, metadata.name, ops, subresource="status")
                )
        except (errors.NotFound, errors.LostRace):
            return False
        self._cache.absorb(stored)
        return True

    async def post(self, backfill: Backfill, notices: Iterable[Notice]) -> None:
        """Post Events. One that cannot be posted is logged and lost."""
        await post_events(self._limits.events, BACKFILLS, backfill.metadata, notices)

    async def drain(self) -> None:
        """Wait until no write is running, so that the next leader's lists contain all of them."""
        await self._writes.drain()

    async def _create_or_get(self, namespace: str, body: Object) -> Object:
        name = body["metadata"]["name"]
        try:
            return await self._api.create(WORKFLOWS, namespace, body)
        except errors.AlreadyExists:
            stored = await self._api.get(WORKFLOWS, namespace, name)
            if _origin(stored) != _origin(body):
                message = f"a Workflow named {name} exists that is not the run of this tick"
                raise errors.AlreadyExists(message, status=HTTPStatus.CONFLICT) from None
            return stored

    def _refusal(self, namespace: str, error: errors.ApiError) -> str | TemporaryObstacle:
        """Why this run is rejected, or why every run is."""
        if not isinstance(error, errors.Forbidden):
            return error.message
        if status.exceeds_quota(error.message):
            return TemporaryObstacle(Reason.QUOTA_EXCEEDED, error.message)
        if "cannot create resource" in error.message:
            self._on_forbidden(namespace)
            return TemporaryObstacle(Reason.NAMESPACE_NOT_READY, error.message)
        return error.message


def _origin(workflow: Object) -> list[Any]:
    run_of = workflow["spec"].get("runOf") or {}
    return [run_of.get(name) for name in _ORIGIN]
