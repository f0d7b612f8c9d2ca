"""`python -m torpor_operator`: builds the clients, passes them in, and runs the operator under kopf.

kopf and Torpor's client both use $KUBECONFIG, or else the pod's ServiceAccount.
"""

import asyncio
import logging
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Never

import kopf
from prometheus_client import disable_created_metrics
from torpor_expressions.evaluator import Evaluator
from torpor_kubernetes import health_server, log_setup
from torpor_kubernetes.client import http, loop_thread
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.archive import ArchiveClient
from torpor_kubernetes.client.events import EventPoster
from torpor_kubernetes.client.lease import Leadership, Renewals
from torpor_kubernetes.client.observed_transport import ObservedTransport
from torpor_kubernetes.timing import SystemClock

from torpor_operator.app import LEASE, ArchiveClients, Operator, Stop, lease_config
from torpor_operator.controller import kopf_handlers
from torpor_operator.controller.archive import UPLOAD_SECONDS, HttpRunStore
from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.observability.operator_metrics import CONTENT_TYPE, OperatorMetrics
from torpor_operator.observability.span_exporter import SpanExporter
from torpor_operator.quarantine.hang_timer import HangTimer
from torpor_operator.quarantine.lease_annotation import LeaseAnnotation
from torpor_operator.quarantine.quarantine import Quarantine
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_operator.quarantine.work_journal import WorkJournal
from torpor_operator.quarantine.work_tracker import WorkTracker
from torpor_operator.settings import Settings


def main() -> None:
    """Read the settings, then run until a signal or the loss of the Lease."""
    settings = Settings.parse(sys.argv[1:], os.environ)
    log_setup.configure("%(asctime)s %(levelname)s %(name)s %(message)s", settings.log_format, component="operator")
    for chatty in ("kopf", "aiohttp.access"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # moments of no use, a line for each counter
    asyncio.run(serve(settings))


async def serve(settings: Settings) -> None:
    """Run kopf, the reflectors and, while this replica holds the Lease, the reconciler."""
    async with http.connect(program="torpor-operator") as transport, Evaluator() as evaluator:
        archive = ArchiveClients(
            store=HttpRunStore(ArchiveClient(settings.token_file, limit=UPLOAD_SECONDS)),
            post=ArchiveClient(settings.token_file).post_json,
            reader=ArchiveClient(settings.token_file),
        )
        clock, metrics = SystemClock(), OperatorMetrics()
        api = Api(ObservedTransport(transport, metrics.wrote, clock.monotonic), clock)
        hang_timer = HangTimer(cpu_seconds=settings.hang_cpu, seconds=settings.hang)
        leadership = Leadership(
            api, lease_config(settings), run_renewals=_renew_in_thread, is_alive=hang_timer.is_alive
        )
        limits = WriteLimits.build(api, settings)
        guard = _work_guard(api, settings, limits.events)
        operator = Operator.build(
            api,
            settings,
            evaluator,
            archive,
            leadership=leadership,
            guard=guard,
            limits=limits,
            metrics=metrics,
            spans=_span_exporter(settings, metrics),
        )

        async def watch(cluster: ClusterCache, stop: Stop) -> None:
            await _run_kopf(settings, operator, cluster, stop)

        async with hang_timer, _serve_metrics(settings, metrics):
            await operator.run(watch)


def _span_exporter(settings: Settings, metrics: OperatorMetrics) -> SpanExporter | None:
    """The exporter of traces, if an endpoint is set. The libraries take 20 MB, so they are imported only then."""
    if not settings.otlp_endpoint:
        return None
    otlp = import_module("torpor_operator.observability.otlp")
    return SpanExporter(otlp.OtlpSender(settings.otlp_endpoint), SystemClock(), metrics.registry)


@asynccontextmanager
async def _serve_metrics(settings: Settings, metrics: OperatorMetrics) -> AsyncIterator[None]:
    """Serve the metrics from the loop of the operator, and measure how late that is."""
    metrics.add_process_metrics()
    heartbeat = health_server.Heartbeat(SystemClock(), metrics.lagged)
    pages = {"/metrics": health_server.HealthPage(CONTENT_TYPE, metrics.text)}
    async with health_server.serve(settings.metrics_port, {}, pages):
        beating = asyncio.create_task(heartbeat.run())
        try:
            yield
        finally:
            beating.cancel()


def _work_guard(api: Api, settings: Settings, poster: EventPoster) -> WorkGuard:
    """Tracks the work in a file, and holds back the object that the former process of this replica left there."""
    path = Path(settings.state_folder) / f"torpor-operator-{settings.identity}.work"
    try:
        journal = WorkJournal.open(path)
    except OSError as error:
        logging.getLogger(__name__).warning("no object can be put into quarantine: %s: %s", path, error.strerror)
        journal = WorkJournal()
    annotation = LeaseAnnotation(api, settings.namespace, LEASE)
    tracker = WorkTracker(journal, cpu_time=time.thread_time)
    return WorkGuard(tracker, Quarantine(api, annotation, poster, ended_at=journal.read()))


async def _renew_in_thread(renewals: Renewals) -> Never:
    """Renew the Lease in a thread of its own, so that a slow second of the event loop does not end the leadership."""
    await loop_thread.run_in_thread(_connect, renewals, name="lease")
    raise AssertionError("renewals do not end")


@asynccontextmanager
async def _connect() -> AsyncIterator[Api]:
    async with http.connect(program="torpor-operator", connections=1) as transport:
        yield Api(transport, SystemClock())


async def _run_kopf(settings: Settings, operator: Operator, cache: ClusterCache, stop: Stop) -> None:
    """Run kopf until a signal or an error ends it."""
    registry = kopf.OperatorRegistry()
    kopf_handlers.register(
        registry,
        cache,
        stop=stop,
        report_unreadable=operator.report_unreadable,
        dropped_events=lambda: operator.limits.events.dropped,
    )
    await kopf.operator(
        registry=registry,
        settings=kopf_handlers.settings(is_confined=bool(settings.namespaces)),
        # kopf's default contains the name of the user, and user 65532 has none.
        identity=settings.identity,  # type: ignore[arg-type]  # kopf does not export this NewType of str
        clusterwide=not settings.namespaces,
        namespaces=settings.namespaces,
        liveness_endpoint=settings.liveness,
    )


if __name__ == "__main__":
    main()
