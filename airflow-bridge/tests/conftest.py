"""An HTTP server on loopback that counts requests and answers by path, and an interpreter that has imported Airflow."""

import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torpor_airflow  # noqa: F401 - prepares the environment of Airflow before anything imports it
from aiohttp import web
from torpor_airflow.check import prefork
from torpor_airflow.connections import pool_lookups

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "samples")]


@dataclass(slots=True, kw_only=True)
class LoopbackServer:
    """Its port, and what arrived: the path and the Authorization header of each request."""

    port: int = 0
    requests: list[tuple[str, str]] = field(default_factory=list)
    answers: dict[str, list[int]] = field(default_factory=dict)
    """The status codes of a path, in order; the last one stays. Without an entry, 200."""

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append((request.path, request.headers.get("Authorization", "")))
        codes = self.answers.get(request.path, [200])
        code = codes.pop(0) if len(codes) > 1 else codes[0]
        return web.json_response({"path": request.path}, status=code)


@pytest.fixture(autouse=True)
def process_without_triggers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One test is in a pool, the next one in a pod."""
    monkeypatch.setattr(pool_lookups, "_is_pool", threading.Event())


@pytest.fixture
async def server() -> AsyncIterator[LoopbackServer]:
    served = LoopbackServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", served.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    served.port = runner.addresses[0][1]
    yield served
    await runner.cleanup()


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The interpreter of the tasks of local runs."""
    with prefork.started(tmp_path_factory.mktemp("prefork"), {}) as program:
        yield program
