"""Health checks and metrics on a separate port, without TLS.

`/healthz` fails only if a restart would help; an unavailable database is no reason to restart. `/readyz` says whether
this replica can serve, and why not.
"""

from http import HTTPStatus

from aiohttp import web

from torpor_archive.errors import RefusedError
from torpor_archive.metrics import CONTENT_TYPE, ArchiveMetrics
from torpor_archive.storage.database import Database


class Health:
    """The three endpoints. `is_serving` becomes true when the API port is open."""

    def __init__(self, database: Database, metrics: ArchiveMetrics) -> None:
        self._database = database
        self._metrics = metrics
        self.is_serving = False

    def application(self) -> web.Application:
        """Build the web application."""
        application = web.Application()
        application.add_routes(
            [
                web.get("/healthz", self.healthz),
                web.get("/readyz", self.readyz),
                web.get("/metrics", self.metrics),
            ]
        )
        return application

    async def healthz(self, _request: web.Request) -> web.Response:
        """Respond while the event loop runs."""
        return web.Response(text="ok\n")

    async def readyz(self, _request: web.Request) -> web.Response:
        """Respond 503, with the reason, unless this replica can store a result."""
        problem = await self._not_ready_reason()
        if problem:
            return web.Response(text=f"{problem}\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
        return web.Response(text="ok\n")

    async def metrics(self, _request: web.Request) -> web.Response:
        """Respond with the metrics in Prometheus' text format."""
        return web.Response(body=self._metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def _not_ready_reason(self) -> str:
        if not self.is_serving:
            return "NotServing: there is no certificate yet; see the log"
        if not self._database.is_ready:
            return "DatabaseUnavailable: the tables have not been migrated; see the log"
        try:
            await self._database.ping()
        except RefusedError as error:
            return f"{error.refusal.reason}: {error.refusal.message}"
        return ""
