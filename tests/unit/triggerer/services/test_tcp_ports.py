"""Whether something listens, over the loopback."""

import asyncio
import socket

import pytest
from torpor_triggerer.services import http

from tests.support import trigger_services


async def test_an_accepted_connection_is_said_with_its_address_and_closed() -> None:
    ended = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.read() == b""
        writer.close()
        ended.set()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await http.reach(trigger_services.network(), "a", "localhost", port, 5) == "127.0.0.1"
        await ended.wait()


async def test_a_port_where_nothing_listens_is_an_error() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(OSError, match="Connect call failed"):
            await http.reach(trigger_services.network(), "a", "127.0.0.1", bound.getsockname()[1], 5)


async def test_a_port_that_does_not_answer_is_given_up() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(address)
        with pytest.raises(OSError, match=r"no connection within 0\.2 s"):
            await http.reach(trigger_services.network(), "a", "127.0.0.1", full.getsockname()[1], 0.2)
        for client in waiting:
            client.close()


async def test_a_name_that_no_host_can_have_is_an_error() -> None:
    with pytest.raises(OSError, match="is not a valid host name"):
        await http.reach(trigger_services.network(), "a", "a" * 64 + ".example", 80, 5)
