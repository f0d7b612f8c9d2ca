"""Triggerer pools are read from Leases, and pods and deferrals depend on whether a pool is served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import CONFIG_MAPS, LEASES
from torpor_operator.controller.triggerer_pools import TriggererPools
from torpor_operator.model.snapshot import TriggerPool
from torpor_operator.settings import Settings
from torpor_wire import constants, runtime_variable
from torpor_wire.state import State

from tests.support.builders import python, wait
from tests.support.fake_api import FakeApi, Fault, VirtualClock, settle
from tests.support.plan_fixture import PlanFixture

SYSTEM = "torpor-system"


def lease(pool: str, holder: str = "replica") -> dict[str, Any]:
    metadata = {"name": f"torpor-triggerer-{pool}", "namespace": SYSTEM, "labels": {constants.LABEL_POOL: pool}}
    return {"metadata": metadata, "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "1"}}


@asynccontextmanager
async def running(fake: FakeApi, clock: VirtualClock) -> AsyncIterator[TriggererPools]:
    pools = TriggererPools(Api(fake, clock, jitter=lambda: 0.5), SYSTEM)
    task = asyncio.create_task(pools.run())
    await settle()
    try:
        yield pools
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_pool_is_served_while_one_of_its_triggerers_renews_its_lease() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    fake.put(LEASES, lease("default"))
    async with running(fake, clock) as pools:
        assert pools.get("default") == TriggerPool(served=True)
        assert pools.get("gpu") == TriggerPool(served=False)
        await clock.advance(10)
        fake.edit(LEASES, SYSTEM, "torpor-triggerer-default", {"spec": {"renewTime": "2"}})
        await clock.advance(15)
        assert pools.get("default").served
        await clock.advance(10)
        assert not pools.get("default").served


async def test_the_public_key_of_a_pool_is_in_its_configmap() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    fake.serve(CONFIG_MAPS)
    metadata = {"name": "torpor-seal-default", "namespace": SYSTEM, "labels": {constants.LABEL_POOL: "default"}}
    fake.put(CONFIG_MAPS, {"metadata": metadata, "data": {constants.SEAL_DATA: "a2V5"}})
    async with running(fake, clock) as pools:
        assert pools.get("default").seal_key == "a2V5"


async def test_every_pool_counts_as_served_before_the_first_read() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    fake.inject(Fault(method="GET", status=403, times=1))
    async with running(fake, clock) as pools:
        assert pools.get("default") == TriggerPool(served=True)
        await clock.advance(6)
        assert pools.get("default") == TriggerPool(served=False)


@pytest.mark.parametrize(
    ("served", "chosen", "installation", "expected"),
    [
        (True, None, True, None),
        (True, None, False, "false"),
        (True, True, False, None),
        (True, False, True, "false"),
        (False, True, True, "unserved"),
        (False, False, False, "unserved"),
    ],
)
def test_a_pod_knows_whether_its_sensors_defer(
    served: bool, chosen: bool | None, installation: bool, expected: str | None
) -> None:
    spec = {} if chosen is None else {"deferrable": chosen}
    world = PlanFixture(python("a"), settings=Settings(deferrable=installation), **spec)
    world.api.pools = lambda _: TriggerPool(served=served, seal_key="a2V5")
    (pod,) = world.settle().pods.values()
    environment = {entry["name"]: entry.get("value") for entry in pod["spec"]["containers"][0]["env"]}
    assert environment.get(constants.ENV_DEFERRABLE) == expected
    assert runtime_variable.parse(environment[constants.ENV_RUNTIME]).seal_key == "a2V5"


def test_a_deferral_without_a_triggerer_shows_the_cause() -> None:
    world = PlanFixture(wait("drop"), triggerPool="tides")
    world.api.pools = lambda name: TriggerPool(served=name != "tides")
    grace = world.settings.unserved_grace
    assert world.settle().advance(grace - 1).run("drop").status.message is None
    status = world.advance(1).run("drop").status
    assert (status.state, status.reason) == (State.DEFERRED, "PoolUnserved")
    assert "no triggerer is running for pool tides" in (status.message or "")
    assert "kubectl get pods -A -l torpor.dev/trigger-pool=tides" in (status.message or "")
    assert [event.reason for event in world.events if event.regarding] == ["PoolUnserved"]
    assert [event.reason for event in world.events if not event.regarding] == ["PoolUnserved"]


def test_a_deferral_in_a_served_pool_shows_no_cause() -> None:
    assert PlanFixture(wait("drop")).settle().advance(3600).run("drop").status.reason is None
