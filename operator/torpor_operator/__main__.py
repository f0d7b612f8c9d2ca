"""`python -m torpor_operator`: builds the clients and hands them in; everything that lives long is started here.

Which cluster: $KUBECONFIG, else the pod's service account, for kopf and for the client alike.
"""

import argparse
import asyncio
import logging
import os
import random
import socket
from functools import partial

import kopf
from torpor_api import client
from torpor_api.api import Api
from torpor_api.clock import SystemClock
from torpor_api.lease import Leadership, Terms
from torpor_cel.evaluator import Evaluator

from torpor_operator import handlers
from torpor_operator.answers import Answerer
from torpor_operator.apply import Applier
from torpor_operator.observe import Observer
from torpor_operator.orphans import Orphans
from torpor_operator.queue import WorkQueue
from torpor_operator.reconciler import Reconciler
from torpor_operator.settings import Settings

_LEASE = "torpor-operator"


def main() -> None:
    """Read the command line, then run until a signal or the loss of the Lease."""
    parser = argparse.ArgumentParser(prog="torpor-operator", description="The Torpor controller.")
    parser.add_argument("--namespace", default=os.environ.get("POD_NAMESPACE", "torpor-system"), help="of the Lease")
    parser.add_argument("--identity", default=os.environ.get("POD_NAME", socket.gethostname()), help="in the Lease")
    parser.add_argument("--liveness", default="http://0.0.0.0:8080/healthz", help="where kopf answers the probe")
    for name, kind, default in _durations():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for chatty in ("kopf", "aiohttp.access"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    settings = Settings(**{name: getattr(options, name) for name, _, _ in _durations()})
    asyncio.run(serve(options, settings))


async def serve(options: argparse.Namespace, settings: Settings) -> None:
    """Run kopf, the reflectors and, while this replica holds the Lease, the reconciler."""
    clock = SystemClock()
    async with client.connect(program="torpor-operator") as transport, Evaluator() as evaluator:
        api = Api(transport, clock)
        queue = WorkQueue(clock)
        orphans = Orphans(api, clock)
        observer = Observer(api, touched=queue.add, suspect=orphans.suspect, jitter=random.random)
        applier = Applier(api, clock, observer, settings)
        answerer = Answerer(api, observer, evaluator)
        reconciler = Reconciler(
            clock=clock,
            queue=queue,
            observer=observer,
            answerer=answerer,
            applier=applier,
            orphans=orphans,
            settings=settings,
        )
        terms = Terms(
            namespace=options.namespace, name=_LEASE, identity=options.identity, duration=settings.lease_duration
        )
        leadership = Leadership(api, terms)
        background: list[asyncio.Task[None]] = []

        async def stop() -> None:
            # Before kopf does: it waits for every task that it finds, then cuts short the release of the Lease.
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)

        registry = kopf.OperatorRegistry()
        handlers.register(registry, observer, stop=stop)
        async with asyncio.TaskGroup() as group:
            background += [
                group.create_task(observer.taskruns.run()),
                group.create_task(observer.pods.run()),
                group.create_task(leadership.run(partial(_lead, observer, reconciler))),
            ]
            await kopf.operator(
                registry=registry,
                settings=handlers.settings(),
                identity=options.identity,  # kopf's own guess looks up the user's name, and 65532 has none
                clusterwide=True,
                liveness_endpoint=options.liveness,
            )
            await stop()


async def _lead(observer: Observer, reconciler: Reconciler) -> None:
    await observer.taskruns.synced.wait()
    await observer.pods.synced.wait()
    await reconciler.run()


def _durations() -> list[tuple[str, type, object]]:
    """The settings that the command line may change: every number."""
    return [
        (name, field.type, field.default)
        for name, field in Settings.__dataclass_fields__.items()
        if isinstance(field.type, type)
    ]


if __name__ == "__main__":
    main()
