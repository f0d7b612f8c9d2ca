"""`tcp` against a real port."""

import asyncio

import pytest
from torpor.triggers import Tcp

from tests.integration.triggers.passing import NeverError, PassingClock
from tests.support.fake_services import services
from tests.support.ports import free_port


async def test_it_fires_once_something_listens() -> None:
    waiting = Tcp("127.0.0.1", free_port())
    looks: list[str] = []
    servers: list[asyncio.Server] = []

    async def listen() -> None:
        looks.append(waiting.last_look)
        if len(looks) == 2:
            accept = lambda _, writer: writer.close()  # noqa: E731
            servers.append(await asyncio.start_server(accept, "127.0.0.1", waiting.port))

    waiting.bind(services(clock=PassingClock(listen)))
    event = await anext(aiter(waiting.run()))
    servers[0].close()
    assert event.payload == {"host": "127.0.0.1", "port": waiting.port, "address": "127.0.0.1"}
    assert len(looks) == 2
    assert looks[0].startswith(f"127.0.0.1 port {waiting.port}: ")


async def test_a_name_that_is_not_known_yet_means_not_yet() -> None:
    waiting = Tcp("no-such-host.invalid", 80)
    waiting.bind(services(clock=PassingClock(limit=2)))
    with pytest.raises(NeverError):
        await anext(aiter(waiting.run()))
    assert "no-such-host.invalid port 80: " in waiting.last_look
