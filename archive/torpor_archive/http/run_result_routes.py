"""Copies the result of a run in a run to the TaskRun that waited for the run (ADR 0073).

The copy belongs to the outer run: its tasks may read it, and it stays when the run is cleared or deleted.
"""

from aiohttp import web

from torpor_archive.auth import policy
from torpor_archive.errors import RefusedError, not_found
from torpor_archive.http import middleware
from torpor_archive.http.derived_results import store_derived
from torpor_archive.http.services import ArchiveServices
from torpor_archive.storage import results
from torpor_archive.storage.bodies import ByteRange, StoredBody, read_chunks
from torpor_archive.storage.database import Database


class RunResultRoutes:
    """The request handler."""

    def __init__(self, services: ArchiveServices) -> None:
        self._services = services

    def add_to(self, application: web.Application) -> None:
        """Register the handler at its path. The metrics use the route names."""
        path = "/v1/namespaces/{namespace}/taskruns/{name}/run-result/{run}"
        application.add_routes([web.post(path, self.post_run_result, name="post_run_result")])

    async def post_run_result(self, request: web.Request) -> web.StreamResponse:
        """Copy the result of a run to the Deferred TaskRun that started it, for a triggerer of its pool.

        The API server says where the result is, and not the caller.
        """
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        services, run = self._services, middleware.identifier(request, "run")
        caller = await middleware.authenticate(request, services.reviews)
        taskrun = await services.reviews.get_taskrun(namespace, name)
        await services.reviews.check_triggerer(caller, namespace, taskrun)
        middleware.unwrap(policy.check_put_event(name, taskrun))
        workflow = await services.reviews.get_workflow(namespace, run)
        location = middleware.unwrap(policy.find_run_result(name, taskrun, workflow))
        place = await services.namespaces.of_object(namespace, taskrun.created)
        found = await results.find(services.database, place, location.taskrun, location.digest)
        if found is None:
            raise RefusedError(not_found(f"the archive has no result of Workflow {run} any more"))
        return await store_derived(services, place, taskrun, found[0].format, _Copy(services.database, found[0]))


class _Copy:
    """A stored body, as an upload reads it."""

    def __init__(self, database: Database, body: StoredBody) -> None:
        self._chunks = read_chunks(database, body, ByteRange(start=0, end=body.size))

    async def readany(self) -> bytes:
        """Return the next chunk; empty at the end."""
        return await anext(self._chunks, b"")
