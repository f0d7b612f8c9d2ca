"""Clients that waits share."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from torpor.triggers.support.polling import BusyError
from torpor_triggerer.services import client_pool as module
from torpor_triggerer.services.client_pool import ClientPool, PinnedClients


class Client:
    """Says what happened to it."""

    def __init__(self) -> None:
        self.closed = 0
        self.liveness_error = False

    async def close(self) -> None:
        self.closed += 1
        if self.liveness_error:
            await asyncio.Event().wait()


async def test_who_comes_later_gets_the_same_until_the_last_has_left() -> None:
    clients = ClientPool()
    async with clients.acquire("a", Client, Client.close) as first:
        async with clients.acquire("a", Client, Client.close) as second:
            assert second is first
        async with clients.acquire("b", Client, Client.close) as other:
            assert other is not first
        assert first.closed == 0
    await clients.closed()
    assert (first.closed, other.closed, len(clients)) == (1, 1, 0)
    async with clients.acquire("a", Client, Client.close) as third:
        assert third is not first
    await clients.closed()


async def test_who_leaves_last_does_not_wait_for_its_end_and_that_has_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.01)
    clients = ClientPool()
    async with clients.acquire("a", Client, Client.close) as client:
        client.liveness_error = True
    assert client.closed == 0
    await clients.closed()
    assert client.closed == 1


async def test_one_that_cannot_be_made_leaves_nothing_behind() -> None:
    clients = ClientPool()
    with pytest.raises(ValueError, match="no client"):
        async with clients.acquire("a", lambda: _raise(), Client.close):  # noqa: PLW0108
            pass
    assert len(clients) == 0


async def test_it_is_closed_where_its_last_user_was_cancelled() -> None:
    clients, inside = ClientPool(), asyncio.Event()
    client = Client()

    async def use() -> None:
        async with clients.acquire("a", lambda: client, Client.close):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(use())
    await inside.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await clients.closed()
    assert client.closed == 1


def _raise() -> Client:
    raise ValueError("no client")


async def test_what_is_kept_stays_open_between_two_uses_until_its_keeper_is_done() -> None:
    clients = ClientPool()
    async with AsyncExitStack() as until:
        pinned = PinnedClients(clients, until)
        async with pinned.acquire("a", Client, Client.close) as first:
            pass
        async with pinned.acquire("a", Client, Client.close) as second:
            assert second is first
        async with clients.acquire("a", Client, Client.close) as others:
            assert others is first
        assert first.closed == 0
    await clients.closed()
    assert (first.closed, len(clients)) == (1, 0)


async def test_a_namespace_that_waits_on_many_servers_leaves_clients_to_others() -> None:
    clients = ClientPool(limit=16)
    async with AsyncExitStack() as stack:
        for number in range(14):
            await stack.enter_async_context(clients.acquire(("a", number), Client, Client.close, "greedy"))
        with pytest.raises(BusyError, match="waits on 14 servers already, which is its share"):
            await stack.enter_async_context(clients.acquire(("a", 14), Client, Client.close, "greedy"))
        await stack.enter_async_context(clients.acquire(("a", 0), Client, Client.close, "greedy"))
        await stack.enter_async_context(clients.acquire(("b", 0), Client, Client.close, "other"))
        assert len(clients) == 15
    async with clients.acquire(("a", 0), Client, Client.close, "greedy"):
        pass
    await clients.closed()
