"""`python -m torpor_triggerer --pool default`: builds the clients, passes them in, and stops at SIGTERM."""

import asyncio
import logging
import os
import signal
import sys

from prometheus_client import disable_created_metrics
from torpor_expressions.evaluator import Evaluator
from torpor_kubernetes import health_server
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.archive import ArchiveClient
from torpor_kubernetes.client.errors import Unconfigured
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.timing import SystemClock

from torpor_triggerer.app import Triggerer
from torpor_triggerer.logs.guard import LogGuard
from torpor_triggerer.logs.trigger_log import TriggerLog
from torpor_triggerer.network.addresses import Addresses, own
from torpor_triggerer.network.connections import OutboundNetwork
from torpor_triggerer.reporting.metrics import CONTENT_TYPE
from torpor_triggerer.secrets.pool_keys import PoolKeys
from torpor_triggerer.services import http
from torpor_triggerer.services.account_transport import AccountTransports
from torpor_triggerer.services.trigger_services import Backends
from torpor_triggerer.settings import Settings
from torpor_triggerer.sharding.namespace_owners import NamespaceOwners
from torpor_triggerer.usercode import registry

EXIT_SECONDS = 20.0
"""A trigger that ignores its cancellation must not hold up the exit; a pod has 30 s."""

log = logging.getLogger("torpor_triggerer")


async def serve(given: Settings, known: registry.Registry, trigger_log: TriggerLog, guard: LogGuard) -> None:
    """Run one replica until a signal ends it."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _stop, stopping)
    network = OutboundNetwork(
        addresses=Addresses.build(allow=given.allow_networks, deny=given.deny_networks, own=own(os.environ)),
        answer_bytes=given.answer_limit,
        request_seconds=given.max_request_timeout,
    )
    async with (
        connect(given.kubeconfig, program="torpor-triggerer", connections=given.concurrency + 16) as transport,
        Evaluator() as evaluator,
        http.connect(network) as client,
    ):
        backends = Backends(
            api=Api(transport, SystemClock()),
            evaluator=evaluator,
            web=client,
            network=network,
            folders=given.folder,
            lends_identity=given.lend_identity,
            archive=ArchiveClient(),
            as_account=AccountTransports(transport, SystemClock()).transport_for,
        )
        triggerer = Triggerer(
            backends,
            known,
            given,
            trigger_log=trigger_log,
            pool_keys=PoolKeys(backends.api, given),
            owners=NamespaceOwners(backends.api, home=given.namespace, namespaces=given.namespaces),
        )
        triggerer.metrics.add_process_metrics()
        checks = {"/healthz": triggerer.readiness_error, "/livez": triggerer.liveness_error}
        pages = {"/metrics": health_server.HealthPage(CONTENT_TYPE, triggerer.metrics.text)}
        async with health_server.serve(given.health_port, checks, pages) as port:
            log.info("Serving pool %s as %s, health on port %d", given.pool, given.identity, port)
            checking = asyncio.create_task(guard.run(backends.api.clock))
            with triggerer.placement.watching(given.apart):
                await triggerer.run(stopping)
            checking.cancel()
        await backends.clients.closed()


def main() -> int:
    """The process."""
    given = Settings.parse(sys.argv[1:], os.environ)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # moments of no use, a line for each counter
    trigger_log = TriggerLog(given.log_format)
    guard = LogGuard(trigger_log, sys.stderr)
    guard.restore()
    try:
        asyncio.run(serve(given, registry.load(given.triggers, guard.check), trigger_log, guard))
    except Unconfigured as error:
        log.error("%s", error.message)  # noqa: TRY400 - a person's mistake, not a bug
        return 1
    return 0


def _stop(stopping: asyncio.Event) -> None:
    stopping.set()
    asyncio.get_running_loop().call_later(EXIT_SECONDS, os._exit, 1)


if __name__ == "__main__":
    sys.exit(main())
