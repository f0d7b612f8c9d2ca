"""Health and metrics, without TLS, on a port of their own.

`/healthz` asks whether a restart would help, and a database that is down is no reason for one; `/readyz` asks whether
this replica can serve, and says what is missing.
"""

from http import HTTPStatus

from aiohttp import web

from torpor_archive.errors import RefusedError
from torpor_archive.metrics import CONTENT_TYPE, Metrics
from torpor_archive.storage.database import Database


class Health:
    """What a probe is told. `serves` is set where the port for results is open."""

    def __init__(self, database: Database, metrics: Metrics) -> None:
        self._database = database
        self._metrics = metrics
        self.serves = False

    def application(self) -> web.Application:
        """The three pages."""
        made = web.Application()
        made.add_routes(
            [
                web.get("/healthz", self.alive),
                web.get("/readyz", self.ready),
                web.get("/metrics", self.metrics),
            ]
        )
        return made

    async def alive(self, _request: web.Request) -> web.Response:
        """The loop runs."""
        return web.Response(text="ok\n")

    async def ready(self, _request: web.Request) -> web.Response:
        """Whether a result could be put now."""
        complaint = await self._complaint()
        if complaint:
            return web.Response(text=f"{complaint}\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
        return web.Response(text="ok\n")

    async def metrics(self, _request: web.Request) -> web.Response:
        """What was counted."""
        return web.Response(body=self._metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def _complaint(self) -> str:
        if not self.serves:
            return "NotServing: there is no certificate yet; the log says why"
        if not self._database.is_ready:
            return "DatabaseUnavailable: the tables have not been made or brought up to date; the log says why"
        try:
            await self._database.answers()
        except RefusedError as error:
            return f"{error.refusal.reason}: {error.refusal.message}"
        return ""
