"""Combines the results of the steps of a task, some of which are in the archive, into one result (ADR 0061)."""

from aiohttp import web
from torpor_kubernetes.client import decoding
from torpor_wire import names
from torpor_wire.state import State

from torpor_archive.errors import RefusedError, forbidden, invalid, not_found, too_large
from torpor_archive.http import middleware
from torpor_archive.http.derived_results import store_derived
from torpor_archive.http.services import ArchiveServices
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage import results, step_results
from torpor_archive.storage.bodies import StoredBody
from torpor_archive.storage.content import BodyFormat
from torpor_archive.storage.step_results import CombinedBody, GivenStep

_BODY_MAX = 256 * 1024
_OBJECT = BodyFormat(type="object")


class StepRoutes:
    """The request handler."""

    def __init__(self, services: ArchiveServices) -> None:
        self._services = services

    def add_to(self, application: web.Application) -> None:
        """Register the handler at its path. The metrics use the route names."""
        path = "/v1/namespaces/{namespace}/taskruns/{name}/steps"
        application.add_routes([web.post(path, self.post_steps, name="post_steps")])

    async def post_steps(self, request: web.Request) -> web.StreamResponse:
        """Store an object with the result of each step as the result of a TaskRun, for the operator."""
        namespace, name = middleware.identifier(request, "namespace"), middleware.identifier(request, "name")
        await self._services.reviews.check_operator(
            await middleware.authenticate(request, self._services.reviews), namespace
        )
        uid, parts = step_results.parse(await _read_json(request))
        taskrun = await self._services.reviews.get_taskrun(namespace, name)
        if taskrun.uid != uid or taskrun.state != State.RUNNING:
            raise RefusedError(forbidden(f"TaskRun {name} is {taskrun.state}, or another one than {uid}"))
        place = await self._services.namespaces.of_object(namespace, taskrun.created)
        stored = {part.name: await self._find(place, uid, part) for part in parts if part.digest is not None}
        combined = CombinedBody(self._services.database, parts, stored)
        return await store_derived(self._services, place, taskrun, _OBJECT, combined)

    async def _find(self, place: NamespaceId, uid: str, part: GivenStep) -> StoredBody:
        found = await results.find(self._services.database, place, names.step_owner(uid, part.name), part.digest or "")
        if found is None:
            raise RefusedError(not_found(f"the archive has no result of step {part.name} with this digest"))
        return found[0]


async def _read_json(request: web.Request) -> object:
    body = await request.content.read(_BODY_MAX + 1)
    while len(body) <= _BODY_MAX and (more := await request.content.readany()):
        body += more
    if len(body) > _BODY_MAX:
        raise RefusedError(too_large(f"the body has more than {_BODY_MAX} bytes"))
    try:
        return decoding.loads(body)
    except ValueError as error:
        raise RefusedError(invalid(f"the body is not JSON: {type(error).__name__}")) from error
