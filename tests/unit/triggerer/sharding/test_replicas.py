"""Several replicas: each wait runs on one of them, moves when they come and go, and fires once."""

import asyncio
from typing import Any

import pytest
from torpor_kubernetes.cache.store import Key
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import LEASES, TASKRUNS
from torpor_kubernetes.client.transport import Response
from torpor_triggerer.sharding.watches import Watches

from tests.support.fake_api import FakeApi, Fault, VirtualClock, settle
from tests.support.triggerer_world import World, world

WAITS = 40


def holders(made: World) -> dict[str, str]:
    return {one["metadata"]["name"]: one["spec"].get("holderIdentity", "") for one in made.fake.all(LEASES)}


def runs(made: World) -> int:
    return sum(1 for what, _ in made.log if what == "run")


def cleanups(made: World) -> int:
    return sum(1 for what, _ in made.log if what == "cleanup")


def watches(made: World) -> int:
    return sum(1 for one in made.fake.requests if one.method == "WATCH")


async def filled(made: World) -> None:
    for number in range(WAITS):
        made.taskrun(f"t{number}")


async def test_a_replica_has_a_lease_named_after_its_pool_and_itself() -> None:
    async with world() as made:
        await made.start("one")
        assert holders(made) == {"torpor-triggerer-default-one": "one"}
        renewed = made.fake.all(LEASES)[0]["spec"]["renewTime"]
        await made.pass_time(6)
        assert made.fake.all(LEASES)[0]["spec"]["renewTime"] > renewed


async def test_leases_of_long_names_stay_apart() -> None:
    async with world(pool="p" * 63) as made:
        await made.start("x" * 300 + "one")
        await made.start("x" * 300 + "two")
        assert [len(name) for name in holders(made)] == [253, 253]
        assert set(holders(made).values()) == {"x" * 300 + "one", "x" * 300 + "two"}


async def test_a_second_replica_takes_over_only_what_becomes_its_own() -> None:
    async with world() as made:
        await filled(made)
        await made.start("one")
        assert runs(made) == WAITS
        await made.start("two")
        await made.pass_time(2)
        moved = runs(made) - WAITS
        assert WAITS / 4 < moved < WAITS * 3 / 4
        assert cleanups(made) == moved
        assert ("on_kill", "t0") not in made.log


async def test_waits_keep_running_while_their_stream_is_replaced() -> None:
    """With three replicas each has a third, so the stream of the whole pool gives way to one of the owned shards."""
    async with world(latency=0.1) as made:
        await filled(made)
        for identity in ("one", "two", "three"):
            await made.start(identity)
            await made.pass_time(5)
        selectors = [one.query.get("fieldSelector", "") for one in made.fake.requests if one.method == "WATCH"]
        assert any("shard!=" in one for one in selectors)
        assert runs(made) - cleanups(made) == WAITS
        assert cleanups(made) < WAITS


async def test_a_new_replica_takes_nothing_before_it_has_seen_the_others() -> None:
    async with world() as made:
        await filled(made)
        await made.start("one")
        request = made.fake.request

        async def slow(method: str, path: str, **given: Any) -> Response:
            if method == "GET" and (given.get("query") or {}).get("labelSelector"):
                await made.clock.sleep(10)
            return await request(method, path, **given)

        made.fake.request = slow  # type: ignore[method-assign]
        await made.start("two")
        await made.pass_time(9)
        assert "torpor-triggerer-default-two" in holders(made)
        assert runs(made) == WAITS
        await made.pass_time(5)
        assert WAITS < runs(made) < 2 * WAITS


@pytest.mark.parametrize("dying", ["one", "two"])
async def test_whichever_dies_the_other_runs_everything(dying: str) -> None:
    async with world() as made:
        await filled(made)
        await made.start("one")
        await made.start("two")
        await made.pass_time(2)
        await made.crash(dying)
        await made.pass_time(17)
        assert runs(made) - cleanups(made) == WAITS


async def test_what_only_a_retired_stream_still_showed_is_let_go_with_it() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    told: list[Key] = []
    async with asyncio.TaskGroup() as tasks:
        watches = Watches(Api(fake, clock), tasks.create_task, on_change=told.append, on_unreadable=lambda _: None)
        async with world() as made:
            made.taskrun("a")
            stored = made.fake.get(TASKRUNS, "workflows", "a")
        assert stored is not None
        fake.put(TASKRUNS, stored)
        watches.want(frozenset({"status.state=Deferred"}))
        await settle()
        assert watches.find(Key("workflows", "a")) is not None
        fake.hold_watches()
        fake.edit(TASKRUNS, "workflows", "a", {"status": {"state": "Scheduled"}})
        told.clear()
        watches.want(frozenset({"status.state=Deferred,spec.triggerPool=default"}))
        await settle()
        assert watches.find(Key("workflows", "a")) is None
        assert told == [Key("workflows", "a")]
        watches.stop()


async def test_a_replica_that_stops_hands_over_at_once() -> None:
    async with world() as made:
        await filled(made)
        await made.start("one")
        await made.start("two")
        await made.pass_time(2)
        before = runs(made)
        stopped = made._replicas["one"][1]
        stopped.set()
        await made.pass_time(0.5)
        assert holders(made) == {"torpor-triggerer-default-two": "two"}
        assert runs(made) - cleanups(made) == WAITS
        assert runs(made) > before
        assert "on_kill" not in {what for what, _ in made.log}


async def test_a_replica_that_dies_is_replaced_after_its_lease() -> None:
    async with world() as made:
        for number in range(WAITS):
            made.taskrun(f"t{number}", "duration", {"duration": f"{30 + number}s"})
        await made.start("one")
        await made.start("two")
        await made.pass_time(1)
        before = watches(made)
        await made.crash("one")
        await made.pass_time(13)
        assert watches(made) == before
        await made.pass_time(3)
        assert watches(made) > before
        await made.pass_time(100)
        assert {made.status(f"t{number}")["segment"] for number in range(WAITS)} == {1}
        await made.pass_time(400)
        assert holders(made) == {"torpor-triggerer-default-two": "two"}


async def test_two_replicas_that_briefly_own_one_shard_fire_once() -> None:
    async with world(latency=0.05) as made:
        for number in range(WAITS):
            made.taskrun(f"t{number}", "duration", {"duration": "20s"})
        await made.start("one")
        await made.pass_time(5)
        made.fake.hold_watches()
        await made.start("two")
        await made.pass_time(20)
        made.fake.release_watches()
        await made.pass_time(5)
        assert {made.status(f"t{number}")["segment"] for number in range(WAITS)} == {1}


async def test_while_the_server_cannot_be_reached_membership_stays_as_it_was() -> None:
    async with world() as made:
        await filled(made)
        await made.start("one")
        await made.start("two")
        await made.pass_time(2)
        before = runs(made)
        made.fake.inject(Fault(times=10_000))
        made.fake.end_watches()
        await made.pass_time(60)
        made.fake._faults.clear()
        await made.pass_time(60)
        assert runs(made) == before
        assert cleanups(made) == before - WAITS


async def test_a_deleted_lease_is_created_again() -> None:
    async with world() as made:
        await filled(made)
        await made.start("one")
        made.fake.remove(LEASES, "torpor-system", "torpor-triggerer-default-one")
        await made.pass_time(10)
        assert holders(made) == {"torpor-triggerer-default-one": "one"}
        assert runs(made) == WAITS


async def test_pools_do_not_see_each_other() -> None:
    async with world() as made:
        made.taskrun("a", spec={"python": "m:f", "triggerPool": "other"})
        await made.start("one")
        await made.pass_time(5)
        assert made.called("a") == []


async def test_a_restarted_replica_of_the_same_name_goes_on_at_once() -> None:
    async with world() as made:
        await filled(made)
        await made.start("one")
        await made.crash("one")
        await made.start("one")
        assert runs(made) == 2 * WAITS


def lists(made: World) -> int:
    """How often TaskRuns were listed; further pages are no further lists."""
    return sum(1 for one in made.fake.requests if one.method == "GET" and one.path.endswith("/taskruns"))


async def test_two_replicas_that_start_at_once_list_once_each() -> None:
    async with world(latency=0.05) as made:
        await filled(made)
        for identity in ("one", "two"):
            await made.start(identity)
        await made.pass_time(10)
        assert runs(made) - cleanups(made) == WAITS
        assert lists(made) == 2


async def test_five_replicas_that_start_at_once_list_a_few_times_each() -> None:
    async with world(latency=0.05) as made:
        await filled(made)
        for number in range(5):
            await made.start(f"r{number}")
        await made.pass_time(10)
        assert runs(made) - cleanups(made) == WAITS
        assert lists(made) <= 10


async def test_one_of_two_that_dies_leaves_nothing_to_list() -> None:
    async with world() as made:
        await filled(made)
        await made.start("one")
        await made.start("two")
        await made.pass_time(2)
        before = lists(made)
        await made.crash("two")
        await made.pass_time(17)
        assert runs(made) - cleanups(made) == WAITS
        assert lists(made) == before


async def test_health_complains_until_the_lease_is_held_and_when_it_is_not_renewed() -> None:
    async with world() as made:
        made.fake.inject(Fault(times=3, path="/leases"))
        triggerer = await made.start("one")
        assert triggerer.readiness_error() == "the lease is not acquired yet"
        assert triggerer.liveness_error() == ""
        await made.pass_time(10)
        assert triggerer.readiness_error() == ""
        made.fake.inject(Fault(times=10_000, path="/leases"))
        await made.pass_time(25)
        assert "lease was not renewed" in triggerer.readiness_error()


async def test_health_complains_of_a_loop_that_is_late() -> None:
    async with world() as made:
        triggerer = await made.start("one")
        made.clock._elapsed += 6.0
        assert triggerer.liveness_error() == "the loop is 5.0 s late"
