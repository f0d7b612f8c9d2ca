"""More waits than room: the oldest run, the others queue, say so, and take the room that frees in order of age."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from torpor_triggerer.running.capacity import FairSlots
from torpor_wire import times

from tests.support.fake_api import Fault
from tests.support.triggerer_fixture import TriggererFixture, triggerer_fixture
from tests.unit.triggerer.reporting.test_metrics import read

AGES = st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 4)), max_size=60)


@given(AGES, st.integers(1, 5))
def test_the_oldest_waits_run_and_each_change_is_notified(steps: list[Any], capacity: int) -> None:
    room: FairSlots[tuple[int, int]] = FairSlots(capacity, lambda wait: wait)
    asking, running = set[tuple[int, int]](), set[tuple[int, int] | None]()
    for comes, *age in steps:
        wait = (age[0], age[1])
        if comes:
            running = (running | {wait}) - {room.enter(wait)}
            asking.add(wait)
        else:
            running = (running - {wait} | {room.leave(wait)}) - {None}
            asking.discard(wait)
        assert running == set(sorted(asking)[:capacity])
        assert [*room.queue()] == sorted(asking)[capacity:]


def waits(world: TriggererFixture, *ages: int) -> None:
    """A wait for each age in seconds, in the order of their names: t0, t1 and so on."""
    for number, age in enumerate(ages):
        world.taskrun(f"t{number}", status={"deferredAt": f"2023-11-14T22:13:{19 - age:02}Z"})


def running(world: TriggererFixture, count: int) -> set[str]:
    """Those whose trigger was run, and nothing else since."""
    return {f"t{number}" for number in range(count) if world.called(f"t{number}")[-1:] == ["run"]}


async def test_the_oldest_waits_of_a_list_run_regardless_of_their_names() -> None:
    async with triggerer_fixture(capacity=3) as world:
        waits(world, 1, 8, 2, 7, 3, 6)
        replica = await world.start()
        assert running(world, 6) == {"t1", "t3", "t5"}
        assert read(replica.metrics, "torpor_triggers_running", **{"class": "odd"}) == 3
        assert read(replica.metrics, "torpor_triggers_queued", **{"class": "odd"}) == 3


async def test_free_capacity_goes_to_the_oldest_queued_wait() -> None:
    async with triggerer_fixture(capacity=2) as world:
        waits(world, 1, 9, 3, 8, 2)
        await world.start()
        for gone, then in (("t1", {"t3", "t2"}), ("t3", {"t2", "t4"}), ("t4", {"t2", "t0"})):
            world.edit(gone, cancel="2023-11-14T22:13:20Z")
            await world.settle()
            assert running(world, 5) == then


async def test_a_later_wait_queues_behind_running_waits() -> None:
    async with triggerer_fixture(capacity=2) as world:
        waits(world, 5, 6)
        await world.start()
        world.taskrun("t2")
        await world.settle()
        assert running(world, 3) == {"t0", "t1"}
        assert world.called("t2") == []


async def test_a_cancelled_queued_wait_is_killed_without_waiting_for_capacity() -> None:
    async with triggerer_fixture(capacity=1) as world:
        waits(world, 5, 4)
        await world.start()
        world.edit("t1", cancel="2023-11-14T22:13:20Z")
        await world.settle()
        assert world.called("t1") == ["on_kill", "cleanup"]
        assert world.state_and_reason("t1") == ("Cancelled", "Cancelled")
        assert running(world, 2) == {"t0"}


async def test_a_wait_cancelled_before_it_was_seen_needs_no_capacity() -> None:
    async with triggerer_fixture(capacity=1) as world:
        waits(world, 5, 4)
        world.edit("t1", cancel="2023-11-14T22:13:20Z")
        await world.start()
        assert world.state_and_reason("t1") == ("Cancelled", "Cancelled")
        assert running(world, 2) == {"t0"}


async def test_what_is_being_written_makes_no_way() -> None:
    """Its event was there, and may not come a second time."""
    async with triggerer_fixture(capacity=1) as world:
        world.taskrun("t0", kwargs={"does": "fires in a minute", "name": "t0"})
        await world.start()
        world.fake.inject(Fault(status=503, path="/t0/status", times=3))
        await world.pass_time(60.1)
        world.taskrun("t1", status={"deferredAt": "2023-11-14T22:13:00Z"})
        await world.pass_time(10)
        assert world.state_and_reason("t0")[0] == "Scheduled"
        assert world.called("t0").count("run") == 1
        assert running(world, 2) == {"t1"}


async def test_a_queued_wait_says_so_until_it_has_capacity() -> None:
    async with triggerer_fixture(capacity=1, progress_rate=2.0) as world:
        waits(world, 5, 4, 3)
        await world.start()
        await world.pass_time(20)
        assert world.state_and_reason("t2") == ("Deferred", "Queued")
        assert world.status("t2")["message"] == (
            "Queued: 1 wait runs on this replica, and 1 older one queues; the pool needs more replicas or capacity"
        )
        assert world.status("t1")["message"].startswith("Queued: 1 wait runs on this replica; ")
        written = world.patches("t2")
        await world.pass_time(300)
        assert world.patches("t2") == written
        world.edit("t0", cancel="2023-11-14T22:13:20Z")
        await world.pass_time(20)
        assert world.state_and_reason("t1") == ("Deferred", "Waiting")
        assert world.status("t1")["message"] == f"Waiting for {world.status('t1')['trigger']['waitsFor']}"


async def test_a_thousand_that_queue_say_so_within_the_budget_the_oldest_first() -> None:
    async with triggerer_fixture(capacity=1, progress_rate=2.0) as world:
        waits(world, 9, *[5] * 200)
        await world.start()
        await world.pass_time(30)
        queued = [number for number in range(201) if world.state_and_reason(f"t{number}")[1] == "Queued"]
        assert 40 <= len(queued) <= 62


async def test_a_wait_with_a_changed_start_time_still_has_one_queue_entry() -> None:
    async with triggerer_fixture(capacity=1) as world:
        waits(world, 5, 4)
        replica = await world.start()
        world.edit("t0", deferredAt="2023-11-14T22:13:18Z")
        await world.settle()
        assert running(world, 2) == {"t1"}
        world.edit("t1", cancel="2023-11-14T22:13:20Z")
        await world.settle()
        assert running(world, 2) == {"t0"}
        assert read(replica.metrics, "torpor_triggers_queued", **{"class": "odd"}) == 0


async def test_a_wait_that_claims_an_older_start_takes_no_running_place() -> None:
    """The policy lets its writer lie by ten minutes; who came later queues all the same."""
    async with triggerer_fixture(capacity=1) as world:
        world.taskrun("t0")
        await world.start()
        await world.pass_time(60)
        world.taskrun("t1", status={"deferredAt": times.rfc3339(world.now - 590)})
        await world.settle()
        assert running(world, 2) == {"t0"}


async def test_a_wait_from_before_its_taskrun_was_made_is_as_old_as_that() -> None:
    async with triggerer_fixture(capacity=1) as world:
        world.taskrun("t0")
        await world.start()
        await world.pass_time(60)
        world.taskrun("t1", status={"deferredAt": "1970-01-01T00:00:00Z"})
        await world.settle()
        assert running(world, 2) == {"t0"}


async def test_a_wait_from_the_future_is_as_old_as_its_observation() -> None:
    async with triggerer_fixture(capacity=1) as world:
        world.taskrun("t0", status={"deferredAt": "2090-01-01T00:00:00Z"})
        await world.start()
        await world.pass_time(60)
        world.taskrun("t1")
        await world.settle()
        assert running(world, 2) == {"t0"}


async def test_a_wait_keeps_its_queue_position_when_it_is_taken_over() -> None:
    async with triggerer_fixture(capacity=1) as world:
        world.taskrun("t1", status={"state": "Running"})
        since = times.rfc3339(world.now)
        await world.start()
        await world.pass_time(60)
        world.taskrun("t0")
        await world.pass_time(660)
        world.edit("t1", state="Deferred", deferredAt=since)
        await world.settle()
        assert running(world, 2) == {"t1"}
