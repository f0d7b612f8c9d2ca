"""Several replicas: each wait runs on one of them, moves when they come and go, and fires once."""

import asyncio
from typing import Any

import pytest
from torpor_kubernetes.cache.store import ObjectKey
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import LEASES, TASKRUNS
from torpor_kubernetes.client.transport import Response
from torpor_triggerer.sharding.watches import ShardWatches

from tests.support.fake_api import FakeApi, Fault, VirtualClock, settle
from tests.support.triggerer_fixture import TriggererFixture, triggerer_fixture

WAITS = 40


def holders(world: TriggererFixture) -> dict[str, str]:
    return {lease["metadata"]["name"]: lease["spec"].get("holderIdentity", "") for lease in world.fake.all(LEASES)}


def runs(world: TriggererFixture) -> int:
    return sum(1 for what, _ in world.log if what == "run")


def cleanups(world: TriggererFixture) -> int:
    return sum(1 for what, _ in world.log if what == "cleanup")


def watches(world: TriggererFixture) -> int:
    return sum(1 for request in world.fake.requests if request.method == "WATCH")


async def filled(world: TriggererFixture) -> None:
    for number in range(WAITS):
        world.taskrun(f"t{number}")


async def test_a_replica_has_a_lease_named_after_its_pool_and_itself() -> None:
    async with triggerer_fixture() as world:
        await world.start("one")
        assert holders(world) == {"torpor-triggerer-default-one": "one"}
        renewed = world.fake.all(LEASES)[0]["spec"]["renewTime"]
        await world.pass_time(6)
        assert world.fake.all(LEASES)[0]["spec"]["renewTime"] > renewed


async def test_leases_of_long_names_stay_apart() -> None:
    async with triggerer_fixture(pool="p" * 63) as world:
        await world.start("x" * 300 + "one")
        await world.start("x" * 300 + "two")
        assert [len(name) for name in holders(world)] == [253, 253]
        assert set(holders(world).values()) == {"x" * 300 + "one", "x" * 300 + "two"}


async def test_a_second_replica_takes_over_only_what_becomes_its_own() -> None:
    async with triggerer_fixture() as world:
        await filled(world)
        await world.start("one")
        assert runs(world) == WAITS
        await world.start("two")
        await world.pass_time(2)
        moved = runs(world) - WAITS
        assert WAITS / 4 < moved < WAITS * 3 / 4
        assert cleanups(world) == moved
        assert ("on_kill", "t0") not in world.log


async def test_waits_keep_running_while_their_stream_is_replaced() -> None:
    """With three replicas each has a third, so the stream of the whole pool gives way to one of the owned shards."""
    async with triggerer_fixture(latency=0.1) as world:
        await filled(world)
        for identity in ("one", "two", "three"):
            await world.start(identity)
            await world.pass_time(5)
        selectors = [
            request.query.get("fieldSelector", "") for request in world.fake.requests if request.method == "WATCH"
        ]
        assert any("shard!=" in selector for selector in selectors)
        assert runs(world) - cleanups(world) == WAITS
        assert cleanups(world) < WAITS


async def test_a_new_replica_takes_nothing_before_it_has_seen_the_others() -> None:
    async with triggerer_fixture() as world:
        await filled(world)
        await world.start("one")
        request = world.fake.request

        async def slow(method: str, path: str, **given: Any) -> Response:
            if method == "GET" and (given.get("query") or {}).get("labelSelector"):
                await world.clock.sleep(10)
            return await request(method, path, **given)

        world.fake.request = slow  # type: ignore[method-assign]
        await world.start("two")
        await world.pass_time(9)
        assert "torpor-triggerer-default-two" in holders(world)
        assert runs(world) == WAITS
        await world.pass_time(5)
        assert WAITS < runs(world) < 2 * WAITS


@pytest.mark.parametrize("dying", ["one", "two"])
async def test_whichever_dies_the_other_runs_everything(dying: str) -> None:
    async with triggerer_fixture() as world:
        await filled(world)
        await world.start("one")
        await world.start("two")
        await world.pass_time(2)
        await world.crash(dying)
        await world.pass_time(17)
        assert runs(world) - cleanups(world) == WAITS


async def test_what_only_a_retired_stream_still_showed_is_let_go_with_it() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    changed: list[ObjectKey] = []
    async with asyncio.TaskGroup() as tasks:
        watches = ShardWatches(
            Api(fake, clock), tasks.create_task, on_change=changed.append, on_unreadable=lambda _: None
        )
        async with triggerer_fixture() as world:
            world.taskrun("a")
            stored = world.fake.get(TASKRUNS, "workflows", "a")
        assert stored is not None
        fake.put(TASKRUNS, stored)
        watches.want(frozenset({"status.state=Deferred"}))
        await settle()
        assert watches.find(ObjectKey("workflows", "a")) is not None
        fake.hold_watches()
        fake.edit(TASKRUNS, "workflows", "a", {"status": {"state": "Scheduled"}})
        changed.clear()
        watches.want(frozenset({"status.state=Deferred,spec.triggerPool=default"}))
        await settle()
        assert watches.find(ObjectKey("workflows", "a")) is None
        assert changed == [ObjectKey("workflows", "a")]
        watches.stop()


async def test_a_replica_that_stops_hands_over_at_once() -> None:
    async with triggerer_fixture() as world:
        await filled(world)
        await world.start("one")
        await world.start("two")
        await world.pass_time(2)
        before = runs(world)
        stopped = world._replicas["one"][1]
        stopped.set()
        await world.pass_time(0.5)
        assert holders(world) == {"torpor-triggerer-default-two": "two"}
        assert runs(world) - cleanups(world) == WAITS
        assert runs(world) > before
        assert "on_kill" not in {what for what, _ in world.log}


async def test_a_replica_that_dies_is_replaced_after_its_lease() -> None:
    async with triggerer_fixture() as world:
        for number in range(WAITS):
            world.taskrun(f"t{number}", "duration", {"duration": f"{30 + number}s"})
        await world.start("one")
        await world.start("two")
        await world.pass_time(1)
        before = watches(world)
        await world.crash("one")
        await world.pass_time(13)
        assert watches(world) == before
        await world.pass_time(3)
        assert watches(world) > before
        await world.pass_time(100)
        assert {world.status(f"t{number}")["segment"] for number in range(WAITS)} == {1}
        await world.pass_time(400)
        assert holders(world) == {"torpor-triggerer-default-two": "two"}


async def test_two_replicas_that_briefly_own_one_shard_fire_once() -> None:
    async with triggerer_fixture(latency=0.05) as world:
        for number in range(WAITS):
            world.taskrun(f"t{number}", "duration", {"duration": "20s"})
        await world.start("one")
        await world.pass_time(5)
        world.fake.hold_watches()
        await world.start("two")
        await world.pass_time(20)
        world.fake.release_watches()
        await world.pass_time(5)
        assert {world.status(f"t{number}")["segment"] for number in range(WAITS)} == {1}


async def test_while_the_server_cannot_be_reached_membership_stays_as_it_was() -> None:
    async with triggerer_fixture() as world:
        await filled(world)
        await world.start("one")
        await world.start("two")
        await world.pass_time(2)
        before = runs(world)
        world.fake.inject(Fault(times=10_000))
        world.fake.end_watches()
        await world.pass_time(60)
        world.fake._faults.clear()
        await world.pass_time(60)
        assert runs(world) == before
        assert cleanups(world) == before - WAITS


async def test_a_deleted_lease_is_created_again() -> None:
    async with triggerer_fixture() as world:
        await filled(world)
        await world.start("one")
        world.fake.remove(LEASES, "torpor-system", "torpor-triggerer-default-one")
        await world.pass_time(10)
        assert holders(world) == {"torpor-triggerer-default-one": "one"}
        assert runs(world) == WAITS


async def test_pools_do_not_see_each_other() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", spec={"python": "m:f", "triggerPool": "other"})
        await world.start("one")
        await world.pass_time(5)
        assert world.called("a") == []


async def test_a_restarted_replica_of_the_same_name_goes_on_at_once() -> None:
    async with triggerer_fixture() as world:
        await filled(world)
        await world.start("one")
        await world.crash("one")
        await world.start("one")
        assert runs(world) == 2 * WAITS


def lists(world: TriggererFixture) -> int:
    """How often TaskRuns were listed; further pages are no further lists."""
    return sum(1 for request in world.fake.requests if request.method == "GET" and request.path.endswith("/taskruns"))


async def test_two_replicas_that_start_at_once_list_once_each() -> None:
    async with triggerer_fixture(latency=0.05) as world:
        await filled(world)
        for identity in ("one", "two"):
            await world.start(identity)
        await world.pass_time(10)
        assert runs(world) - cleanups(world) == WAITS
        assert lists(world) == 2


async def test_five_replicas_that_start_at_once_list_a_few_times_each() -> None:
    async with triggerer_fixture(latency=0.05) as world:
        await filled(world)
        for number in range(5):
            await world.start(f"r{number}")
        await world.pass_time(10)
        assert runs(world) - cleanups(world) == WAITS
        assert lists(world) <= 10


async def test_one_of_two_that_dies_leaves_nothing_to_list() -> None:
    async with triggerer_fixture() as world:
        await filled(world)
        await world.start("one")
        await world.start("two")
        await world.pass_time(2)
        before = lists(world)
        await world.crash("two")
        await world.pass_time(17)
        assert runs(world) - cleanups(world) == WAITS
        assert lists(world) == before


async def test_health_complains_until_the_lease_is_held_and_when_it_is_not_renewed() -> None:
    async with triggerer_fixture() as world:
        world.fake.inject(Fault(times=3, path="/leases"))
        triggerer = await world.start("one")
        assert triggerer.readiness_error() == "the lease is not acquired yet"
        assert triggerer.liveness_error() == ""
        await world.pass_time(10)
        assert triggerer.readiness_error() == ""
        world.fake.inject(Fault(times=10_000, path="/leases"))
        await world.pass_time(25)
        assert "lease was not renewed" in triggerer.readiness_error()


async def test_health_complains_of_a_loop_that_is_late() -> None:
    async with triggerer_fixture() as world:
        triggerer = await world.start("one")
        world.clock._elapsed += 6.0
        assert triggerer.liveness_error() == "the loop is 5.0 s late"
