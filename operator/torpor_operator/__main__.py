"""`python -m torpor_operator`: builds the clients, passes them in, and runs the operator under kopf.

kopf and Torpor's client both use $KUBECONFIG, or else the pod's ServiceAccount.
"""

import asyncio
import logging
import os
import sys

import kopf
from torpor_api import log_setup
from torpor_api.client import http
from torpor_api.client.api import Api
from torpor_api.client.archive import ArchiveClient
from torpor_api.timing import SystemClock
from torpor_cel.evaluator import Evaluator

from torpor_operator.app import ArchiveClients, Operator, Stop
from torpor_operator.controller import kopf_handlers
from torpor_operator.controller.archive import UPLOAD_SECONDS, HttpRunStore
from torpor_operator.controller.cache import ClusterCache
from torpor_operator.settings import Settings


def main() -> None:
    """Read the settings, then run until a signal or the loss of the Lease."""
    settings = Settings.parse(sys.argv[1:], os.environ)
    log_setup.configure("%(asctime)s %(levelname)s %(name)s %(message)s")
    for chatty in ("kopf", "aiohttp.access"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    asyncio.run(serve(settings))


async def serve(settings: Settings) -> None:
    """Run kopf, the reflectors and, while this replica holds the Lease, the reconciler."""
    async with http.connect(program="torpor-operator") as transport, Evaluator() as evaluator:
        archive = ArchiveClients(
            store=HttpRunStore(ArchiveClient(settings.token_file, limit=UPLOAD_SECONDS)),
            post=ArchiveClient(settings.token_file).post_json,
            reader=ArchiveClient(settings.token_file),
        )
        operator = Operator.build(Api(transport, SystemClock()), settings, evaluator, archive)

        async def watch(cache: ClusterCache, stop: Stop) -> None:
            await _run_kopf(settings, operator, cache, stop)

        await operator.run(watch)


async def _run_kopf(settings: Settings, operator: Operator, cache: ClusterCache, stop: Stop) -> None:
    """Run kopf until a signal or an error ends it."""
    registry = kopf.OperatorRegistry()
    kopf_handlers.register(registry, cache, stop=stop, report_unreadable=operator.report_unreadable)
    await kopf.operator(
        registry=registry,
        settings=kopf_handlers.settings(),
        # kopf's default contains the name of the user, and user 65532 has none.
        identity=settings.identity,  # type: ignore[arg-type]  # kopf does not export this NewType of str
        clusterwide=True,
        liveness_endpoint=settings.liveness,
    )


if __name__ == "__main__":
    main()
