"""Jobs of a simulation: who may create them, what becomes of them, and who deletes them by hand."""

import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.transport import JSON, Response
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_local.apiserver.objects import DeniedError
from torpor_triggerer.services.account_tokens import AsAccount, Authorization

from tests.simulation.actors.api_server import Network, SimulatedApiServer
from tests.simulation.process import Process
from tests.support.cluster_accounts import JOBS

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation


class TokenNetwork(Network):
    """The transport of a triggerer, which also grants tokens of accounts that exist."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Response:
        account, is_token, _ = path.partition("/token")
        if not is_token:
            return await super().request(method, path, query=query, body=body, content_type=content_type)
        found = await super().request("GET", account)
        return found if found.status != HTTPStatus.OK else Response(HTTPStatus.CREATED, {"status": {"token": "t"}})


class AccountNetwork(Network):
    """The transport of an account. It has no rights for a while, if someone takes them."""

    refused_until = 0.0

    def __init__(self, server: SimulatedApiServer, process: Process, authorization: Authorization) -> None:
        super().__init__(server, process)
        self._loop = server.loop
        self._authorization = authorization

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Response:
        await self._authorization()
        if (denied := self._denied(method)) is not None:
            return denied
        return await super().request(method, path, query=query, body=body, content_type=content_type)

    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        await self._authorization()
        if (denied := self._denied("watch")) is not None:
            raise errors.from_response(denied)
        async with aclosing(super().stream(path, query=query)) as events:
            async for event in events:
                yield event

    def _denied(self, method: str) -> Response | None:
        if self._loop.time() >= AccountNetwork.refused_until:
            return None
        message = f'jobs.batch is forbidden: User "builder" cannot {method} resource "jobs"'
        return Response(HTTPStatus.FORBIDDEN, DeniedError(HTTPStatus.FORBIDDEN, "Forbidden", message).body)


def accounts_of(server: SimulatedApiServer, process: Process) -> AsAccount:
    """Return what makes the transports of accounts for a triggerer."""
    return lambda _, authorization: AccountNetwork(server, process, authorization)


class JobController:
    """Ends each Job after a while, with success or failure; a person deletes some, or takes the rights for a time."""

    def __init__(self, simulation: "Simulation") -> None:
        AccountNetwork.refused_until = 0.0
        self._simulation = simulation
        self._rng = random.Random(simulation.seed)
        simulation.server.observers.append(self._observe)
        if self._rng.random() < 0.3:
            simulation.person.call_later(self._rng.uniform(1.0, 10.0), self._refuse)

    def _observe(self, _: Process, entry: ObjectChange) -> None:
        if entry.address.kind != collection(JOBS) or entry.before is not None or entry.after is None:
            return
        job, rng = entry.after, self._rng
        act = self._delete if rng.random() < 0.1 and not self._simulation.faults.calm else self._end
        self._simulation.person.call_later(rng.uniform(0.5, 15.0), act, job)

    def _end(self, job: Object) -> None:
        status = {"failed": 1} if self._rng.random() < 0.2 else {"succeeded": self._rng.randint(1, 9)}
        self._act(job, lambda address: self._simulation.fake.objects.edit(address, {"status": status}))

    def _delete(self, job: Object) -> None:
        self._simulation.note(f"a person deletes Job {job['metadata']['name']}")
        self._act(job, lambda address: self._simulation.fake.objects.delete(address, {}))

    def _refuse(self) -> None:
        AccountNetwork.refused_until = self._simulation.loop.time() + self._rng.choice((3.0, 20.0))

    def _act(self, job: Object, change: Any) -> None:
        simulation, metadata = self._simulation, job["metadata"]
        address = simulation.fake.objects.address(JOBS, metadata["namespace"], metadata["name"])
        stored = simulation.fake.history.get(address)
        if stored is not None and stored["metadata"]["uid"] == metadata["uid"]:
            simulation.server.act(simulation.person, lambda: change(address))
