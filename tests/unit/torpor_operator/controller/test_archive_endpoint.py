"""What the operator knows of the archive, and when it knows it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from torpor_api.client.api import Api
from torpor_api.client.resources import CONFIG_MAPS
from torpor_operator.controller.archive import Archive
from torpor_wire import constants
from torpor_wire.archive_endpoint import ArchiveEndpoint

from tests.support.fake_api import FakeApi, VirtualClock

_SAID = {"url": "https://archive:8443/", "ca.crt": "PEM"}


class Rig:
    """An API server and an operator that looks."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeApi(self.clock)
        self.server.serve(CONFIG_MAPS)
        self.api = Api(self.server, self.clock)
        self.archive = Archive(self.api, "torpor-system", _never)

    async def publish(self, data: dict[str, str]) -> None:
        metadata = {"name": constants.ARCHIVE_CONFIG, "namespace": "torpor-system"}
        await self.api.create(CONFIG_MAPS, "torpor-system", {"metadata": metadata, "data": data})

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.archive.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _never(endpoint: ArchiveEndpoint, path: str, objects: Sequence[dict[str, Any]]) -> None:
    raise AssertionError("nothing is put here")


async def test_nothing_is_known_before_it_has_looked() -> None:
    rig = Rig()
    await rig.publish(_SAID)
    discovered = asyncio.create_task(rig.archive.discovered())
    await asyncio.sleep(0)
    assert not discovered.done()
    async with rig.looking():
        await discovered
        assert rig.archive.endpoint() == ArchiveEndpoint(url="https://archive:8443", certificate="PEM")


async def test_that_there_is_none_is_known_too() -> None:
    rig = Rig()
    async with rig.looking():
        await rig.archive.discovered()
        assert rig.archive.endpoint() is None


async def test_an_archive_that_withdraws_its_address_is_none() -> None:
    rig = Rig()
    await rig.publish(_SAID)
    async with rig.looking():
        await rig.archive.discovered()
        ops = [{"op": "add", "path": "/data", "value": {}}]
        await rig.api.patch(CONFIG_MAPS, "torpor-system", constants.ARCHIVE_CONFIG, ops)
        await rig.clock.advance(10.0)
        assert rig.archive.endpoint() is None
