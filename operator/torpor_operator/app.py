"""Assembles one operator replica: caches, controllers, the archive's client and leader election.

All I/O is passed in (API, expressions, archive, clock, jitter) and so is the watch of Workflows, so `__main__`, local
runs and the simulation run the same composition. Must not import kopf, which takes a second and belongs to `__main__`.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

from torpor_expressions.evaluator import Evaluating
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.lease import Leadership, LeaseConfig
from torpor_kubernetes.client.write_limits import WriteLimits
from torpor_kubernetes.timing import Clock

from torpor_operator.backfills.archived_runs import ArchivedRuns, Reader
from torpor_operator.controller.archive import RunStore
from torpor_operator.controller.namespaces import Namespaces
from torpor_operator.controller.settled_logs import Post
from torpor_operator.controller.triggerer_pools import TriggererPools
from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.workqueue import WorkQueue
from torpor_operator.injection.detector import ImageVolumes
from torpor_operator.quarantine.cpu_shares import CpuShares
from torpor_operator.quarantine.long_steps import LongStepReporter
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_operator.schedule_controllers import ScheduleControllers
from torpor_operator.settings import Settings
from torpor_operator.workflows.archive_access import ArchiveAccess
from torpor_operator.workflows.cache import ClusterCache
from torpor_operator.workflows.executor import Executor
from torpor_operator.workflows.orphaned_pods import OrphanedPods
from torpor_operator.workflows.queries import QueryResolver
from torpor_operator.workflows.reconciler import Reconciler

LEASE = "torpor-operator"
_PAUSE = 1.0
_LOG = logging.getLogger(__name__)

Stop = Callable[[], Awaitable[None]]
Loop = Callable[[], Coroutine[Any, Any, None]]


class Leading(Protocol):
    """Decides whether this replica works, as `Leadership` does by a Lease."""

    def holds(self) -> bool:
        """Whether this replica may write now."""

    async def run(self, lead: Loop) -> None:
        """Run `lead` while this replica may write."""


class WatchWorkflows(Protocol):
    """Reports every Workflow and each of its changes to the cache, until the operator ends."""

    async def __call__(self, cache: ClusterCache, stop: Stop) -> None:
        """Watch. Call `stop` before the event loop cancels the tasks of the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveClients:
    """The operator's connections to the archive."""

    store: RunStore
    post: Post
    reader: Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Which parts of the operator run. A process in a cluster runs all of them."""

    archive: bool = True
    schedules: bool = True
    cluster_checks: bool = True
    """Whether namespaces are set up, which triggerer pools are served, and whether nodes support image volumes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """The parts of one replica."""

    api: Api
    guard: WorkGuard
    cache: ClusterCache
    reconciler: Reconciler
    schedules: ScheduleControllers
    access: ArchiveAccess
    triggerer_pools: TriggererPools
    namespaces: Namespaces
    image_volumes: ImageVolumes
    leadership: Leading
    limits: WriteLimits

    @classmethod
    def build(  # noqa: PLR0913 - all I/O
        cls,
        api: Api,
        settings: Settings,
        evaluator: Evaluating,
        archive: ArchiveClients,
        *,
        leadership: Leading | None = None,
        guard: WorkGuard | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> Self:
        """Build them; nothing is sent before `run`.

        Without `leadership` the replicas share a Lease, and without `guard` no object is ever in quarantine.
        """
        clock = api.clock
        limits = write_limits(api, settings)
        guard = guard or WorkGuard()
        cpu_shares = CpuShares()
        guard.tracker.on_step = lambda namespace, seconds: cpu_shares.charge(namespace, seconds, clock.monotonic())
        guard.tracker.on_long_step = LongStepReporter(api, limits.events).report
        queue = WorkQueue(clock, cpu_shares=cpu_shares)
        orphaned_pods = OrphanedPods(api, clock)
        triggerer_pools = TriggererPools(api, settings.namespace)
        access = ArchiveAccess.build(
            api,
            settings.namespace,
            archive.store,
            archive.post,
            enqueue=queue.add,
            grace=settings.archive_grace,
            jitter=jitter,
        )
        cache = ClusterCache(
            api,
            settings,
            enqueue=queue.add,
            enqueue_at=queue.add_at,
            on_orphaned_pod=orphaned_pods.add,
            jitter=jitter,
            triggerer_pool=triggerer_pools.get,
            archive_endpoint=access.archive.endpoint,
            archive_outcome=access.uploads.outcome,
            on_drop=access.uploads.forget,
            enqueue_schedule=lambda key: schedules.enqueue(key),  # noqa: PLW0108 - built below
            why_not_ready=lambda namespace: namespaces.why_not_ready(namespace),  # noqa: PLW0108 - built below
            image_volumes=lambda: image_volumes.supported(),  # noqa: PLW0108 - built below
            guard=guard,
            on_forbidden=lambda namespace: namespaces.check(namespace),  # noqa: PLW0108 - built below
        )
        image_volumes = ImageVolumes(api, settings, namespaces=cache.namespaces)
        namespaces = Namespaces(
            api,
            settings.namespace,
            in_use=lambda: cache.namespaces() | schedules.namespaces(),
            on_change=lambda namespace: _enqueue_namespace(namespace, cache, schedules),
        )
        leadership = leadership or Leadership(api, lease_config(settings))
        resolver = QueryResolver(
            api,
            cache,
            evaluator,
            access.archive.has_run,
            access.settled_logs.get,
            on_forbidden=namespaces.check,
            namespaces=settings.namespaces,
        )
        schedules = ScheduleControllers.build(
            api,
            cache,
            resolver,
            settings,
            limits,
            jitter=jitter,
            is_leader=leadership.holds,
            on_forbidden=namespaces.check,
            triggerer_pool=triggerer_pools.get,
            archives=lambda: access.archive.endpoint() is not None,
            why_not_ready=namespaces.why_not_ready,
            find_archived=ArchivedRuns(access.archive.endpoint, archive.reader).find,
            guard=guard,
            cpu_shares=cpu_shares,
        )
        executor = Executor(
            api,
            clock,
            cache,
            settings,
            limits,
            is_leader=leadership.holds,
            on_forbidden=namespaces.check,
            archive_run=access.uploads.request,
        )
        reconciler = Reconciler(
            clock=clock,
            queue=queue,
            cache=cache,
            resolver=resolver,
            executor=executor,
            orphaned_pods=orphaned_pods,
            settings=settings,
            jitter=jitter,
            guard=guard,
        )
        return cls(
            api=api,
            guard=guard,
            cache=cache,
            reconciler=reconciler,
            schedules=schedules,
            access=access,
            triggerer_pools=triggerer_pools,
            namespaces=namespaces,
            image_volumes=image_volumes,
            leadership=leadership,
            limits=limits,
        )

    async def run(self, watch: WatchWorkflows, parts: Parts = Parts()) -> None:
        """Watch, and reconcile while this replica holds the Lease, until `watch` returns or raises."""
        background: list[asyncio.Task[None]] = []
        # kopf cancels all tasks of the loop when it exits. Ours must end before that, or the Lease is not released.
        stop = partial(_cancel, background)
        await self.guard.load()  # before any object is read
        async with asyncio.TaskGroup() as group:
            background += [group.create_task(loop()) for loop in self._loops(parts)]
            await watch(self.cache, stop)
            await stop()

    async def report_unreadable(self, body: Mapping[str, Any], cause: str) -> None:
        """Report on a Workflow why it cannot be read."""
        await UnreadableReporter(self.api, self.api.clock, self.limits).report(body, cause)

    def _loops(self, parts: Parts) -> list[Loop]:
        return [
            self.cache.taskruns.run,
            self.cache.pods.run,
            *([self.schedules.watch] if parts.schedules else []),
            *(self._cluster_checks() if parts.cluster_checks else []),
            *([self.access.run] if parts.archive else []),
            partial(self.leadership.run, partial(self._lead, parts)),
        ]

    def _cluster_checks(self) -> list[Loop]:
        return [self.triggerer_pools.run, self.namespaces.run, self.image_volumes.run]

    async def _lead(self, parts: Parts) -> None:
        await self.guard.load()
        if parts.archive:
            await self.access.archive.discovered()
        loops = [self.reconciler.run, *([self.schedules.run] if parts.schedules else [])]
        await lead(self.cache, self.api.clock, *loops)


async def lead(cache: ClusterCache, clock: Clock, *loops: Loop) -> None:
    """Reconcile on lists that began after the Lease was acquired, so they contain all writes of the former leader.

    A watch may be seconds behind, and would not show a pod that the former leader has just created.
    """
    while True:
        try:
            await cache.refresh()
            break
        except errors.ApiError as error:
            _LOG.warning("cannot list the cluster's objects: %s", error.message)
            await clock.sleep(_PAUSE)
    async with asyncio.TaskGroup() as group:
        for loop in loops:
            group.create_task(loop())


def _enqueue_namespace(namespace: str, cache: ClusterCache, schedules: ScheduleControllers) -> None:
    cache.enqueue_namespace(namespace)
    schedules.enqueue_namespace(namespace)


def write_limits(api: Api, settings: Settings) -> WriteLimits:
    """The limits of this process."""
    return WriteLimits.build(
        api,
        places=settings.apply_concurrency,
        write_rate=settings.namespace_write_rate,
        write_burst=settings.namespace_write_burst,
        event_rate=settings.namespace_event_rate,
        event_burst=settings.namespace_event_burst,
    )


def lease_config(settings: Settings) -> LeaseConfig:
    """The Lease that the replicas share."""
    namespace, identity, duration = settings.namespace, settings.identity, settings.lease_duration
    return LeaseConfig(namespace=namespace, name=LEASE, identity=identity, duration=duration)


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
