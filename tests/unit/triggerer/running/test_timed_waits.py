"""A wait for a known moment has a timer and no run before it, and ends as any other."""

import asyncio

import pytest
from torpor.triggers import BaseTrigger
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_triggerer.app import Triggerer
from torpor_triggerer.timers import AT_ONCE, Timers
from torpor_triggerer.usercode import validation

from tests.support.fake_api import Fault, VirtualClock
from tests.support.triggerer_fixture import NAMESPACE, TriggererFixture, triggerer_fixture
from tests.unit.triggerer.reporting.test_metrics import read

HOUR = {"duration": "1h"}


def counts(replica: Triggerer) -> tuple[int, int, int]:
    """Runs, timers without a run, and entries of the heap."""
    scheduler = replica._scheduler
    return len(scheduler.runs), len(list(scheduler.timed)), len(replica._lifecycle.timers._heap)


async def start_with_wait(world: TriggererFixture, class_name: str, kwargs: object, **given: object) -> Triggerer:
    world.taskrun("a", class_name, kwargs, **given)
    return await world.start()


async def test_a_time_wait_has_a_timer_and_no_run_until_it_is_due() -> None:
    async with triggerer_fixture() as world:
        replica = await start_with_wait(world, "duration", HOUR)
        assert counts(replica) == (0, 1, 1)
        assert read(replica.metrics, "torpor_triggers_running", **{"class": "time"}) == 1
        assert (len(replica._scheduler), replica.waits, replica.next_moment()) == (1, 1, world.now + 3600)
        await world.pass_time(3599)
        assert world.patches("a") == 0
        await world.pass_time(2)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert world.patches("a") == 1
        assert counts(replica) == (0, 0, 0)


async def test_a_tick_is_computed_again_and_is_the_same() -> None:
    async with triggerer_fixture() as world:
        replica = await start_with_wait(world, "cron", {"expression": "*/5 * * * *"})
        assert counts(replica) == (0, 1, 1)
        await world.pass_time(3600)
        assert world.status("a")["event"] == '"2023-11-14T22:15:00.000Z"'


async def test_a_cron_with_a_null_after_fires_at_its_tick() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "cron", {"expression": "*/5 * * * *", "after": None})
        await world.pass_time(3600)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert world.status("a")["event"] == '"2023-11-14T22:15:00.000Z"'


class Postponed(BaseTrigger):
    """Knows a later moment each time it is made, until the last one."""

    __module__ = "torpor.triggers.postponed"

    def __init__(self, moments: list[float]) -> None:
        self.moment = moments.pop(0) if len(moments) > 1 else moments[0]

    def due(self) -> float:
        return self.moment

    def payload(self) -> str:
        return "due"


async def begun_postponed(world: TriggererFixture, *seconds: float, **given: object) -> Triggerer:
    moments = [world.now + second for second in seconds]
    world.classes["postponed"] = lambda: Postponed(moments)
    return await start_with_wait(world, "postponed", {}, **given)


async def test_a_trigger_recreated_with_a_later_time_fires_then() -> None:
    async with triggerer_fixture() as world:
        replica = await begun_postponed(world, 60, 120, 180)
        assert counts(replica) == (0, 1, 1)
        for _ in range(2):
            await world.pass_time(61)
            assert world.state_and_reason("a")[0] == "Deferred"
            assert counts(replica) == (0, 1, 1)
        await world.pass_time(61)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert counts(replica) == (0, 0, 0)


async def test_a_trigger_recreated_with_a_later_time_keeps_its_deadline() -> None:
    async with triggerer_fixture() as world:
        replica = await begun_postponed(world, 60, 120, timeout=90)
        await world.pass_time(61)
        assert world.state_and_reason("a")[0] == "Deferred"
        await world.pass_time(30)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")
        assert counts(replica) == (0, 0, 0)


async def test_a_wait_that_could_not_fire_fires_when_its_taskrun_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    async with triggerer_fixture() as world:
        replica = await start_with_wait(world, "duration", {"duration": "60s"})
        with monkeypatch.context() as broken:
            broken.setattr(validation, "read", None)
            await world.pass_time(61)
        assert world.state_and_reason("a")[0] == "Deferred"
        assert counts(replica) == (0, 0, 0)
        assert replica._scheduler._slots[0]._free == 20_000
        world.edit("a", message="touched")
        await world.pass_time(1)
        assert world.state_and_reason("a") == ("Scheduled", None)


async def test_a_time_wait_is_announced_once() -> None:
    async with triggerer_fixture(event_rate=100.0) as world:
        await start_with_wait(world, "duration", {"duration": "3s"})
        await world.pass_time(5)
        assert [reason for reason, _ in world.events("a", "Normal")] == ["Waiting", "Fired"]
        assert world.log_output.getvalue().count("waits until") == 1


async def test_a_deadline_before_the_due_time_ends_the_wait_on_time() -> None:
    async with triggerer_fixture() as world:
        replica = await start_with_wait(world, "duration", HOUR, timeout=60)
        assert counts(replica) == (0, 1, 1)
        await world.pass_time(59)
        assert world.state_and_reason("a")[0] == "Deferred"
        await world.pass_time(2)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")
        assert counts(replica) == (0, 0, 0)


async def test_a_time_that_is_also_the_deadline_fires() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "duration", {"duration": "60s"}, timeout=60)
        await world.pass_time(61)
        assert world.state_and_reason("a") == ("Scheduled", None)


async def test_a_cancelled_wait_ends_at_once_and_leaves_no_timer() -> None:
    async with triggerer_fixture() as world:
        replica = await start_with_wait(world, "duration", HOUR)
        world.edit("a", cancel="2023-11-14T22:13:20Z")
        await world.settle()
        assert world.state_and_reason("a") == ("Cancelled", "Cancelled")
        assert counts(replica) == (0, 0, 0)
        assert replica._scheduler._slots[0]._free == 20_000


async def test_a_wait_that_ended_elsewhere_leaves_no_timer() -> None:
    async with triggerer_fixture() as world:
        replica = await start_with_wait(world, "duration", HOUR)
        world.edit("a", state="Scheduled", segment=1)
        await world.settle()
        assert counts(replica) == (0, 0, 0)
        assert replica._scheduler._slots[0]._free == 20_000


async def test_the_next_segment_has_a_timer_of_its_own() -> None:
    async with triggerer_fixture() as world:
        replica = await start_with_wait(world, "duration", HOUR)
        world.edit("a", segment=1, deferredAt="2023-11-14T22:13:25Z")
        await world.settle()
        assert counts(replica) == (0, 1, 1)
        await world.pass_time(3601)
        assert (world.state_and_reason("a"), world.status("a")["segment"]) == (("Scheduled", None), 2)


async def test_a_wait_displaced_by_an_older_one_queues_and_resumes() -> None:
    async with triggerer_fixture(capacity=1) as world:
        replica = await start_with_wait(world, "duration", HOUR)
        world.taskrun("older", status={"deferredAt": "2023-11-14T22:00:00Z"})
        world.fake.edit(TASKRUNS, NAMESPACE, "older", {"metadata": {"creationTimestamp": "2023-11-14T21:00:00Z"}})
        await world.settle()
        assert world.called("older")[-1:] == ["run"]
        assert [wait.name for wait in replica._scheduler.queued] == ["a"]
        assert list(replica._scheduler.timed) == []
        world.edit("older", cancel="2023-11-14T22:13:20Z")
        await world.settle()
        assert [wait.name for wait in replica._scheduler.timed] == ["a"]


async def test_a_third_party_class_is_made_once_and_keeps_its_run() -> None:
    async with triggerer_fixture() as world:
        replica = await start_with_wait(world, "odd_clock", {"does": "is fine", "name": "a"})
        assert counts(replica)[:2] == (1, 0)


class Ticket:
    """A class that knows nothing of Torpor but its moment."""

    def __init__(self, made: list[float], at: float) -> None:
        made.append(at)
        self.at = at

    def due(self) -> float:
        return self.at

    def payload(self) -> str:
        return "due"


async def test_a_third_party_class_without_end_methods_is_made_once_too() -> None:
    async with triggerer_fixture() as world:
        moments: list[float] = []
        world.classes["ticket"] = lambda at: Ticket(moments, at)
        replica = await start_with_wait(world, "ticket", {"at": world.now + 60})
        assert counts(replica)[:2] == (1, 0)
        await world.pass_time(61)
        assert (world.status("a")["event"], len(moments)) == ('"due"', 1)


async def test_a_time_wait_becomes_a_timer_after_its_namespaces_permission() -> None:
    async with triggerer_fixture() as world:
        world.fake.inject(Fault(status=503, path="selfsubjectaccessreviews", times=1))
        replica = await start_with_wait(world, "duration", HOUR)
        await world.pass_time(60)
        assert counts(replica) == (0, 1, 1)
        await world.pass_time(3600)
        assert world.state_and_reason("a") == ("Scheduled", None)


async def test_thousands_of_timers_of_one_time_let_other_tasks_run() -> None:
    clock = VirtualClock()
    order: list[str] = []
    timers: Timers[str] = Timers(clock, order.append)
    for _ in range(3 * AT_ONCE):
        timers.add(clock.now(), "timer")

    async def other() -> None:
        for _ in range(2):
            await asyncio.sleep(0)
            order.append("other")

    running, beside = asyncio.create_task(timers.run()), asyncio.create_task(other())
    await clock.advance(1)
    running.cancel()
    await beside
    assert order.count("timer") == 3 * AT_ONCE
    assert order.index("other") <= 2 * AT_ONCE
