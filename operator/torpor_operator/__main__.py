"""`python -m torpor_operator`: builds the clients, passes them in, and starts every long-lived task.

kopf and Torpor's client both use $KUBECONFIG, or else the pod's ServiceAccount.
"""

import asyncio
import logging
import os
import random
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import kopf
from torpor_api import log_setup
from torpor_api.client import errors, http
from torpor_api.client.api import Api
from torpor_api.client.archive import ArchiveClient
from torpor_api.client.lease import Leadership, Terms
from torpor_api.timing import Clock, SystemClock
from torpor_cel.evaluator import Evaluator

from torpor_operator.controller import kopf_handlers
from torpor_operator.controller.archive import UPLOAD_SECONDS, HttpRunStore
from torpor_operator.controller.archive_access import ArchiveAccess
from torpor_operator.controller.cache import ClusterCache
from torpor_operator.controller.executor import Executor
from torpor_operator.controller.garbage_collector import OrphanedPods
from torpor_operator.controller.namespaces import Namespaces
from torpor_operator.controller.queries import QueryResolver
from torpor_operator.controller.reconciler import Reconciler
from torpor_operator.controller.triggerer_pools import TriggererPools
from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.workqueue import WorkQueue
from torpor_operator.schedule_controller.archived_runs import ArchivedRuns
from torpor_operator.schedule_controller.controllers import ScheduleControllers
from torpor_operator.settings import Settings

_LEASE = "torpor-operator"
_PAUSE = 1.0
_LOG = logging.getLogger(__name__)


def main() -> None:
    """Read the settings, then run until a signal or the loss of the Lease."""
    settings = Settings.parse(sys.argv[1:], os.environ)
    log_setup.configure("%(asctime)s %(levelname)s %(name)s %(message)s")
    for chatty in ("kopf", "aiohttp.access"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    asyncio.run(serve(settings))


async def serve(settings: Settings) -> None:
    """Run kopf, the reflectors and, while this replica holds the Lease, the reconciler."""
    clock = SystemClock()
    async with http.connect(program="torpor-operator") as transport, Evaluator() as evaluator:
        api = Api(transport, clock)
        queue = WorkQueue(clock)
        orphaned_pods = OrphanedPods(api, clock)
        triggerer_pools = TriggererPools(api, settings.namespace)
        access = ArchiveAccess.build(
            api,
            settings.namespace,
            HttpRunStore(ArchiveClient(settings.token_file, limit=UPLOAD_SECONDS)),
            ArchiveClient(settings.token_file).post_json,
            enqueue=queue.add,
            grace=settings.archive_grace,
        )
        cache = ClusterCache(
            api,
            enqueue=queue.add,
            on_orphaned_pod=orphaned_pods.add,
            jitter=random.random,
            triggerer_pool=triggerer_pools.get,
            archive_endpoint=access.archive.endpoint,
            archive_outcome=access.uploads.outcome,
            on_drop=access.uploads.forget,
            enqueue_schedule=lambda key: schedules.enqueue(key),  # noqa: PLW0108 - built below
            why_not_ready=lambda namespace: namespaces.why_not_ready(namespace),  # noqa: PLW0108 - built below
        )
        namespaces = Namespaces(
            api,
            settings.namespace,
            in_use=lambda: cache.namespaces() | schedules.namespaces(),
            on_change=lambda namespace: _enqueue_namespace(namespace, cache, schedules),
        )
        leadership = Leadership(api, _lease_terms(settings))
        resolver = QueryResolver(api, cache, evaluator, access.archive.has_run, access.settled_logs.get)
        schedules = ScheduleControllers.build(
            api,
            cache,
            resolver,
            settings,
            jitter=random.random,
            is_leader=leadership.holds,
            on_forbidden=namespaces.check,
            triggerer_pool=triggerer_pools.get,
            archives=lambda: access.archive.endpoint() is not None,
            why_not_ready=namespaces.why_not_ready,
            find_archived=ArchivedRuns(access.archive.endpoint, ArchiveClient(settings.token_file)).find,
        )
        reconciler = Reconciler(
            clock=clock,
            queue=queue,
            cache=cache,
            resolver=resolver,
            executor=Executor(
                api,
                clock,
                cache,
                settings,
                is_leader=leadership.holds,
                on_forbidden=namespaces.check,
                archive_run=access.uploads.request,
            ),
            orphaned_pods=orphaned_pods,
            settings=settings,
        )
        background: list[asyncio.Task[None]] = []

        async def lead() -> None:
            await access.archive.discovered()
            await _lead(cache, clock, reconciler.run, schedules.run)

        # kopf cancels all tasks of the loop when it exits. Ours must end before that, or the Lease is not released.
        stop = partial(_cancel, background)
        async with asyncio.TaskGroup() as group:
            background += [
                group.create_task(cache.taskruns.run()),
                group.create_task(cache.pods.run()),
                group.create_task(schedules.watch()),
                group.create_task(triggerer_pools.run()),
                group.create_task(namespaces.run()),
                group.create_task(access.run()),
                group.create_task(leadership.run(lead)),
            ]
            await _watch_workflows(settings, cache, UnreadableReporter(api, clock), stop)
            await stop()


def _enqueue_namespace(namespace: str, cache: ClusterCache, schedules: ScheduleControllers) -> None:
    cache.enqueue_namespace(namespace)
    schedules.enqueue_namespace(namespace)


def _lease_terms(settings: Settings) -> Terms:
    return Terms(
        namespace=settings.namespace, name=_LEASE, identity=settings.identity, duration=settings.lease_duration
    )


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _watch_workflows(
    settings: Settings, cache: ClusterCache, reporter: UnreadableReporter, stop: Callable[[], Awaitable[None]]
) -> None:
    """Run kopf until a signal or an error ends it."""
    registry = kopf.OperatorRegistry()
    kopf_handlers.register(registry, cache, stop=stop, report_unreadable=reporter.report)
    await kopf.operator(
        registry=registry,
        settings=kopf_handlers.settings(),
        # kopf's default contains the name of the user, and user 65532 has none.
        identity=settings.identity,  # type: ignore[arg-type]  # kopf does not export this NewType of str
        clusterwide=True,
        liveness_endpoint=settings.liveness,
    )


async def _lead(cache: ClusterCache, clock: Clock, *loops: Callable[[], Coroutine[Any, Any, None]]) -> None:
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


if __name__ == "__main__":
    main()
