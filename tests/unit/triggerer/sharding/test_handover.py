"""What the Lease is for: the others begin at once where a replica is told to stop, and hear of it where it hangs."""

from tests.support.fake_api import Fault
from tests.support.triggerer_world import World, world


def owner(made: World) -> str:
    return next(name for name, (_, _, replica) in made._replicas.items() if len(replica._scheduler))


async def test_others_take_over_before_a_stopping_replica_has_cleaned_up() -> None:
    async with world() as made:
        made.taskrun("a", kwargs={"does": "waits, cleans up slowly", "name": "a"})
        await made.start("one")
        await made.start("two")
        await made.pass_time(20)
        task, stopping, _ = made._replicas[owner(made)]
        before = len(made.called("a"))
        stopping.set()
        await made.pass_time(1)
        during, stopped = made.called("a")[before:], task.done()
        await made.pass_time(30)
        made.edit("a", cancel="2023-11-14T22:13:20Z")
        await made.pass_time(30)
        assert (during, stopped) == (["cleanup", "run"], False)
        assert task.done()
        assert made.stands("a") == ("Cancelled", "Cancelled")


async def test_failed_lease_renewals_back_off_and_recover_within_seconds() -> None:
    async with world() as made:
        replica = await made.start()
        await made.pass_time(10)
        made.fake.inject(Fault(status=503, path="/leases/", times=1_000_000))
        before = len(made.fake.requests)
        await made.pass_time(60)
        asked = [one for one in made.fake.requests[before:] if "/leases/" in one.path]
        assert 10 <= len(asked) <= 100
        assert "the lease was not renewed" in replica.readiness_error()
        made.fake._faults.clear()
        await made.pass_time(7)
        assert replica.readiness_error() == ""
