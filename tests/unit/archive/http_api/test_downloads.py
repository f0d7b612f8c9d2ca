"""Sending a body or a log: whole, or with a connection that closes."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import cast

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from torpor_archive.http import downloads
from torpor_archive.http.downloads import Downloads
from torpor_archive.limits.transfer_rate import TransferRate
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.storage.content import LENGTH_HEADER


async def parts(error: Exception | None) -> AsyncIterator[bytes]:
    yield b"first "
    yield b"second"
    if error is not None:
        raise error


async def read(metrics: ArchiveMetrics, error: Exception | None = None) -> bytes:
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
    metrics = ArchiveMetrics()
    assert await read(metrics) == b"first second"
    assert metrics.bytes.labels("out")._value.get() == len(b"first second")


async def test_a_part_is_not_taken_for_the_whole() -> None:
    with pytest.raises(aiohttp.ClientError):
        await read(ArchiveMetrics(), OSError("the database is gone"))


class StalledResponse(web.StreamResponse):
    """A response whose client takes some bytes, and then none."""

    def __init__(self, takes: int) -> None:
        super().__init__()
        self.takes = takes
        self.taken = 0

    async def prepare(self, _request: object) -> None:
        return None

    async def write(self, data: bytes) -> None:  # type: ignore[override]
        self.taken += len(data)
        if self.taken > self.takes:
            await asyncio.Event().wait()


class Aborted:
    """A request that remembers that its connection was aborted."""

    def __init__(self) -> None:
        self.transport = self
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


@pytest.mark.attack
async def test_a_client_that_takes_too_little_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "TransferRate", partial(TransferRate, window=0.01))
    request, response = Aborted(), StalledResponse(takes=3 * downloads.PIECE)
    body = bytes(10 * downloads.PIECE)
    sending = Downloads(ArchiveMetrics(), rate=2**40).send(cast("web.Request", request), response, body, parts(None))
    with pytest.raises(ConnectionAbortedError, match="TimeoutError"):
        await sending
    assert request.aborted
    assert response.taken <= 4 * downloads.PIECE


async def test_a_list_is_sent_as_json() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return await Downloads(ArchiveMetrics()).send_json(request, {"items": ["a"] * 50_000})

    application = web.Application()
    application.add_routes([web.get("/", handle)])
    async with TestClient(TestServer(application)) as client, client.get("/") as response:
        assert response.content_type == "application/json"
        assert (await response.json())["items"] == ["a"] * 50_000
