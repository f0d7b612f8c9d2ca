"""Two namespaces ask one server: no header of one reaches into the request of the other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from torpor.triggers.services import HttpResponse, Request
from torpor.triggers.support import header_rules
from torpor_triggerer.network.sessions import Owner
from torpor_triggerer.services import http

from tests.support import trigger_services

ATTACKER, VICTIM = Owner("attacker", "torpor-task"), Owner("victim", "torpor-task")


class ByteReadingServer:
    """An HTTP server that reads as a real one does, byte by byte, and keeps its connections open."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, str, bytes]] = []
        """The connection, the request line and the body of each request."""
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                line, *headers = head.strip().split("\r\n")
                named = {
                    name.lower(): value.strip() for name, _, value in (header.partition(":") for header in headers)
                }
                # Answers before it has the body, as a server does that rejects a request early.
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                await writer.drain()
                body = await reader.readexactly(int(named.get("content-length", 0)))
                self.requests.append((connection, line, body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def site() -> AsyncIterator[tuple[ByteReadingServer, http.OutboundHttpClient, str]]:
    recorder = ByteReadingServer()
    server = await asyncio.start_server(recorder.serve, "127.0.0.1", 0)
    try:
        async with http.connect(trigger_services.network()) as client:
            yield recorder, client, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def get(client: http.OutboundHttpClient, url: str, owner: Owner, **headers: str) -> HttpResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.request(Request("GET", url, named, 5), owner)


@pytest.mark.parametrize("name", ["Content-Length", "content-length", "Transfer-Encoding", "Host", "Connection", "TE"])
async def test_a_wait_cannot_set_a_header_that_frames_its_request(name: str) -> None:
    async with site() as (recorder, client, url):
        with pytest.raises(ValueError, match=f"{name} cannot be set"):
            await client.request(Request("GET", f"{url}/a", {name: "300"}, 5), ATTACKER)
        assert recorder.requests == []


@pytest.mark.parametrize("value", ["a\r\nContent-Length: 300", "a\nX: y", "a\rX: y", "a\0b"])
async def test_a_wait_cannot_set_a_value_with_a_line_break(value: str) -> None:
    async with site() as (recorder, client, url):
        with pytest.raises(ValueError, match="the value of X contains a line break"):
            await client.request(Request("GET", f"{url}/a", {"X": value}, 5), ATTACKER)
        assert recorder.requests == []


async def test_the_next_request_of_another_namespace_is_never_read_as_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a framing header to slip through, the request that it swallows would be the attacker's own."""
    monkeypatch.setattr(header_rules, "check", lambda _: None)
    async with site() as (recorder, client, url):
        await get(client, f"{url}/attack", ATTACKER, Content_Length="300")
        await get(client, f"{url}/victim", VICTIM, Authorization="Bearer secret")
        await asyncio.sleep(0)
        assert not any(b"Bearer secret" in body for _, _, body in recorder.requests)
        assert [line for _, line, _ in recorder.requests if "/victim" in line] == ["GET /victim HTTP/1.1"]


async def test_one_account_reuses_its_connection_and_another_never_does() -> None:
    async with site() as (recorder, client, url):
        for owner in (ATTACKER, ATTACKER, VICTIM, Owner("victim", "another"), VICTIM):
            await get(client, f"{url}/{owner.namespace}", owner)
        assert [connection for connection, _, _ in recorder.requests] == [1, 1, 2, 3, 2]
