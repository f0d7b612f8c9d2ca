"""The shipped operator and triggerers over the API server in memory, as tasks of this process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Never

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_expressions.evaluator import Evaluator
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.archive import ArchiveResponse
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_operator.app import ArchiveClients, EnabledComponents, Operator, Stop
from torpor_operator.controller.archive import NotArchivedError
from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.reconcile_loop import Loop
from torpor_operator.settings import Settings
from torpor_triggerer.app import Triggerer
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Outcome
from torpor_triggerer.network.addresses import Addresses
from torpor_triggerer.network.connections import OutboundNetwork
from torpor_triggerer.services import http
from torpor_triggerer.services.trigger_services import Backends
from torpor_triggerer.settings import Settings as TriggererSettings
from torpor_triggerer.usercode import registry

IDENTITY = "local"
_PENDING_SECONDS = 1e9
"""A pod that waits for its turn is not reported as one that cannot be scheduled."""
_COOLDOWN_PER_TASKRUN = 0.0005
"""Five times the default: the operator shares one core with the API server, and pods that wait for their turn exist."""


class SoleLeader:
    """Leads from the start: a folder has one process, which its lock ensures."""

    def holds(self) -> bool:
        """Return True."""
        return True

    async def run(self, lead: Loop, ready: Loop) -> None:
        """Lead."""
        await ready()
        await lead()


class NoArchive:
    """The archive's clients of a run without an archive. Nothing calls them: there is no address."""

    async def put(self, *_: object) -> None:
        """Raise NotArchivedError."""
        raise NotArchivedError("a local run has no archive")

    async def completed(self, *_: object) -> str | None:
        """Raise NotArchivedError."""
        raise NotArchivedError("a local run has no archive")

    async def post(self, endpoint: ArchiveEndpoint, path: str, body: object) -> ArchiveResponse:
        """Raise OSError."""
        raise OSError(f"a local run has no archive: {endpoint.url}{path} {body}")

    async def get(self, endpoint: ArchiveEndpoint, path: str) -> ArchiveResponse:
        """Raise OSError."""
        raise OSError(f"a local run has no archive: {endpoint.url}{path}")


@dataclass(slots=True, kw_only=True)
class Controllers:
    """What runs. `failed` completes only if a controller ends by an error."""

    triggerers: list[Triggerer]
    evaluator: Evaluator
    failed: "asyncio.Future[Never]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def next_moment(self) -> float | None:
        """Return when the next wait ends; None if one of the waits does not end at a known time, or there is none."""
        moments = [triggerer.next_moment() for triggerer in self.triggerers if triggerer.waits]
        return None if None in moments else min((moment for moment in moments if moment is not None), default=None)

    @property
    def waits(self) -> int:
        """The number of waits."""
        return sum(triggerer.waits for triggerer in self.triggerers)


@asynccontextmanager
async def start(
    api: Api, pools: Collection[str], triggers: Mapping[str, str], answer: Callable[[TriggerWait], Outcome | None]
) -> AsyncIterator[Controllers]:
    """Run an operator, and a triggerer for each pool, inside the block."""
    network = OutboundNetwork(addresses=Addresses(rules=()))
    known = registry.load(triggers)
    async with Evaluator() as evaluator, http.connect(network) as web:
        backends = Backends(api=api, evaluator=evaluator, web=web, network=network, folders=("/",), lends_identity=True)
        enabled = EnabledComponents(archive=False, schedules=False, cluster_checks=False, accounts=False)
        operator = Operator.build(api, _settings(), evaluator, _no_archive(), leadership=SoleLeader(), enabled=enabled)
        stopping = asyncio.Event()
        triggerers = [
            Triggerer(backends, known, TriggererSettings(pool=pool, identity=IDENTITY), answer=answer)
            for pool in sorted(pools)
        ]
        controllers = Controllers(triggerers=triggerers, evaluator=evaluator)
        operating = asyncio.create_task(operator.run(partial(watch_workflows, api)))
        triggering = [asyncio.create_task(triggerer.run(stopping)) for triggerer in triggerers]
        for task in (operating, *triggering):
            task.add_done_callback(partial(_on_end, controllers))
        try:
            yield controllers
        finally:
            operating.cancel()
            stopping.set()
            await asyncio.gather(operating, *triggering, return_exceptions=True)
            await backends.clients.closed()


def _on_end(controllers: Controllers, task: "asyncio.Task[None]") -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None and not controllers.failed.done():
        controllers.failed.set_exception(error)


def _settings() -> Settings:
    return Settings(identity=IDENTITY, start_grace=_PENDING_SECONDS, cooldown_per_taskrun=_COOLDOWN_PER_TASKRUN)


def _no_archive() -> ArchiveClients:
    none = NoArchive()
    return ArchiveClients(store=none, post=none.post, reader=none)


async def watch_workflows(api: Api, cluster: ClusterCache, stop: Stop) -> Never:  # noqa: ARG001 - kopf needs it
    """Report every Workflow and each of its changes, forever, as kopf does in a cluster.

    Like kopf it never reports what vanished while no watch was open; the operator's resync finds that.
    """
    while True:
        try:
            page = await api.list(WORKFLOWS)
            for body in page.items:
                cluster.store_workflow(body)
            version = page.resource_version
            while True:
                version = await _watch(api, cluster, version)
        except errors.ApiError:
            await api.clock.sleep(0.5 + api.jitter())


async def _watch(api: Api, cluster: ClusterCache, version: str) -> str:
    async with aclosing(api.watch(WORKFLOWS, resource_version=version)) as events:
        async for event in events:
            if event.type != "BOOKMARK":
                cluster.store_workflow(event.object, deleted=event.type == "DELETED")
            version = event.object["metadata"]["resourceVersion"]
    return version
