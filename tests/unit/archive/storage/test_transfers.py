"""Upload rates, and the slots that namespaces share."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from torpor_archive.errors import RefusedError
from torpor_archive.limits.transfer_rate import TransferRate
from torpor_archive.limits.transfer_slots import SlotLimits, TransferSlots


def test_a_slow_upload_is_refused_with_the_numbers() -> None:
    rate = TransferRate(100, window=10.0)
    for _ in range(998):
        rate.record(0.01, 1)
    with pytest.raises(
        RefusedError, match="received 999 bytes of the body in 10 s; the minimum is 100 bytes per second"
    ) as caught:
        rate.record(0.1, 1)
    assert (caught.value.refusal.status, caught.value.refusal.reason) == (408, "TooSlow")


def test_a_fast_window_does_not_count_for_the_next() -> None:
    rate = TransferRate(100, window=10.0)
    rate.record(10.0, 1_000_000)
    with pytest.raises(RefusedError):
        rate.record(10.0, 999)


def test_a_pause_within_a_window_is_allowed() -> None:
    rate = TransferRate(100, window=10.0)
    for _ in range(100):
        rate.record(9.0, 1000)
        assert rate.remaining_seconds == pytest.approx(1.0)
        rate.record(1.0, 0)
        assert rate.remaining_seconds == 10.0


def slots(seconds: float = 30.0, max_waiting: int = 8) -> TransferSlots:
    return TransferSlots(
        SlotLimits(total=6, per_namespace=4, reserved=2, max_waiting=max_waiting, wait_seconds=seconds), "uploads"
    )


async def test_one_namespace_leaves_slots_for_others() -> None:
    transfer_slots = slots(seconds=0.01)
    async with AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(transfer_slots.acquire("greedy"))
        with pytest.raises(RefusedError, match="namespace greedy has 4 uploads in progress") as caught:
            await held.enter_async_context(transfer_slots.acquire("greedy"))
        assert caught.value.refusal.status == 503
        for namespace in ("b", "c"):
            await held.enter_async_context(transfer_slots.acquire(namespace))
        with pytest.raises(RefusedError):
            await held.enter_async_context(transfer_slots.acquire("d"))


async def test_the_last_free_slots_are_for_namespaces_without_one() -> None:
    transfer_slots = slots(seconds=0.01)
    async with AsyncExitStack() as held:
        for namespace in "aabb":
            await held.enter_async_context(transfer_slots.acquire(namespace))
        with pytest.raises(RefusedError):
            await held.enter_async_context(transfer_slots.acquire("a"))
        await held.enter_async_context(transfer_slots.acquire("c"))


async def test_a_freed_slot_goes_to_the_namespace_with_fewest() -> None:
    transfer_slots, order = slots(), list[str]()

    async def use(namespace: str, ends: asyncio.Event) -> None:
        async with transfer_slots.acquire(namespace):
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


async def test_a_full_queue_refuses_and_a_cancelled_request_leaves_it() -> None:
    transfer_slots = slots(max_waiting=1)
    async with AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(transfer_slots.acquire("a"))
        waiting = asyncio.create_task(held.enter_async_context(transfer_slots.acquire("a")))
        await asyncio.sleep(0)
        with pytest.raises(RefusedError):
            await held.enter_async_context(transfer_slots.acquire("a"))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(transfer_slots.acquire("a"))
