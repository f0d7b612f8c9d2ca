"""`api/approvals`, `api/triggerers` and `api/cluster`: tasks that wait for a person, waits, and pods against waits."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from aiohttp import web
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Object
from torpor_kubernetes.client.resources import CONFIG_MAPS, LEASES, TASKRUNS, Resource
from torpor_views.instance import InstanceView
from torpor_views.waiting.wait_statistics import WaitStatistics
from torpor_wire import constants

from torpor_ui.acts.rights import Right
from torpor_ui.cluster import bounded_lists
from torpor_ui.cluster.caller import Caller
from torpor_ui.http.context import caller_of, json_response
from torpor_ui.presentation import approval_list, cluster_page, keys, triggerer_page
from torpor_ui.presentation.approval_list import Answerer
from torpor_ui.presentation.cluster_page import ClusterReads, ClusterStatistics
from torpor_ui.presentation.run_rows import RunRow
from torpor_ui.presentation.triggerer_page import ReplicaMetrics
from torpor_ui.routes.scope import Scope, scope_of
from torpor_ui.routes.services import Services

QUOTAS = Resource(group="", version="v1", plural="resourcequotas", kind="ResourceQuota")
_TASKRUNS_MAX = 10_000
_REPLICAS_MAX = 50
_METRICS_BYTES = 2**20
_METRICS_SECONDS = 5.0
_METRICS_PORT = 8081


class OverviewRoutes:
    """The endpoints of overviews. What they read is shared for a moment by the viewers of one identity."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.get("/api/approvals", self.approvals),
            web.get("/api/triggerers", self.triggerers),
            web.get("/api/cluster", self.cluster),
        ]

    async def approvals(self, request: web.Request) -> web.Response:
        """Return the tasks that wait for a person."""
        caller, scope = caller_of(request), await scope_of(request, self._services)

        async def read() -> list[InstanceView]:
            views: list[InstanceView] = []

            def take(items: Sequence[Object]) -> None:
                views.extend(approval_list.asking(items))

            await bounded_lists.read_each(
                caller.api, TASKRUNS, scope.namespaces, take, field_selector=bounded_lists.DEFERRED
            )
            return views

        views = await self._services.scans.get(caller, f"approvals/{scope.name}", read)
        refusals: dict[str, str] = {}
        for namespace in {view.namespace for view in views}:
            permission = await self._services.rights.permission(caller, namespace, Right.ANSWER)
            refusals |= {} if permission.allowed else {namespace: permission.reason}
        answerer = Answerer(user=caller.user, groups=caller.groups, refusals=refusals)
        return json_response(approval_list.rows(views, answerer))

    async def triggerers(self, request: web.Request) -> web.Response:
        """Return replicas, pools, and statistics of waits."""
        caller, scope = caller_of(request), await scope_of(request, self._services)

        async def read() -> dict[str, Any]:
            notes = list(scope.notes)
            statistics = WaitStatistics(time.time())

            def take(items: Sequence[Object]) -> None:
                for item in items:
                    statistics.add(item)

            whole = await bounded_lists.read_each(
                caller.api, TASKRUNS, scope.namespaces, take, field_selector=bounded_lists.DEFERRED
            )
            notes += [] if whole else [f"only the first {statistics.total:,} waits are counted"]
            system = self._services.system
            leases = await _leases(caller, system, notes)
            metrics = await _metrics(caller, system, [triggerer_page.holder(lease) for lease in leases], notes)
            shown = triggerer_page.replicas(leases, metrics, time.time())
            return triggerer_page.build(shown, statistics, metrics, notes)

        return json_response(await self._services.scans.get(caller, f"triggerers/{scope.name}", read))

    async def cluster(self, request: web.Request) -> web.Response:
        """Return pods against waits, slots and quotas."""
        caller, scope = caller_of(request), await scope_of(request, self._services)

        async def read() -> dict[str, Any]:
            notes = list(scope.notes)
            statistics = ClusterStatistics(time.time())
            whole = await bounded_lists.read_each(
                caller.api, TASKRUNS, scope.namespaces, statistics.add, most=_TASKRUNS_MAX
            )
            notes += [] if whole else [f"only the first {_TASKRUNS_MAX:,} TaskRuns are counted"]
            reads = ClusterReads(
                statistics=statistics,
                runs=await self._runs(caller, scope),
                pools=await _pools(caller, scope),
                quotas=await _quotas(caller, scope, notes),
                notes=notes,
            )
            return await asyncio.to_thread(cluster_page.build, reads)

        return json_response(await self._services.scans.get(caller, f"cluster/{scope.name}", read))

    async def _runs(self, caller: Caller, scope: Scope) -> list[RunRow]:
        """The live runs, which the list of runs watches, too."""
        async with AsyncExitStack() as stack:
            rows: list[RunRow] = []
            for namespace in scope.namespaces:
                feed = self._services.run_list(caller, namespace)
                await stack.enter_async_context(feed.viewed(asyncio.Event()))
                rows += feed.rows()
            return rows


async def _leases(caller: Caller, system: str, notes: list[str]) -> list[Object]:
    """The Leases of triggerers; a note if the caller may not list them."""
    try:
        page = await caller.api.list(LEASES, system, label_selector=constants.LABEL_POOL)
    except api_errors.Forbidden:
        notes.append(f"you may not list leases in namespace {system}: replicas are missing")
        return []
    return page.items[:_REPLICAS_MAX]


async def _metrics(caller: Caller, system: str, pods: Sequence[str], notes: list[str]) -> dict[str, ReplicaMetrics]:
    """The metrics of replicas through the proxy of the API server; a note if the caller may not read them."""

    async def read(pod: str) -> ReplicaMetrics | None:
        body = bytearray()
        try:
            path = f"/api/v1/namespaces/{system}/pods/{pod}:{_METRICS_PORT}/proxy/metrics"
            async for chunk in caller.transport.chunks(path, query={}, seconds=_METRICS_SECONDS):
                body += chunk
                if len(body) > _METRICS_BYTES:
                    break
        except api_errors.ApiError:
            return None
        return triggerer_page.parse_metrics(body.decode("utf-8", "replace"))

    named = [pod for pod in pods if keys.is_name(pod)]
    found = await asyncio.gather(*map(read, named))
    metrics = {pod: own for pod, own in zip(named, found, strict=True) if own is not None}
    if len(metrics) < len(named):
        notes.append(
            f"{len(named) - len(metrics)} of {len(named)} replicas show no shards and no loop lag: they need "
            f"get pods/proxy in namespace {system}"
        )
    return metrics


async def _pools(caller: Caller, scope: Scope) -> dict[str, Object]:
    """The pools of slots of each namespace, as far as the caller may read them."""
    pools: dict[str, Object] = {}
    selector = f"metadata.name={constants.POOLS_CONFIG}"
    for namespace in scope.namespaces:
        try:
            page = await caller.api.list(CONFIG_MAPS, namespace, field_selector=selector)
        except api_errors.ApiError:
            continue
        pools |= {str(item["metadata"]["namespace"]): item for item in page.items}
    return pools


async def _quotas(caller: Caller, scope: Scope, notes: list[str]) -> list[Object]:
    """The ResourceQuotas; a note for those that the caller may not list."""
    quotas: list[Object] = []
    for namespace in scope.namespaces:
        try:
            quotas += (await caller.api.list(QUOTAS, namespace)).items
        except api_errors.ApiError:
            notes.append(f"you may not list resourcequotas in {namespace or 'all namespaces'}")
    return quotas
