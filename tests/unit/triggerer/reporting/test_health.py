"""The health endpoint, over a real socket."""

import asyncio

import pytest
from torpor_triggerer.reporting import health


async def ask(port: int, path: str) -> tuple[str, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return head.partition("\r\n")[0], body


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/healthz", "HTTP/1.1 503 Service Unavailable", "the lease was not renewed\n"),
        ("/livez", "HTTP/1.1 200 OK", "ok\n"),
        ("/", "HTTP/1.1 404 Not Found", "there are /healthz, /livez\n"),
    ],
)
async def test_each_path_says_what_is_wrong(path: str, status: str, body: str) -> None:
    async with health.serve(0, {"/healthz": lambda: "the lease was not renewed", "/livez": lambda: ""}) as port:
        assert await ask(port, path) == (status, body)


async def test_what_is_no_request_disturbs_nobody() -> None:
    async with health.serve(0, {"/livez": lambda: ""}) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"x" * 100_000)
        writer.close()
        assert (await ask(port, "/livez"))[1] == "ok\n"


async def test_a_page_is_its_text_and_a_query_changes_nothing() -> None:
    page = health.Page("text/csv", lambda: b"a,b\n")
    async with health.serve(0, {"/livez": lambda: ""}, {"/page": page}) as port:
        assert await ask(port, "/page?a=1") == ("HTTP/1.1 200 OK", "a,b\n")
        assert await ask(port, "/none") == ("HTTP/1.1 404 Not Found", "there are /livez, /page\n")


async def test_a_page_that_cannot_be_made_says_so_and_the_others_are_answered(caplog: pytest.LogCaptureFixture) -> None:
    async with health.serve(0, {"/livez": lambda: ""}, {"/page": health.Page("text/csv", lambda: bytes(-1))}) as port:
        assert (await ask(port, "/page"))[0] == "HTTP/1.1 500 Internal Server Error"
        assert (await ask(port, "/livez"))[1] == "ok\n"
    assert "cannot be made" in caplog.text
