"""Where triggers run, and what follows when one blocks the loop of all."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import pytest
from torpor.triggers import AnyOf, BaseTrigger, TriggerEvent
from torpor.triggers.services import Services
from torpor_kubernetes.timing import SystemClock
from torpor_triggerer.app import Triggerer
from torpor_triggerer.isolation import placement as module
from torpor_triggerer.isolation.placement import Blocked, Placement
from torpor_triggerer.isolation.trigger_proxy import TriggerProxy
from torpor_triggerer.model.outcome import Failed, Fired
from torpor_triggerer.usercode import attribution
from torpor_triggerer.usercode.attribution import Attribution
from torpor_triggerer.usercode.registry import Registry, TriggerClass

from tests.support.trigger_services import services
from tests.support.triggerer_fixture import triggerer_fixture

BLOCKED_SECONDS = 0.8
"""Long enough for a watchdog that a busy machine keeps from its work."""


class BlockingTrigger(BaseTrigger):
    """Blocks for most of a second: in `run`, or where it is being made."""

    def __init__(self, where: str = "run") -> None:
        self.where = where
        if where == "__init__":
            time.sleep(BLOCKED_SECONDS)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        if self.where == "run":
            time.sleep(BLOCKED_SECONDS)  # noqa: ASYNC251 - that is the point
        if self.where == "cancels all":
            for task in asyncio.all_tasks():
                task.cancel()
        if self.where == "stops the loop":
            asyncio.get_running_loop().stop()
        if self.where != "run":
            await asyncio.sleep(0.1)
        if self.where == "a task":
            await asyncio.wait_for(self._sleep(), 60)
        yield TriggerEvent()

    async def _sleep(self) -> None:
        time.sleep(BLOCKED_SECONDS)  # noqa: ASYNC251 - that is the point


class BlockingBatchTrigger(BaseTrigger):
    """Blocks where many are asked for at once."""

    source = "one"

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    async def poll_many(cls, waits: list["BlockingBatchTrigger"], services: Services) -> list[TriggerEvent]:
        time.sleep(BLOCKED_SECONDS)  # noqa: ASYNC251 - that is the point
        return [TriggerEvent(wait.number) for wait in waits]


CLASSES = {
    "many": cast("TriggerClass", BlockingBatchTrigger),
    "blocks": cast("TriggerClass", BlockingTrigger),
    "any_of": cast("TriggerClass", AnyOf),
}


class BlockReports:
    """Watched event loops, and the reports of their blocks."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.reports: list[Blocked] = []
        self.registry = Registry(CLASSES)
        self.placement = Placement(
            SystemClock(), self.registry, seconds=10, on_block=self.begun.append, on_unblock=self.reports.append
        )

    async def until_reported(self, times: int) -> None:
        async with asyncio.timeout(180):
            while len(self.reports) < times:  # noqa: ASYNC110 - another thread reports
                await asyncio.sleep(0.01)


@contextmanager
def watching(*apart: str) -> Iterator[BlockReports]:
    place = BlockReports()
    with place.placement.watching(apart):
        yield place


@pytest.mark.parametrize("where", ["run", "a task"])
async def test_a_class_that_blocks_three_times_gets_a_thread_of_its_own(where: str) -> None:
    with watching() as place:
        for times in range(1, 4):
            trigger = BlockingTrigger(where)
            assert isinstance(await place.placement.run("blocks", trigger), Fired)
            await place.until_reported(times)
            assert place.reports[-1].subject is trigger
        assert [(block.class_name, block.moved) for block in place.reports] == [
            ("blocks", False),
            ("blocks", False),
            ("blocks", True),
        ]
        assert place.reports[-1].place.startswith("test_placement.py:")
        assert list(place.placement.thread_loops) == ["blocks"]
        trigger = place.registry.make("blocks", {"where": where}, services())
        assert isinstance(trigger, TriggerProxy)
        assert isinstance(await place.placement.run("blocks", trigger), Fired)
        async with asyncio.timeout(180):
            while place.placement.blocked["blocks"] < 4:  # noqa: ASYNC110 - another thread counts
                await asyncio.sleep(0.01)
        assert len(place.reports) == 3
        assert place.begun == ["blocks"] * 4


async def test_many_that_are_made_in_one_step_are_spared_from_the_fourth_on() -> None:
    with watching() as place:
        await asyncio.sleep(0.1)
        mark = Attribution(class_name="blocks", subject=place)
        triggers = [
            attribution.call(mark, lambda: place.registry.make("blocks", {"where": "__init__"}, services()))
            for _ in range(12)
        ]
        await place.until_reported(3)
        assert [type(instance) for instance in triggers[-6:]] == [TriggerProxy] * 6
        assert BlockingTrigger in {type(instance) for instance in triggers}


async def test_one_block_that_is_long_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG", 0.2)
    with watching() as place:
        await place.placement.run("blocks", BlockingTrigger())
        await place.until_reported(1)
        assert (place.reports[0].moved, list(place.placement.thread_loops)) == (True, ["blocks"])


async def test_blocks_that_lie_far_apart_are_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WITHIN", 0.5)
    with watching() as place:
        for times in range(1, 4):
            await place.placement.run("blocks", BlockingTrigger())
            await place.until_reported(times)
        assert [block.moved for block in place.reports] == [False] * 3


async def test_a_part_of_another_is_named_and_not_the_whole() -> None:
    with watching() as place:
        whole = AnyOf([{"class": "blocks", "kwargs": {"where": "run"}}])
        whole.bind(replace(services(), registry=place.registry))
        assert isinstance(await place.placement.run("any_of", whole), Fired)
        await place.until_reported(1)
        assert (place.reports[0].class_name, place.reports[0].subject) == ("blocks", whole)


async def test_a_query_for_many_is_its_classs_and_all_of_theirs() -> None:
    with watching() as place:
        lent = services()
        waits = [place.registry.make("many", {"number": number}, lent) for number in range(3)]
        await asyncio.gather(*(place.placement.run("many", wait) for wait in waits))
        await place.until_reported(1)
        assert (place.reports[0].class_name, place.reports[0].subject) == ("many", waits)


async def test_a_class_that_is_known_to_block_never_runs_in_the_loop_of_all() -> None:
    with watching("blocks") as place:
        trigger = place.registry.make("blocks", {"where": "__init__"}, services())
        assert isinstance(await place.placement.run("blocks", trigger), Fired)
        await asyncio.sleep(0.2)
        assert place.reports == []


@pytest.mark.parametrize(("where", "ends"), [("cancels all", Failed), ("stops the loop", Fired)])
async def test_a_trigger_that_breaks_its_thread_affects_no_other_class(where: str, ends: type) -> None:
    with watching("blocks") as place:
        for _ in range(2):
            trigger = place.registry.make("blocks", {"where": where}, services())
            async with asyncio.timeout(180):
                assert isinstance(await place.placement.run("blocks", trigger), ends)
            await place.placement.tell("blocks", trigger, "cleanup")


async def test_a_name_that_no_class_has_is_not_run_apart() -> None:
    with watching("no-such-class", "blocks") as place:
        assert list(place.placement.thread_loops) == ["blocks"]


async def test_other_threads_have_their_turn_as_before_once_nothing_is_watched() -> None:
    before = sys.getswitchinterval()
    with watching("blocks"):
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before


def trigger(replica: Triggerer, name: str) -> object:
    return next(run.trigger for run in replica._scheduler.runs if run.packed.name == name)


def blocked(subject: object, *, moved: bool, class_name: str = "odd") -> Blocked:
    return Blocked(class_name=class_name, subject=subject, place="odd.py:1 in run", seconds=1.5, moved=moved)


async def test_only_the_taskrun_that_blocked_gets_an_event() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("b")
        world.taskrun("a")
        replica = await world.start()
        replica._on_unblock(blocked(trigger(replica, "a"), moved=False))
        replica._on_unblock(blocked(trigger(replica, "a"), moved=False))
        await world.pass_time(1)
        assert [reason for reason, _ in world.events("a")] == ["LoopBlocked"]
        assert "for 1.5 s, at odd.py:1 in run" in world.events("a")[0][1]
        assert world.events("b") == []
        assert world.called("a") == ["run"]


async def test_waits_of_a_class_that_moves_restart_and_none_is_killed() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("b")
        world.taskrun("c", "odd_clock", {"name": "c"})
        world.taskrun("a")
        replica = await world.start()
        replica._on_unblock(blocked(trigger(replica, "a"), moved=True))
        await world.pass_time(1)
        for name in ("a", "b"):
            assert sorted(world.called(name)) == ["cleanup", "run", "run"]
            assert world.state_and_reason(name) == ("Deferred", None)
        assert world.called("c") == []


async def test_waits_of_a_shared_trigger_are_all_notified_and_share_the_new_one() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("b", kwargs={"does": "waits", "name": "a"})
        world.taskrun("a")
        replica = await world.start()
        replica._on_unblock(blocked(trigger(replica, "a"), moved=True))
        await world.pass_time(1)
        assert {name: [reason for reason, _ in world.events(name)] for name in "ab"} == {
            "a": ["LoopBlocked"],
            "b": ["LoopBlocked"],
        }
        assert sorted(world.called("a")) == ["cleanup", "run", "run"]


async def test_a_wait_that_was_handed_over_does_not_restart() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a")
        replica = await world.start()
        subject = trigger(replica, "a")
        await replica._scheduler.stop()
        replica._on_unblock(blocked(subject, moved=True))
        await world.pass_time(1)
        assert world.called("a") == ["run", "cleanup"]
