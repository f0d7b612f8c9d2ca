"""Handover by Lease: others take over at once from a replica that stops, and after its expiry from one that hangs."""

from tests.support.fake_api import Fault
from tests.support.triggerer_fixture import TriggererFixture, triggerer_fixture


def owner(world: TriggererFixture) -> str:
    return next(name for name, (_, _, replica) in world._replicas.items() if len(replica._scheduler))


async def test_others_take_over_before_a_stopping_replica_has_cleaned_up() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", kwargs={"does": "waits, cleans up slowly", "name": "a"})
        await world.start("one")
        await world.start("two")
        await world.pass_time(20)
        task, stopping, _ = world._replicas[owner(world)]
        before = len(world.called("a"))
        stopping.set()
        await world.pass_time(1)
        during, stopped = world.called("a")[before:], task.done()
        await world.pass_time(30)
        world.edit("a", cancel="2023-11-14T22:13:20Z")
        await world.pass_time(30)
        assert (during, stopped) == (["cleanup", "run"], False)
        assert task.done()
        assert world.state_and_reason("a") == ("Cancelled", "Cancelled")


async def test_failed_lease_renewals_back_off_and_recover_within_seconds() -> None:
    async with triggerer_fixture() as world:
        replica = await world.start()
        await world.pass_time(10)
        world.fake.inject(Fault(status=503, path="/leases/", times=1_000_000))
        before = len(world.fake.requests)
        await world.pass_time(60)
        requests = [request for request in world.fake.requests[before:] if "/leases/" in request.path]
        assert 10 <= len(requests) <= 100
        assert "the lease was not renewed" in replica.readiness_error()
        world.fake._faults.clear()
        await world.pass_time(7)
        assert replica.readiness_error() == ""
