"""The shipped archive for the results of a local run that are too large for their TaskRuns, with SQLite in the folder.

Importing it takes a second, so `archive_socket` does so at the first connection. The permissions of the socket's folder
replace authentication: a caller is the pod that it names, and the archive checks as in a cluster that the pod has
claimed its TaskRun.
"""

import asyncio
import socket
from pathlib import Path
from typing import Never

from aiohttp import web
from torpor_archive.auth import policy
from torpor_archive.auth.policy import Caller
from torpor_archive.auth.reviews import AccessReviews
from torpor_archive.http import middleware
from torpor_archive.http.downloads import Downloads
from torpor_archive.http.file_routes import FileRoutes
from torpor_archive.http.routes import Routes
from torpor_archive.http.services import ArchiveServices
from torpor_archive.limits.review_rates import RequestOrigin
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.namespaces import UNKNOWN, NamespaceId
from torpor_archive.storage.database import Database
from torpor_archive.storage.upload import Uploads
from torpor_kubernetes.client.api import Api
from torpor_wire import constants

_RETRY_SECONDS = 10.0
_SHUTDOWN_SECONDS = 1.0


class LocalReviews(AccessReviews):
    """Believes callers. A token is the namespace and the uid of a pod, and its name where it has not claimed."""

    async def authenticate(self, token: str, client: RequestOrigin) -> Caller:
        """Return the pod that the token names."""
        del client
        namespace, uid, name = (*token.split("/"), "", "")[:3]
        user = f"system:serviceaccount:{namespace}:{constants.TASK_ACCOUNT}"
        return Caller(user=user, extra={policy.POD_UID: (uid,), policy.POD_NAME: (name,)})


class LocalNamespaces:
    """The namespaces of a local run, which are never deleted."""

    async def current(self, name: str) -> NamespaceId:
        """Return the namespace of this name."""
        return NamespaceId(name, UNKNOWN)

    async def of_object(self, name: str, created: str) -> NamespaceId:
        """Return the namespace of this name."""
        del created
        return NamespaceId(name, UNKNOWN)


async def serve(api: Api, listening: socket.socket, file: Path) -> Never:
    """Serve the archive's requests for results on a socket, until cancelled."""
    metrics = ArchiveMetrics()
    database = Database(
        f"sqlite:///{file}", api.clock, retry_seconds=_RETRY_SECONDS, on_transaction=metrics.record_transaction
    )
    await database.migrate()
    uploads = Uploads(database, metrics, api.clock, quota=0)
    application = web.Application(middlewares=[middleware.middleware(metrics)])
    services = ArchiveServices(
        database=database,
        reviews=LocalReviews(api),
        namespaces=LocalNamespaces(),
        downloads=Downloads(metrics),
        uploads=uploads,
        clock=api.clock,
    )
    Routes(services).add_to(application)
    FileRoutes(services).add_to(application)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
        await database.close()
    raise AssertionError("unreachable")
