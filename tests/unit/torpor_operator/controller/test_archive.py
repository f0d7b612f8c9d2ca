"""The operator finds the archive, and reports why an upload failed."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from torpor_archive import tls
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.archive import ArchiveClient
from torpor_kubernetes.client.resources import CONFIG_MAPS
from torpor_operator.controller.archive import Archive, HttpRunStore, NotArchivedError
from torpor_wire import constants

from tests.support.fake_api import FakeApi, VirtualClock

_CONFIG = {"url": "https://archive:8443/", "ca.crt": "PEM"}


class ArchiveHarness:
    """An API server and the archive client of an operator."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeApi(self.clock)
        self.server.serve(CONFIG_MAPS)
        self.api = Api(self.server, self.clock)
        self.archive = Archive(self.api, "torpor-system", NoStore())

    async def publish(self, data: dict[str, str]) -> None:
        metadata = {"name": constants.ARCHIVE_CONFIG, "namespace": "torpor-system"}
        await self.api.create(CONFIG_MAPS, "torpor-system", {"metadata": metadata, "data": data})

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.archive.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class NoStore:
    """Nothing is stored here."""

    async def put(self, endpoint: ArchiveEndpoint, path: str, lines: AsyncIterator[bytes]) -> None:
        raise AssertionError(path)

    async def completed(self, endpoint: ArchiveEndpoint, path: str) -> str | None:
        raise AssertionError(path)


async def _line() -> AsyncIterator[bytes]:
    yield b"{}\n"


async def test_the_endpoint_is_unknown_before_discovery() -> None:
    harness = ArchiveHarness()
    await harness.publish(_CONFIG)
    discovered = asyncio.create_task(harness.archive.discovered())
    await asyncio.sleep(0)
    assert not discovered.done()
    async with harness.running():
        await discovered
        assert harness.archive.endpoint() == ArchiveEndpoint(url="https://archive:8443", certificate="PEM")


async def test_discovery_without_an_archive_ends() -> None:
    harness = ArchiveHarness()
    async with harness.running():
        await harness.archive.discovered()
        assert harness.archive.endpoint() is None


async def test_an_archive_that_withdraws_its_address_is_gone() -> None:
    harness = ArchiveHarness()
    await harness.publish(_CONFIG)
    async with harness.running():
        await harness.archive.discovered()
        ops = [{"op": "add", "path": "/data", "value": {}}]
        await harness.api.patch(CONFIG_MAPS, "torpor-system", constants.ARCHIVE_CONFIG, ops)
        await harness.clock.advance(10.0)
        assert harness.archive.endpoint() is None


async def test_the_same_failure_has_the_same_message(tmp_path: Path) -> None:
    """The message is in a condition: if it differed at each try, each try would write the status."""
    trusted = tls.create_key_pair("127.0.0.1", datetime.now(UTC)).certificate
    (token := tmp_path / "token").write_text("t")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    endpoint = ArchiveEndpoint(url=f"https://127.0.0.1:{port}", certificate=trusted)
    messages: list[str] = []
    for _ in range(2):
        with pytest.raises(NotArchivedError, match="the archive cannot be reached") as caught:
            await HttpRunStore(ArchiveClient(str(token))).put(endpoint, "/v1/runs", _line())
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert " at 0x" not in messages[0]


async def test_a_response_that_arrives_in_parts_is_read_whole(tmp_path: Path) -> None:
    settled = b"[" + b",".join(b'"%036d"' % number for number in range(900)) + b"]"

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(settled))
        for start in range(0, len(settled), 8192):
            writer.write(settled[start : start + 8192])
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.close()
        await writer.wait_closed()
        closed.set()

    closed = asyncio.Event()
    token = tmp_path / "token"
    token.write_text("t")
    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        endpoint = ArchiveEndpoint(url=url, certificate=tls.create_key_pair("archive", datetime.now(UTC)).certificate)
        response = await ArchiveClient(str(token)).post_json(endpoint, "/logs/status", {})
        await closed.wait()
    assert response.body == settled
