"""Assembles one operator replica: what all kinds share, a controller for each kind, and leader election.

All I/O is passed in (API, expressions, archive, clock, jitter) and so is the watch of Workflows, so `__main__`, local
runs and the simulation run the same composition. Must not import kopf, which takes a second and belongs to `__main__`.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, TypeAlias

from torpor_expressions.evaluator import Evaluating
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.lease import Leadership, LeaseConfig
from torpor_kubernetes.timing import Clock

from torpor_operator.backfills.archived_runs import ArchivedRuns, Reader
from torpor_operator.backfills.controller import BackfillController
from torpor_operator.controller.archive import Archive, RunStore
from torpor_operator.controller.archive_queries import ArchiveQueries, StepCombiner
from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.cluster_writer import ClusterWriter
from torpor_operator.controller.context import ControllerContext, KindController
from torpor_operator.controller.exported_state import ExportedState, MetricReporter
from torpor_operator.controller.namespace_claims import NamespaceClaims
from torpor_operator.controller.namespaces import Namespaces
from torpor_operator.controller.queries import QueryResolver
from torpor_operator.controller.reconcile_loop import Loop
from torpor_operator.controller.settled_logs import Post, SettledLogCache
from torpor_operator.controller.triggerer_pools import TriggererPools
from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.injection.detector import ImageVolumes
from torpor_operator.observability.custom_metrics import CustomMetrics
from torpor_operator.observability.operator_metrics import OperatorMetrics
from torpor_operator.observability.span_exporter import SpanExporter
from torpor_operator.observability.span_watermark import SpanWatermark
from torpor_operator.quarantine.cpu_shares import CpuShares
from torpor_operator.quarantine.long_steps import LongStepReporter
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_operator.schedules.controller import ScheduleController
from torpor_operator.settings import Settings
from torpor_operator.workflows.controller import WorkflowController

LEASE = "torpor-operator"
_PAUSE = 1.0
_LOG = logging.getLogger(__name__)

Stop: TypeAlias = Callable[[], Awaitable[None]]


class LeaderElector(Protocol):
    """Decides whether this replica works, as `Leadership` does by a Lease."""

    def holds(self) -> bool:
        """Whether this replica may write now."""

    async def run(self, lead: Loop, ready: Loop) -> None:
        """Run `lead` while this replica may write, not before `ready` has returned."""


class WatchWorkflows(Protocol):
    """Reports every Workflow and each of its changes to the cache, until the operator ends."""

    async def __call__(self, cluster: ClusterCache, stop: Stop) -> None:
        """Watch. Call `stop` before the event loop cancels the tasks of the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveClients:
    """The operator's connections to the archive."""

    store: RunStore
    post: Post
    reader: Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class EnabledComponents:
    """Which components of the operator run. A process in a cluster runs all of them."""

    archive: bool = True
    schedules: bool = True
    cluster_checks: bool = True
    """Whether namespaces are set up, and who serves them; which pools are served; whether nodes mount images."""
    accounts: bool = True
    """Whether the owners of ServiceAccounts let tasks use them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """The components of one replica."""

    context: ControllerContext
    kinds: tuple[KindController, ...]
    leadership: LeaderElector
    limits: WriteLimits
    settled_logs: SettledLogCache
    enabled: EnabledComponents
    spans: SpanExporter | None
    custom: CustomMetrics

    @classmethod
    def build(  # noqa: PLR0913 - all I/O
        cls,
        api: Api,
        settings: Settings,
        evaluator: Evaluating,
        archive: ArchiveClients,
        *,
        leadership: LeaderElector | None = None,
        guard: WorkGuard | None = None,
        limits: WriteLimits | None = None,
        metrics: OperatorMetrics | None = None,
        spans: SpanExporter | None = None,
        jitter: Callable[[], float] = random.random,
        enabled: EnabledComponents = EnabledComponents(),
    ) -> Self:
        """Build them; nothing is sent before `run`.

        Without `leadership` the replicas share a Lease, without `guard` no object is ever in quarantine, and without
        `limits` those of the settings hold.
        """
        limits = limits or WriteLimits.build(api, settings)
        guard = guard or WorkGuard()
        leadership = leadership or Leadership(api, lease_config(settings))
        namespaces = Namespaces(api, settings.namespace)
        metrics = metrics or OperatorMetrics()
        on_taskrun_body = spans.on_taskrun_body if spans else None
        cluster = ClusterCache(api, settings, guard=guard, jitter=jitter, on_taskrun_body=on_taskrun_body)
        custom = CustomMetrics(evaluator, metrics.registry, MetricReporter(limits).report)
        ExportedState(api.clock, cluster, limits, is_leader=leadership.holds).add_to(metrics, spans, custom)
        stored = Archive(api, settings.namespace, archive.store)
        settled_logs = SettledLogCache(api.clock, stored.endpoint, archive.post)
        context = ControllerContext(
            api=api,
            settings=settings,
            jitter=jitter,
            guard=guard,
            cpu_shares=_measure_steps(guard, api, limits),
            cluster=cluster,
            writer=ClusterWriter(api, limits, is_leader=leadership.holds, on_forbidden=namespaces.check),
            resolver=QueryResolver(
                api,
                cluster,
                evaluator,
                ArchiveQueries(
                    has_run=stored.has_run,
                    settled_logs=settled_logs.get,
                    combine=StepCombiner(stored.endpoint, archive.post).combine,
                ),
                on_forbidden=namespaces.check,
                has_accounts=enabled.accounts,
            ),
            reporter=UnreadableReporter(api, limits),
            archive=stored,
            namespaces=namespaces,
            claims=NamespaceClaims(api, limits.events, home=settings.namespace, namespaces=settings.namespaces),
            triggerer_pools=TriggererPools(api, settings.namespace),
            image_volumes=ImageVolumes(api, settings, namespaces=cluster.namespaces),
            metrics=metrics,
        )
        return cls(
            context=context,
            kinds=tuple(_controllers(context, archive.reader, enabled)),
            leadership=leadership,
            limits=limits,
            settled_logs=settled_logs,
            enabled=enabled,
            spans=spans,
            custom=custom,
        )

    async def run(self, watch: WatchWorkflows) -> None:
        """Watch, and reconcile while this replica holds the Lease, until `watch` returns or raises."""
        background: list[asyncio.Task[None]] = []
        # kopf cancels all tasks of the loop when it exits. Ours must end before that, or the Lease is not released.
        stop = partial(_cancel, background)
        await self.context.guard.load()  # before any object is read
        async with asyncio.TaskGroup() as group:
            background += [group.create_task(loop()) for loop in self._loops()]
            await watch(self.context.cluster, stop)
            await stop()

    async def report_unreadable(self, body: Mapping[str, Any], cause: str) -> None:
        """Report on a Workflow why it cannot be read, unless another installation serves its namespace."""
        if self.context.claims.serves(body["metadata"]["namespace"]):
            await self.context.reporter.report(body, cause)

    def _loops(self) -> list[Loop]:
        context = self.context
        loops: list[Loop] = [context.cluster.taskruns.run, context.cluster.pods.run]
        for kind in self.kinds:
            loops += kind.watches()
        if self.enabled.cluster_checks:
            loops += [context.triggerer_pools.run, context.image_volumes.run]
            loops.append(partial(context.namespaces.run, self.kinds))
        if self.enabled.archive:
            loops += [context.archive.run, self.settled_logs.run]
        return [*loops, self._compete]

    async def _compete(self) -> None:
        """Compete for the Lease with full caches: a replica that has them should lead, not one that has to list."""
        await self.leadership.run(self._lead, ready=lambda: full_caches(self.context.cluster))

    async def _lead(self) -> None:
        """Reconcile until cancelled. Then wait for running writes, so that the next leader's lists contain them."""
        await self.context.guard.load()
        if self.enabled.archive:
            await self.context.archive.discovered()
        loops: list[Loop] = [*(kind.run for kind in self.kinds), self.custom.run, *self._span_loops()]
        if self.enabled.cluster_checks:
            await self.context.claims.refresh()  # before any object is reconciled
            loops.append(partial(self.context.claims.run, self.kinds))
        try:
            await lead(self.context.cluster, self.context.api.clock, *loops)
        finally:
            await self.context.writer.drain()

    def _span_loops(self) -> list[Loop]:
        if self.spans is None:
            return []
        settings = self.context.settings
        watermark = SpanWatermark(
            self.context.api, self.spans, namespace=settings.namespace, lease=LEASE, served=settings.namespaces
        )
        return [self.spans.run, watermark.run]


def _controllers(context: ControllerContext, reader: Reader, enabled: EnabledComponents) -> list[KindController]:
    """The controller of each kind. A later one may read the cache of an earlier one."""
    workflows = WorkflowController(context)
    if not enabled.schedules:
        return [workflows]
    schedules = ScheduleController(context)
    find_archived = ArchivedRuns(context.archive.endpoint, reader).find
    return [workflows, schedules, BackfillController(context, schedules.cache, find_archived)]


async def full_caches(cluster: ClusterCache) -> None:
    """Wait until TaskRuns and pods have been listed once."""
    await cluster.taskruns.synced.wait()
    await cluster.pods.synced.wait()


async def lead(cluster: ClusterCache, clock: Clock, *loops: Loop) -> None:
    """Reconcile on caches with all that was committed when the Lease was acquired: all writes of the former leader.

    A watch may be seconds behind, and would not show a pod that the former leader has just created.
    """
    while True:
        try:
            await cluster.refresh()
            break
        except errors.ApiError as error:
            _LOG.warning("cannot list the cluster's objects: %s", error.message)
            await clock.sleep(_PAUSE)
    async with asyncio.TaskGroup() as group:
        for loop in loops:
            group.create_task(loop())


def _measure_steps(guard: WorkGuard, api: Api, limits: WriteLimits) -> CpuShares:
    """Count the CPU time of each step for its namespace, and report long steps. Returns the time of each namespace."""
    shares = CpuShares()
    guard.tracker.on_step = lambda namespace, seconds: shares.charge(namespace, seconds, api.clock.monotonic())
    guard.tracker.on_long_step = LongStepReporter(api.clock, limits.events).report
    return shares


def lease_config(settings: Settings) -> LeaseConfig:
    """The Lease that the replicas share."""
    namespace, identity, duration = settings.namespace, settings.identity, settings.lease_duration
    return LeaseConfig(namespace=namespace, name=LEASE, identity=identity, duration=duration)


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
