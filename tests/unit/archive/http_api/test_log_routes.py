"""The HTTP API of logs: who may read which, and which parameters are accepted."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from torpor_archive.auth.policy import Caller
from torpor_archive.auth.reviews import AccessReviews
from torpor_archive.http import middleware
from torpor_archive.http.downloads import Downloads
from torpor_archive.http.log_routes import LogRoutes
from torpor_archive.limits import review_rates
from torpor_archive.logs.waits import WaitLogs
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.storage.database import Database

from tests.support.fake_api import VirtualClock
from tests.unit.archive.fixed_namespaces import FixedNamespaces
from tests.unit.archive.storage.test_log_store import SOURCE, keep

Client = TestClient[web.Request, web.Application]


class TeamReviews:
    """A user who may read the logs of namespace `team` only."""

    async def authenticate(self, _token: str, _client: review_rates.RequestOrigin) -> Caller:
        return Caller(user="ann")

    async def may_read_logs(self, _caller: Caller, namespace: str) -> bool:
        return namespace == "team"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    database = Database(
        f"sqlite:///{tmp_path}/a.db", VirtualClock(), retry_seconds=0.1, on_transaction=lambda _succeeded: None
    )
    await database.migrate()
    await keep(database, SOURCE)
    metrics = ArchiveMetrics()
    application = web.Application(middlewares=[middleware.middleware(metrics)])
    LogRoutes(
        database,
        cast("AccessReviews", TeamReviews()),
        FixedNamespaces(),
        Downloads(metrics),
        waits=cast("WaitLogs", None),
        objects=None,
    ).add_to(application)
    async with TestClient(TestServer(application), headers={"Authorization": "Bearer t"}) as http_client:
        yield http_client
    await database.close()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("team/logs/u1", 200),
        ("other/logs/u1", 403),
        ("team/logs/u2", 404),
        ("team/runs/w/logs", 200),
        ("other/runs/w/logs", 403),
    ],
)
async def test_logs_are_read_in_their_namespace_only(client: Client, path: str, status: int) -> None:
    assert (await client.get(f"/v1/namespaces/{path}")).status == status


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("task=load", 200),
        ("task=a%00b", 400),
        ("task=", 400),
        ("failed=yes", 400),
        ("attempt=x", 400),
        ("state=Kept", 400),
        ("continue=x", 400),
    ],
)
async def test_a_filter_that_is_unknown_or_invalid_is_refused(client: Client, query: str, status: int) -> None:
    assert (await client.get(f"/v1/namespaces/team/runs/w/logs?{query}")).status == status
