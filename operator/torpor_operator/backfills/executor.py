"""What a pass of a Backfill reads from and writes to the API server. Another writer may have been faster."""

from collections.abc import Iterable
from functools import partial
from http import HTTPStatus

from torpor_crds.models import workflow as workflows
from torpor_crds.models.backfill import Backfill, BackfillStatus
from torpor_crds.models.run_of import TemplateRef
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import BACKFILLS, CLUSTER_TEMPLATES, TEMPLATES, WORKFLOWS
from torpor_wire.enums import TemplateKind
from torpor_wire.reason import Reason

from torpor_operator.backfills.archived_runs import FindArchived
from torpor_operator.backfills.cache import BackfillCache
from torpor_operator.backfills.plan.snapshot import KnownRun, TemporaryObstacle
from torpor_operator.controller.cluster_writer import ClusterWriter
from torpor_operator.model.actions import Notice
from torpor_operator.scheduled_runs import run_builder


class BackfillExecutor:
    """Creates and finds runs, and writes the status and Events of Backfills."""

    def __init__(self, api: Api, cache: BackfillCache, find_archived: FindArchived, writer: ClusterWriter) -> None:
        self._api = api
        self._cache = cache
        self._find_archived = find_archived
        self._writer = writer

    async def create_run(self, namespace: str, body: Object) -> str | TemporaryObstacle | None:
        """Create the run of a tick, or find the one that exists.

        Returns why this run cannot exist, or why no run can be created at the moment. Raises errors.ApiError if it is
        unknown whether the run exists.
        """
        try:
            stored = await self._writer.send(namespace, partial(self._create_or_get, namespace, body))
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
            return KnownRun.from_workflow(workflows.parse(stored))
        except ValueError as error:
            raise errors.ApiError(f"Workflow {name} cannot be read: {error}") from error

    async def has_template(self, namespace: str, reference: TemplateRef) -> bool:
        """Whether a template exists. One of the cluster that may not be read is for the run to report."""
        of_cluster = reference.kind is TemplateKind.CLUSTER
        resource, place = (CLUSTER_TEMPLATES, None) if of_cluster else (TEMPLATES, namespace)
        try:
            await self._api.get(resource, place, reference.name)
        except errors.NotFound:
            return False
        except errors.Forbidden:
            if not of_cluster:
                raise
        return True

    async def write_status(self, backfill: Backfill, wanted: BackfillStatus) -> bool:
        """Store the status unless the Backfill has changed. Returns whether it was stored."""
        try:
            stored = await self._writer.write_status(BACKFILLS, backfill.metadata, wanted.to_json())
        except errors.NotFound:
            return False
        if stored is not None:
            self._cache.objects.absorb(stored)
        return stored is not None

    async def post(self, backfill: Backfill, notices: Iterable[Notice]) -> None:
        """Post Events. One that cannot be posted is logged and lost."""
        await self._writer.post(BACKFILLS, backfill.metadata, notices)

    async def _create_or_get(self, namespace: str, body: Object) -> Object:
        name = body["metadata"]["name"]
        try:
            return await self._api.create(WORKFLOWS, namespace, body)
        except errors.AlreadyExists:
            stored = await self._api.get(WORKFLOWS, namespace, name)
            if not run_builder.is_same_run(stored, body, run_builder.TICK_FIELDS):
                message = f"a Workflow named {name} exists that is not the run of this tick"
                raise errors.AlreadyExists(message, status=HTTPStatus.CONFLICT) from None
            return stored

    def _refusal(self, namespace: str, error: errors.ApiError) -> str | TemporaryObstacle:
        """Why this run is rejected, or why every run is."""
        if not isinstance(error, errors.Forbidden):
            return error.message
        if error.exceeds_quota:
            return TemporaryObstacle(Reason.QUOTA_EXCEEDED, error.message)
        if error.lacks_role:
            self._writer.on_forbidden(namespace)
            return TemporaryObstacle(Reason.NAMESPACE_NOT_READY, error.message)
        return error.message
