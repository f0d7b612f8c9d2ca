"""A port of an application on loopback: it answers, closes what says nothing, and stops without waiting for it."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from aiohttp import web
from torpor_archive import __main__ as process
from torpor_archive import tls
from torpor_archive.http.connections import ConnectionLimits, Connections
from torpor_archive.http.listener import listening

HANG = 60.0


@asynccontextmanager
async def served(limits: ConnectionLimits) -> AsyncIterator[tuple[int, ssl.SSLContext, Connections]]:
    async def hello(_request: web.Request) -> web.Response:
        return web.Response(text="hello")

    pair = tls.make("127.0.0.1", datetime.now(UTC))
    application = web.Application()
    application.router.add_get("/", hello)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    connections = Connections(limits)
    async with listening(application, port, connections, process._context(pair)):
        yield port, ssl.create_default_context(cadata=pair.certificate), connections


async def ended(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(HANG):
            return await reader.read(1) == b""
    except ConnectionError:
        return True


async def reached(connections: Connections, count: int) -> None:
    async with asyncio.timeout(HANG):
        while len(connections) != count:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def test_a_request_is_answered_and_an_idle_connection_is_closed() -> None:
    async with served(ConnectionLimits(idle=0.5)) as (port, trust, connections):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(HANG):
            assert b"200 OK" in await reader.readuntil(b"hello")
        assert await ended(reader)
        writer.close()
        await reached(connections, 0)


async def test_an_address_has_so_many_connections_and_the_oldest_goes() -> None:
    async with served(ConnectionLimits(per_address=2, idle=HANG)) as (port, trust, connections):
        opened = [await asyncio.open_connection("127.0.0.1", port, ssl=trust) for _ in range(3)]
        assert await ended(opened[0][0])
        assert len(connections) == 2
        for _, writer in opened:
            writer.close()


@pytest.mark.parametrize("shaken", [True, False])
async def test_connections_that_say_nothing_do_not_hold_up_the_end(shaken: bool) -> None:
    async with asyncio.timeout(HANG):
        async with served(ConnectionLimits(idle=10 * HANG)) as (port, trust, connections):
            link = await asyncio.open_connection("127.0.0.1", port, ssl=trust if shaken else None)
            await reached(connections, 1)
        assert await ended(link[0])
        link[1].close()
