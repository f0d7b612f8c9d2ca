"""`python -m torpor_archive`: builds the clients, serves, and stops at SIGTERM."""

import asyncio
import logging
import os
import random
import signal
import ssl
import sys
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Never

from aiohttp import web
from prometheus_client import disable_created_metrics
from torpor_kubernetes import log_setup
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.errors import ApiError, Unconfigured
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.timing import SystemClock
from torpor_wire.retry import Backoff

from torpor_archive.auth.reviews import AccessReviews
from torpor_archive.errors import RefusedError
from torpor_archive.http import middleware
from torpor_archive.http.connections import ConnectionLimits, Connections
from torpor_archive.http.downloads import Downloads
from torpor_archive.http.file_routes import FileRoutes
from torpor_archive.http.health import Health
from torpor_archive.http.listener import serve_on
from torpor_archive.http.log_routes import LogRoutes
from torpor_archive.http.routes import Routes
from torpor_archive.http.run_result_routes import RunResultRoutes
from torpor_archive.http.services import ArchiveServices
from torpor_archive.http.step_routes import StepRoutes
from torpor_archive.logs.reader import LogTransport
from torpor_archive.logs.service import LogService
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.namespaces import ClusterNamespaces
from torpor_archive.settings import ArchiveSettings
from torpor_archive.storage import retention
from torpor_archive.storage.database import Database
from torpor_archive.storage.file_objects import FileBucket
from torpor_archive.storage.retention import Sweep
from torpor_archive.storage.upload import Uploads
from torpor_archive.tls import CertificatePublisher, KeyPair

CONNECTIONS = 64
"""To the API server: more than access reviews and reviews of unknown tokens take together."""
BACKOFF = Backoff(first=0.5, cap=3.0, jitter=0.0)
PUBLISH_SECONDS = 300.0
PROBES = ConnectionLimits(total=128, per_address=32)

log = logging.getLogger("torpor_archive")


async def serve(settings: ArchiveSettings) -> None:
    """Run one replica until a signal arrives."""
    stopping = _stop_at_signals()
    clock, metrics = SystemClock(), ArchiveMetrics()
    metrics.watch_process()
    database = Database(
        settings.database, clock, retry_seconds=settings.retry_timeout, on_transaction=metrics.record_transaction
    )
    health = Health(database, metrics)
    async with (
        connect(settings.kubeconfig, program="torpor-archive", connections=CONNECTIONS) as transport,
        serve_on(health.application(), settings.health_port, Connections(PROBES)),
    ):
        activities = _activities(
            settings, Api(transport, clock), transport, database=database, health=health, metrics=metrics
        )
        try:
            await _run_until_one_ends(*activities, stopping.wait())
        finally:
            await database.close()


def _stop_at_signals() -> asyncio.Event:
    stopping = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stopping.set)
    return stopping


def _activities(  # noqa: PLR0913 - what serve() builds and closes
    settings: ArchiveSettings,
    api: Api,
    transport: LogTransport,
    *,
    database: Database,
    health: Health,
    metrics: ArchiveMetrics,
) -> tuple[Coroutine[Any, Any, object], ...]:
    """Build the parts, and return what runs until the process stops."""
    uploads = Uploads(database, metrics, api.clock, rate=settings.min_upload_rate, quota=settings.namespace_quota)
    reviews, namespaces = AccessReviews(api, _count_reviews(metrics)), ClusterNamespaces(api)
    downloads = Downloads(metrics, settings.min_download_rate)
    logs = LogService.build(
        api,
        transport,
        database,
        reviews,
        namespaces,
        metrics=metrics,
        objects_url=settings.objects,
        quota_bytes=settings.namespace_quota,
        served=settings.namespaces,
    )
    bucket = FileBucket.open(settings.objects) if settings.objects else None
    services = ArchiveServices(
        database=database,
        reviews=reviews,
        namespaces=namespaces,
        downloads=downloads,
        uploads=uploads,
        clock=api.clock,
    )
    routes = (
        Routes(services),
        FileRoutes(services, bucket=bucket),
        StepRoutes(services),
        RunResultRoutes(services),
        LogRoutes(database, reviews, namespaces, downloads, waits=logs.waits, objects=logs.objects),
    )
    sweep = Sweep(
        database=database,
        api=api,
        namespaces=namespaces,
        metrics=metrics,
        runs=settings.run_retention,
        interval=settings.sweep_interval,
        quota=settings.namespace_quota,
    )
    publisher = CertificatePublisher(api, settings.namespace)
    return (
        _maintain_database(sweep),
        _serve_api(settings, publisher, routes, health, metrics),
        logs.run(settings.sweep_interval),
    )


async def _run_until_one_ends(*activities: Coroutine[Any, Any, object]) -> None:
    """Cancel the others when the first one ends. Raises its error."""
    tasks = [asyncio.create_task(activity) for activity in activities]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


def _count_reviews(metrics: ArchiveMetrics) -> Callable[[str], None]:
    return lambda result: metrics.token_reviews.labels(result).inc()


def main() -> int:
    """Run the process and return its exit code."""
    settings = ArchiveSettings.parse(sys.argv[1:], os.environ)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # one unused series per counter
    log_setup.configure("%(asctime)s %(levelname)s %(name)s: %(message)s", settings.log_format, component="archive")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    try:
        asyncio.run(serve(settings))
    except Unconfigured as error:
        log.error("%s", error.message)  # noqa: TRY400 - a user error, not a bug
        return 1
    except ValueError as error:
        log.error("%s", error)  # noqa: TRY400 - most likely an invalid database URL
        return 1
    return 0


async def _maintain_database(sweep: Sweep) -> Never:
    """Migrate the tables, then delete periodically what is no longer needed."""
    await _retry(sweep.database.migrate, "cannot migrate the tables")
    log.info("database migration complete")
    await retention.run(sweep, random.random)


async def _serve_api(
    settings: ArchiveSettings,
    publisher: CertificatePublisher,
    routes: tuple[Routes, FileRoutes, StepRoutes, RunResultRoutes, LogRoutes],
    health: Health,
    metrics: ArchiveMetrics,
) -> Never:
    """Serve HTTPS, and keep the address and the certificate published."""
    key_pairs: list[KeyPair] = []

    async def fetch() -> None:
        key_pairs.append(await publisher.load_key_pair(settings.host))

    await _retry(fetch, "cannot read or create the certificate")
    key_pair, url = key_pairs[0], settings.published_url
    application = web.Application(middlewares=[middleware.middleware(metrics)])
    for each in routes:
        each.add_to(application)
    connections = Connections(settings.connections, metrics.refused_connections.inc)
    metrics.connections.set_function(lambda: len(connections))
    async with serve_on(application, settings.port, connections, create_ssl_context(key_pair)):
        health.is_serving = True
        log.info("serving %s on port %d", url, settings.port)
        while True:
            await _retry(lambda: publisher.publish(url, key_pair.certificate), "cannot publish the address")
            await asyncio.sleep(PUBLISH_SECONDS)


async def _retry(operation: Callable[[], Awaitable[None]], problem: str) -> None:
    failures = 0
    while True:
        try:
            return await operation()
        except (ApiError, RefusedError) as error:
            log.warning("%s, retrying: %s", problem, error)
            failures += 1
            await asyncio.sleep(BACKOFF.delay(failures))


def create_ssl_context(key_pair: KeyPair) -> ssl.SSLContext:
    """Load the key pair into a TLS context for the server."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # The standard library loads certificates from files only.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "key_pair.pem"
        path.touch(mode=0o600)
        path.write_text(key_pair.key + key_pair.certificate)
        context.load_cert_chain(path)
    return context


if __name__ == "__main__":
    sys.exit(main())
