"""`python -m torpor_operator`: builds the clients and hands them in; everything that lives long is started here.

Which cluster: $KUBECONFIG, else the pod's service account, for kopf and for the client alike.
"""

import asyncio
import logging
import os
import random
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import kopf
from torpor_api import log_setup
from torpor_api.client import errors, http
from torpor_api.client.api import Api
from torpor_api.client.archive import ArchiveClient
from torpor_api.client.lease import Leadership, Terms
from torpor_api.timing import Clock, SystemClock
from torpor_cel.evaluator import Evaluator

from torpor_operator.controller import kopf_handlers
from torpor_operator.controller.archive import Archive, ArchiveUploader
from torpor_operator.controller.cache import Observer
from torpor_operator.controller.executor import Applier
from torpor_operator.controller.garbage_collector import Orphans
from torpor_operator.controller.namespaces import Namespaces
from torpor_operator.controller.queries import QueryResolver
from torpor_operator.controller.reconciler import Reconciler
from torpor_operator.controller.triggerer_pools import Pools
from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.workqueue import WorkQueue
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
        orphans = Orphans(api, clock)
        pools = Pools(api, settings.namespace)
        archive = Archive(api, settings.namespace, ArchiveUploader(ArchiveClient(settings.token_file)))
        observer = Observer(
            api,
            touched=queue.add,
            suspect=orphans.suspect,
            jitter=random.random,
            pools=pools.of,
            archive=archive.seat,
            missing=lambda namespace: namespaces.missing(namespace),  # noqa: PLW0108 - made after it
        )
        namespaces = Namespaces(api, settings.namespace, in_use=observer.namespaces, on_change=observer.touch_namespace)
        leadership = Leadership(api, _terms(settings))
        applier = Applier(api, clock, observer, settings, leads=leadership.holds, suspect=namespaces.suspect)
        answerer = QueryResolver(api, observer, evaluator, archive.keep)
        reconciler = Reconciler(
            clock=clock,
            queue=queue,
            observer=observer,
            answerer=answerer,
            applier=applier,
            orphans=orphans,
            settings=settings,
        )
        background: list[asyncio.Task[None]] = []

        async def lead() -> None:
            await archive.known()
            await _lead(observer, reconciler, clock)

        # Before kopf does: it waits for every task that it finds, then cuts short the release of the Lease.
        stop = partial(_end, background)
        async with asyncio.TaskGroup() as group:
            background += [
                group.create_task(observer.taskruns.run()),
                group.create_task(observer.pods.run()),
                group.create_task(pools.run()),
                group.create_task(namespaces.run()),
                group.create_task(archive.run()),
                group.create_task(leadership.run(lead)),
            ]
            await _watch_workflows(settings, observer, UnreadableReporter(api, clock), stop)
            await stop()


def _terms(settings: Settings) -> Terms:
    return Terms(
        namespace=settings.namespace, name=_LEASE, identity=settings.identity, duration=settings.lease_duration
    )


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _watch_workflows(
    settings: Settings, observer: Observer, reporter: UnreadableReporter, stop: Callable[[], Awaitable[None]]
) -> None:
    """Kopf's part, until it is told to end."""
    registry = kopf.OperatorRegistry()
    kopf_handlers.register(registry, observer, stop=stop, report=reporter.report)
    await kopf.operator(
        registry=registry,
        settings=kopf_handlers.settings(),
        # kopf's default contains the name of the user, and user 65532 has none.
        identity=settings.identity,  # type: ignore[arg-type]  # kopf does not export this NewType of str
        clusterwide=True,
        liveness_endpoint=settings.liveness,
    )


async def _lead(observer: Observer, reconciler: Reconciler, clock: Clock) -> None:
    """Plans on lists that were begun after the Lease was taken: all that a former leader did is in them.

    A watch may be seconds behind, and would not show a pod that the former leader has just created.
    """
    while True:
        try:
            await observer.refresh()
            break
        except errors.ApiError as error:
            _LOG.warning("cannot list what there is: %s", error.message)
            await clock.sleep(_PAUSE)
    await reconciler.run()


if __name__ == "__main__":
    main()
