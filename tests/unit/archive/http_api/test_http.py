"""Connection limits, the listener, and the documented error responses."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from torpor_archive import __main__ as process
from torpor_archive import errors, tls
from torpor_archive.http.connections import ConnectionLimits, Connections, HttpConnection
from torpor_archive.http.listener import serve_on

from tests.support.ports import free_port

LIMITS = ConnectionLimits(total=4, per_address=3)


class FakePort:
    def __init__(self) -> None:
        self.refused = 0
        self.closed: list[str] = []
        self.connections = Connections(LIMITS, self._refuse)

    def open(self, address: str, *, busy: bool = False) -> HttpConnection | None:
        name = f"{address}{len(self.closed) + len(self.connections)}"
        connection = self.connections.admit(address, lambda: self.closed.append(name))
        if connection is not None:
            connection.busy = busy
        return connection

    def _refuse(self) -> None:
        self.refused += 1


def test_at_its_limit_an_address_loses_its_oldest_idle_connection() -> None:
    port = FakePort()
    for _ in range(4):
        assert port.open("a")
    assert (port.closed, port.refused, len(port.connections)) == (["a0"], 1, 3)


def test_at_its_limit_an_address_without_idle_connections_is_refused() -> None:
    port = FakePort()
    for _ in range(3):
        port.open("a", busy=True)
    assert port.open("a") is None
    assert (port.closed, port.refused) == ([], 1)


def test_a_full_port_closes_an_idle_connection_of_the_address_with_most() -> None:
    port = FakePort()
    port.open("a", busy=True)
    for _ in range(2):
        port.open("a")
    port.open("b")
    assert port.open("c")
    assert (port.closed, len(port.connections)) == (["a1"], 4)


def test_a_full_port_closes_no_connection_of_an_address_with_as_few() -> None:
    port = FakePort()
    for address in "abcd":
        port.open(address)
    assert port.open("e")
    assert port.closed == ["a0"]
    assert port.open("b") is None


def test_removing_a_connection_twice_counts_once() -> None:
    port = FakePort()
    connection = port.open("a")
    assert connection is not None
    port.connections.remove(connection)
    port.connections.remove(connection)
    assert len(port.connections) == 0


def test_requests_of_a_share_leave_the_address_to_others() -> None:
    limits = ConnectionLimits(total=20, per_address=3, per_share=4)
    connections = Connections(limits)
    greedy = [connections.admit("proxy", lambda: None) for _ in range(3)]
    for connection in greedy:
        assert connection is not None
        connection.busy = True
    assert connections.admit("proxy", lambda: None) is None
    assert all(connections.assign(connection, "greedy") for connection in greedy if connection is not None)
    fourth, fifth = (connections.admit("proxy", lambda: None) for _ in range(2))
    assert fourth is not None
    assert fifth is not None
    assert connections.assign(fourth, "greedy")
    assert not connections.assign(fifth, "greedy")
    assert connections.assign(fifth, "other")
    connections.remove(fourth)
    connections.release(fifth)
    assert not fifth.share
    again = connections.admit("proxy", lambda: None)
    assert again is not None
    assert connections.assign(again, "greedy")


HANG = 180.0


@asynccontextmanager
async def serving(limits: ConnectionLimits) -> AsyncIterator[tuple[int, ssl.SSLContext, Connections]]:
    async def hello(_request: web.Request) -> web.Response:
        return web.Response(text="hello")

    pair = tls.create_key_pair("127.0.0.1", datetime.now(UTC))
    application = web.Application()
    application.router.add_get("/", hello)
    port = free_port()
    connections = Connections(limits)
    async with serve_on(application, port, connections, process.create_ssl_context(pair)):
        yield port, ssl.create_default_context(cadata=pair.certificate), connections


async def is_closed(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(HANG):
            return await reader.read(1) == b""
    except ConnectionError:
        return True


async def wait_for_count(connections: Connections, count: int) -> None:
    async with asyncio.timeout(HANG):
        while len(connections) != count:  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0.01)


async def test_a_request_is_answered_and_an_idle_connection_is_closed() -> None:
    async with serving(ConnectionLimits(idle=3)) as (port, trust, connections):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(HANG):
            assert b"200 OK" in await reader.readuntil(b"hello")
        assert await is_closed(reader)
        writer.close()
        await wait_for_count(connections, 0)


async def test_the_listener_enforces_the_limit_per_address() -> None:
    async with serving(ConnectionLimits(per_address=2, idle=HANG)) as (port, trust, connections):
        opened = [await asyncio.open_connection("127.0.0.1", port, ssl=trust) for _ in range(3)]
        assert await is_closed(opened[0][0])
        assert len(connections) == 2
        for _, writer in opened:
            writer.close()


@pytest.mark.parametrize("handshake", [True, False])
async def test_silent_connections_do_not_delay_the_shutdown(handshake: bool) -> None:
    async with asyncio.timeout(HANG):
        async with serving(ConnectionLimits(idle=10 * HANG)) as (port, trust, connections):
            link = await asyncio.open_connection("127.0.0.1", port, ssl=trust if handshake else None)
            await wait_for_count(connections, 1)
        assert await is_closed(link[0])
        link[1].close()


_SETTINGS_PAGE = (Path(__file__).resolve().parents[4] / "docs/reference/settings.md").read_text()


def test_the_settings_page_documents_every_refusal() -> None:
    builders = (
        errors.invalid,
        errors.unauthenticated,
        errors.forbidden,
        errors.not_found,
        errors.too_large,
        errors.out_of_range,
        errors.too_slow,
        errors.quota_exceeded,
    )
    for refusal in [build("x") for build in builders]:
        assert f"| {refusal.reason} | {refusal.status} |" in _SETTINGS_PAGE
