"""The slots of pools by themselves: who is woken when one is free."""

import asyncio
from typing import Any

import pytest
from torpor_api.client.api import Api
from torpor_api.client.resources import CONFIG_MAPS
from torpor_operator.controller.slot_pools import PoolKey, SlotAllocator
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import CreateTaskRun
from torpor_wire import constants

from tests.support.builders import NAMESPACE
from tests.support.fake_api import FakeApi, VirtualClock, settle

ONE, TWO, HOLDER = (Key(NAMESPACE, name) for name in ("one", "two", "holder"))
GPU = PoolKey(NAMESPACE, "gpu")


def start(name: str) -> CreateTaskRun:
    body: dict[str, Any] = {"metadata": {"name": name}, "spec": {"pool": "gpu", "task": "a"}}
    return CreateTaskRun(body=body)


class Woken:
    """An allocator with one slot and two Workflows that wait for it, after its holder has ended."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        fake = FakeApi(self.clock)
        metadata = {"name": constants.POOLS_CONFIG, "namespace": NAMESPACE}
        fake.put(CONFIG_MAPS, {"metadata": metadata, "data": {"gpu": "1"}})
        self.keys: list[Key] = []
        self.allocator = SlotAllocator(Api(fake, self.clock), lambda _: (), lambda _: False, self.keys.append)

    async def begin(self) -> None:
        self.allocator.free(HOLDER, "gpu")
        await settle()
        assert self.allocator.admit(HOLDER, [start("held")])
        assert not self.allocator.admit(ONE, [start("first")])
        await self.clock.advance(1)
        assert not self.allocator.admit(TWO, [start("second")])
        await self.clock.advance(60)
        self.keys.clear()
        self.allocator.recount(GPU)
        await self.clock.advance(1)
        assert self.keys == [ONE]


@pytest.mark.parametrize(
    "wants_nothing", [lambda allocator: allocator.admit(ONE, []), lambda allocator: allocator.forget(ONE)]
)
async def test_a_free_slot_that_its_first_claimant_does_not_want_any_more_is_offered_to_the_next(
    wants_nothing: Any,
) -> None:
    woken = Woken()
    running = asyncio.create_task(woken.allocator.run())
    await woken.begin()
    wants_nothing(woken.allocator)
    await woken.clock.advance(1)
    assert woken.keys == [ONE, TWO]
    assert woken.allocator.admit(TWO, [start("second")])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_namespace_that_is_first_asked_of_while_others_are_read_is_read_next() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    for namespace in (NAMESPACE, "other"):
        metadata = {"name": constants.POOLS_CONFIG, "namespace": namespace}
        fake.put(CONFIG_MAPS, {"metadata": metadata, "data": {"gpu": "1"}})
    other, woken = Key("other", "run"), list[Key]()

    def wake(key: Key) -> None:
        woken.append(key)
        allocator.free(other, "gpu")

    allocator = SlotAllocator(Api(fake, clock), lambda _: (), lambda _: False, wake)
    allocator.free(ONE, "gpu")
    running = asyncio.create_task(allocator.run())
    await clock.advance(1)
    assert woken == [ONE, other]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
