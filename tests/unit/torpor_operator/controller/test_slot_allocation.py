"""The slots of pools by themselves: who is woken when one is free."""

import asyncio
from typing import Any

import pytest
from torpor_api.client.api import Api
from torpor_api.client.resources import CONFIG_MAPS
from torpor_operator.controller.slot_pools import Place, SlotAllocator
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import CreateTaskRun
from torpor_wire import constants

from tests.support.builders import NAMESPACE
from tests.support.fake_api import FakeApi, VirtualClock, settle

ONE, TWO, HOLDER = (Key(NAMESPACE, name) for name in ("one", "two", "holder"))
GPU = Place(NAMESPACE, "gpu")


def start(name: str) -> CreateTaskRun:
    body: dict[str, Any] = {"metadata": {"name": name}, "spec": {"pool": "gpu", "task": "a"}}
    return CreateTaskRun(body=body)


class Woken:
    """A ledger whose pool has one slot that was given away and that two others wait for, until its holder ended."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        fake = FakeApi(self.clock)
        metadata = {"name": constants.POOLS_CONFIG, "namespace": NAMESPACE}
        fake.put(CONFIG_MAPS, {"metadata": metadata, "data": {"gpu": "1"}})
        self.keys: list[Key] = []
        self.ledger = SlotAllocator(Api(fake, self.clock), lambda _: (), lambda _: False, self.keys.append)

    async def begin(self) -> None:
        self.ledger.room(HOLDER, "gpu")
        await settle()
        assert self.ledger.admitted(HOLDER, [start("held")])
        assert not self.ledger.admitted(ONE, [start("first")])
        await self.clock.advance(1)
        assert not self.ledger.admitted(TWO, [start("second")])
        await self.clock.advance(60)
        self.keys.clear()
        self.ledger.changed(GPU)
        await self.clock.advance(1)
        assert self.keys == [ONE]


@pytest.mark.parametrize("wants_nothing", [lambda ledger: ledger.admitted(ONE, []), lambda ledger: ledger.forget(ONE)])
async def test_a_free_slot_that_its_first_claimant_does_not_want_any_more_is_offered_to_the_next(
    wants_nothing: Any,
) -> None:
    woken = Woken()
    running = asyncio.create_task(woken.ledger.run())
    await woken.begin()
    wants_nothing(woken.ledger)
    await woken.clock.advance(1)
    assert woken.keys == [ONE, TWO]
    assert woken.ledger.admitted(TWO, [start("second")])
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
        ledger.room(other, "gpu")

    ledger = SlotAllocator(Api(fake, clock), lambda _: (), lambda _: False, wake)
    ledger.room(ONE, "gpu")
    running = asyncio.create_task(ledger.run())
    await clock.advance(1)
    assert woken == [ONE, other]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
