"""Slots of pools are divided fairly, and a free slot is offered to the next Workflow."""

import asyncio
from typing import Any

import pytest
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import CONFIG_MAPS
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import CreateTaskRun
from torpor_operator.taskrun.cache_index import PoolKey
from torpor_operator.workflows.fair_share import Demand, divide
from torpor_operator.workflows.slot_pools import SlotAllocator
from torpor_wire import constants

from tests.support.builders import NAMESPACE
from tests.support.fake_api import FakeApi, VirtualClock, settle


def demand(*, held: int = 0, resumes: int = 0, starts: int = 0, since: float = 0.0) -> Demand:
    return Demand(held=held, resumes=resumes, starts=starts, since=since)


@pytest.mark.parametrize(
    ("free", "demands", "expected"),
    [
        (3, {"a": demand(starts=10), "b": demand(starts=10, since=1), "c": demand(starts=10, since=2)}, [1, 1, 1]),
        (4, {"a": demand(starts=10), "b": demand(starts=1, since=1), "c": demand(starts=10, since=2)}, [2, 1, 1]),
        (2, {"a": demand(held=5, starts=10), "b": demand(starts=10, since=1), "c": demand()}, [0, 2, 0]),
        (2, {"a": demand(starts=10), "b": demand(held=9, resumes=1, since=1), "c": demand()}, [1, 1, 0]),
        (1, {"a": demand(starts=1, since=2), "b": demand(starts=1, since=1), "c": demand()}, [0, 1, 0]),
        (0, {"a": demand(starts=1), "b": demand(resumes=1), "c": demand()}, [0, 0, 0]),
        (-1, {"a": demand(starts=1), "b": demand(resumes=1), "c": demand()}, [0, 0, 0]),
        (9, {"a": demand(starts=1), "b": demand(resumes=1, starts=1), "c": demand()}, [1, 2, 0]),
    ],
)
def test_slots_go_to_resumes_then_fewest_held_then_longest_wait(
    free: int, demands: dict[str, Demand], expected: list[int]
) -> None:
    shares = divide(free, demands)
    assert [shares.get(key, 0) for key in "abc"] == expected


class Counted(Demand):
    """A demand that counts how often its total is read."""

    __slots__ = ()
    reads = 0

    @property
    def total(self) -> int:
        Counted.reads += 1
        return super().total


@pytest.mark.parametrize("free", [10_000, 4_000])
def test_the_division_does_not_pass_through_all_workflows_for_each_slot(free: int) -> None:
    Counted.reads = 0
    demands = {number: Counted(held=0, resumes=0, starts=5, since=number) for number in range(1_000)}
    shares = divide(free, demands)
    assert sum(shares.values()) == min(free, 5_000)
    assert Counted.reads < 20_000


ONE, TWO, HOLDER = (Key(NAMESPACE, name) for name in ("one", "two", "holder"))
GPU = PoolKey(NAMESPACE, "gpu")


def start(name: str) -> CreateTaskRun:
    body: dict[str, Any] = {"metadata": {"name": name}, "spec": {"pool": "gpu", "task": "a"}}
    return CreateTaskRun(body=body)


class WaitingWorkflows:
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
    "drop_demand", [lambda allocator: allocator.admit(ONE, []), lambda allocator: allocator.forget(ONE)]
)
async def test_a_slot_that_its_workflow_no_longer_demands_goes_to_the_next(
    drop_demand: Any,
) -> None:
    waiting = WaitingWorkflows()
    running = asyncio.create_task(waiting.allocator.run())
    await waiting.begin()
    drop_demand(waiting.allocator)
    await waiting.clock.advance(1)
    assert waiting.keys == [ONE, TWO]
    assert waiting.allocator.admit(TWO, [start("second")])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_namespace_that_is_added_during_a_read_is_read_next() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    for namespace in (NAMESPACE, "other"):
        metadata = {"name": constants.POOLS_CONFIG, "namespace": namespace}
        fake.put(CONFIG_MAPS, {"metadata": metadata, "data": {"gpu": "1"}})
    other, enqueued = Key("other", "run"), list[Key]()

    def enqueue(key: Key) -> None:
        enqueued.append(key)
        allocator.free(other, "gpu")

    allocator = SlotAllocator(Api(fake, clock), lambda _: (), lambda _: False, enqueue)
    allocator.free(ONE, "gpu")
    running = asyncio.create_task(allocator.run())
    await clock.advance(1)
    assert enqueued == [ONE, other]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
