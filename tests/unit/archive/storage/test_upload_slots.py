"""No namespace takes every place, and who waits gets one by how few its namespace holds."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from torpor_archive.errors import RefusedError
from torpor_archive.storage.upload_slots import Shares, Slots


def slots(seconds: float = 30.0, waiting: int = 8) -> Slots:
    return Slots(Shares(total=6, share=4, kept=2, waiting=waiting, seconds=seconds), "uploads")


async def test_one_namespace_leaves_room_for_others() -> None:
    made = slots(seconds=0.01)
    async with AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(made.held("greedy"))
        with pytest.raises(RefusedError, match="namespace greedy has 4 uploads under way") as caught:
            await held.enter_async_context(made.held("greedy"))
        assert caught.value.refusal.status == 503
        for namespace in ("b", "c"):
            await held.enter_async_context(made.held(namespace))
        with pytest.raises(RefusedError):
            await held.enter_async_context(made.held("d"))


async def test_the_last_free_places_are_for_those_who_hold_none() -> None:
    made = slots(seconds=0.01)
    async with AsyncExitStack() as held:
        for namespace in "aabb":
            await held.enter_async_context(made.held(namespace))
        with pytest.raises(RefusedError):
            await held.enter_async_context(made.held("a"))
        await held.enter_async_context(made.held("c"))


async def test_a_freed_place_goes_to_who_holds_fewest() -> None:
    made, order = slots(), list[str]()

    async def use(namespace: str, ends: asyncio.Event) -> None:
        async with made.held(namespace):
            order.append(namespace)
            await ends.wait()

    first, rest = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for namespace in "aaaabc":
            group.create_task(use(namespace, first))
        await asyncio.sleep(0)
        for namespace in "ad":
            group.create_task(use(namespace, rest))
        await asyncio.sleep(0)
        order.clear()
        rest.set()
        first.set()
    assert order == ["d", "a"]


async def test_a_long_queue_is_refused_at_once_and_who_gives_up_leaves_it() -> None:
    made = slots(waiting=1)
    async with AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(made.held("a"))
        waiting = asyncio.create_task(held.enter_async_context(made.held("a")))
        await asyncio.sleep(0)
        with pytest.raises(RefusedError):
            await held.enter_async_context(made.held("a"))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(made.held("a"))
