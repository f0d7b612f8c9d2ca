"""A trigger that only polls has no task between two polls, and ends as any other."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from torpor.triggers import BaseTrigger
from torpor_triggerer.app import Triggerer

from tests.support.triggerer_fixture import TriggererFixture, answer, triggerer_fixture
from tests.unit.triggerer.reporting.test_metrics import read

URL = {"url": "http://x/"}


class Door(BaseTrigger):
    """Polls a list of what it finds; the last one stays."""

    shareable = True

    def __init__(self, log: list[str], finds: list[Any], *, interval: float = 10.0) -> None:
        self.log = log
        self.finds = finds
        self.interval = interval

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        return "door", {}

    async def poll(self) -> Any:
        self.log.append("poll")
        answer = self.finds.pop(0) if len(self.finds) > 1 else self.finds[0]
        if answer == "hangs":
            await asyncio.sleep(1e6)
        if isinstance(answer, BaseException):
            raise answer
        self.last_look = f"found {answer}"
        return answer

    async def cleanup(self) -> None:
        self.log.append("cleanup")

    async def on_kill(self) -> None:
        self.log.append("on_kill")


async def start_with_wait(world: TriggererFixture, *finds: Any, **given: Any) -> tuple[Triggerer, list[str]]:
    log: list[str] = []
    left = [*finds]
    world.classes["door"] = lambda **kwargs: Door(log, left, **kwargs)
    world.taskrun("a", "door", {}, **given)
    return await world.start(), log


def idle(replica: Triggerer) -> bool:
    """Whether the only tasks are those of the replica itself."""
    return not replica._lifecycle._tasks


async def test_between_two_polls_there_is_no_task() -> None:
    async with triggerer_fixture() as world:
        replica, log = await start_with_wait(world, None)
        assert (log, idle(replica)) == (["poll"], True)
        await world.pass_time(35)
        assert (log, idle(replica)) == (["poll"] * 4, True)
        assert read(replica.metrics, "torpor_triggers_running", **{"class": "door"}) == 1
        assert "Waiting for door: found None, " in world.status("a")["message"]


async def test_what_a_poll_finds_fires_after_its_cleanup() -> None:
    async with triggerer_fixture() as world:
        replica, log = await start_with_wait(world, None, {"open": True})
        await world.pass_time(12)
        assert world.state_and_reason("a")[0] == "Scheduled"
        assert json.loads(world.status("a")["event"]) == {"open": True}
        assert log == ["poll", "poll", "cleanup"]
        assert len(replica._lifecycle.polls._heap) == 0


async def test_a_poll_that_raises_fails_its_wait() -> None:
    async with triggerer_fixture() as world:
        _, log = await start_with_wait(world, None, ValueError("no such door"))
        await world.pass_time(12)
        assert world.state_and_reason("a") == ("Failed", "TriggerFailed")
        assert "ValueError: no such door" in world.status("a")["message"]
        assert log == ["poll", "poll", "cleanup"]


async def test_a_wait_cancelled_between_two_polls_is_killed_and_polled_no_more() -> None:
    async with triggerer_fixture() as world:
        replica, log = await start_with_wait(world, None)
        world.edit("a", cancel="2023-11-14T22:13:20Z")
        await world.settle()
        assert world.state_and_reason("a") == ("Cancelled", "Cancelled")
        await world.pass_time(60)
        assert log == ["poll", "on_kill", "cleanup"]
        assert (idle(replica), len(replica._lifecycle.polls._heap)) == (True, 0)


async def test_a_wait_that_is_cancelled_during_a_poll_is_killed() -> None:
    async with triggerer_fixture() as world:
        _, log = await start_with_wait(world, "hangs")
        world.edit("a", cancel="2023-11-14T22:13:20Z")
        await world.settle()
        assert world.state_and_reason("a") == ("Cancelled", "Cancelled")
        assert log == ["poll", "on_kill", "cleanup"]


async def test_a_deadline_between_two_polls_names_the_last_poll() -> None:
    async with triggerer_fixture() as world:
        _, log = await start_with_wait(world, None, timeout=5)
        await world.pass_time(6)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")
        assert "last look: found None" in world.status("a")["message"]
        assert log == ["poll", "cleanup"]


async def test_a_replica_that_stops_cleans_up_what_rests() -> None:
    async with triggerer_fixture() as world:
        _, log = await start_with_wait(world, None)
        await world.stop()
        assert log == ["poll", "cleanup"]
        assert world.state_and_reason("a")[0] == "Deferred"


async def test_a_wall_clock_that_is_set_back_delays_no_poll() -> None:
    async with triggerer_fixture() as world:
        _, log = await start_with_wait(world, None)
        world.clock.jump(-86_400)
        await world.pass_time(12)
        assert log == ["poll", "poll"]


async def test_equal_waits_share_the_polls_also_while_they_rest() -> None:
    async with triggerer_fixture() as world:
        _, log = await start_with_wait(world, None, None, "open")
        await world.pass_time(5)
        world.taskrun("b", "door", {})
        await world.settle()
        assert log == ["poll"]
        await world.pass_time(18)
        assert [world.state_and_reason(name)[0] for name in ("a", "b")] == ["Scheduled", "Scheduled"]
        assert log == ["poll"] * 3 + ["cleanup"]


async def test_a_shorter_interval_takes_over_what_rests() -> None:
    async with triggerer_fixture() as world:
        replica, log = await start_with_wait(world, None)
        world.taskrun("b", "door", {"interval": 1.0})
        await world.pass_time(5)
        assert log.count("poll") >= 5
        assert len(replica._lifecycle.polls._heap) == 1


@pytest.mark.parametrize("interval", [float("nan"), float("inf"), -1.0, 0, 0.09])
async def test_an_interval_that_is_too_short_or_no_number_fails_the_wait(interval: float) -> None:
    async with triggerer_fixture() as world:
        world.classes["door"] = lambda: Door([], [None], interval=interval)
        world.taskrun("a", "door", {})
        await world.start()
        assert world.state_and_reason("a") == ("Failed", "TriggerFailed")
        assert f"interval is {interval:g} seconds; it must be 0.1 or more" in world.status("a")["message"]


async def test_an_interval_of_a_trigger_within_another_has_the_same_minimum() -> None:
    async with triggerer_fixture() as world:
        world.classes["door"] = lambda: Door([], [None], interval=0)
        world.taskrun("a", "any_of", {"triggers": [{"class": "door", "kwargs": {}}]})
        await world.start()
        assert world.state_and_reason("a") == ("Failed", "TriggerFailed")
        assert "interval is 0 seconds; it must be 0.1 or more" in world.status("a")["message"]


async def test_waits_of_one_source_have_no_task_each() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(503)]
        for number in range(20):
            world.taskrun(f"t{number}", "http", URL | {"body_condition": f"response.json['{number}'] == 1"})
        replica = await world.start()
        assert idle(replica)
        requests = world.web.request_count
        world.web.answers = [answer(200, {str(number): 1 for number in range(20)})]
        await world.pass_time(200)
        assert {world.state_and_reason(f"t{number}")[0] for number in range(20)} == {"Scheduled"}
        assert world.web.request_count == requests + 1


async def test_an_idle_source_has_no_task_and_ends_with_its_last_wait() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(404)]
        for number in range(5):
            world.taskrun(f"t{number}", "http", {"url": f"http://x/{number}"})
        replica = await world.start()
        pollers = world.backends.pollers
        assert (len(pollers), pollers._tasks, idle(replica)) == (5, {}, True)
        for number in range(5):
            world.edit(f"t{number}", cancel="2023-11-14T22:13:20Z")
        await world.settle()
        assert (len(pollers), pollers._timers) == (0, None)
        requests = world.web.request_count
        await world.pass_time(60)
        assert world.web.request_count == requests


async def test_a_wait_of_a_source_that_raises_fails_with_its_own_error() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(200, {"a": 1})]
        world.taskrun("a", "http", URL | {"body_condition": "response.json.a"})
        await world.start()
        await world.pass_time(1)
        assert world.state_and_reason("a") == ("Failed", "TriggerFailed")
        assert "body_condition yields a value of type int" in world.status("a")["message"]
