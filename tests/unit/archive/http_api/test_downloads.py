"""Sending a body or a log: whole, or with a connection that closes."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from torpor_archive.http.downloads import Downloads
from torpor_archive.metrics import Metrics
from torpor_archive.storage.content import LENGTH_HEADER


async def parts(error: Exception | None) -> AsyncIterator[bytes]:
    yield b"first "
    yield b"second"
    if error is not None:
        raise error


async def read(metrics: Metrics, error: Exception | None = None) -> bytes:
    async def handle(request: web.Request) -> web.StreamResponse:
        rest = parts(error)
        response = web.StreamResponse(headers={LENGTH_HEADER: "2"})
        return await Downloads(metrics).send(request, response, await anext(rest), rest)

    application = web.Application()
    application.add_routes([web.get("/", handle)])
    async with TestClient(TestServer(application)) as client, client.get("/") as response:
        assert response.headers[LENGTH_HEADER] == "2"
        return await response.read()


async def test_all_parts_are_sent_and_counted() -> None:
    metrics = Metrics()
    assert await read(metrics) == b"first second"
    assert metrics.bytes.labels("out")._value.get() == len(b"first second")


async def test_a_part_is_not_taken_for_the_whole() -> None:
    with pytest.raises(aiohttp.ClientError):
        await read(Metrics(), OSError("the database is gone"))
