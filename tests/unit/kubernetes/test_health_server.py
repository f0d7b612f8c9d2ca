"""The health endpoint over a real socket."""

import asyncio

import aiohttp
import pytest
from torpor_kubernetes import health_server


async def ask(port: int, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as response,
    ):
        return response.status, await response.text()


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/healthz", 503, "the lease was not renewed\n"),
        ("/livez", 200, "ok\n"),
        ("/", 404, "paths: /healthz, /livez\n"),
    ],
)
async def test_each_path_reports_its_error(path: str, status: int, body: str) -> None:
    async with health_server.serve(0, {"/healthz": lambda: "the lease was not renewed", "/livez": lambda: ""}) as port:
        assert await ask(port, path) == (status, body)


async def test_an_invalid_request_affects_no_other() -> None:
    async with health_server.serve(0, {"/livez": lambda: ""}) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"x" * 100_000)
        writer.close()
        assert await ask(port, "/livez") == (200, "ok\n")


async def test_a_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_server, "IDLE_SECONDS", 0.05)
    async with health_server.serve(0, {"/livez": lambda: ""}) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /livez HTTP/1.1\r\n")
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()


async def test_a_page_is_its_text_and_a_query_changes_nothing() -> None:
    page = health_server.HealthPage("text/csv", lambda: b"a,b\n")
    async with health_server.serve(0, {"/livez": lambda: ""}, {"/page": page}) as port:
        assert await ask(port, "/page?a=1") == (200, "a,b\n")
        assert await ask(port, "/none") == (404, "paths: /livez, /page\n")


async def test_a_page_that_fails_to_render_affects_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async with health_server.serve(
        0, {"/livez": lambda: ""}, {"/page": health_server.HealthPage("text/csv", lambda: bytes(-1))}
    ) as port:
        assert (await ask(port, "/page"))[0] == 500
        assert (await ask(port, "/livez"))[1] == "ok\n"
    assert "Page /page failed to render" in caplog.text
