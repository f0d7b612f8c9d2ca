"""A clearing within groups that is large, cut off, altered by hand, or followed by another."""

from typing import Any

import pytest
from torpor_operator.settings import Settings
from torpor_wire import constants
from torpor_wire.state import State

from tests.support.builders import Body, wait
from tests.support.group_builders import FETCH, LOAD, at_once, nested, run
from tests.support.plan_world import World
from tests.unit.torpor_operator.plan.test_clear import clear

MANY = 60


def test_every_other_of_many_indexes_is_cleared() -> None:
    group: Body = {"name": "g", "expand": [{"name": "n", "over": list(range(MANY))}]}
    world = run(wait("alarm", group="g"), groups=[group], maxMapSize=MANY, settings=Settings(batch=MANY))
    for body in world.taskruns.values():
        odd = body["spec"]["groupIndexes"][0] % 2
        body["status"] |= {"state": "Failed" if odd else "Succeeded", "completionTime": "2026-01-01T00:00:00Z"}
    clear(world.settle(), "failed")
    assert any("running again: alarm/1,3,5" in event.message for event in world.events)
    assert sum(world.by_name(name).spec.clears for name in world.taskruns) == MANY // 2
    assert world.task("alarm").failed == 0


def test_a_clearing_that_is_cut_off_between_deletion_and_creation_is_ended_by_the_next_operator() -> None:
    world = run(FETCH, LOAD)
    at_once(world, "fetch", 3)
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: "fetch/1"}
    while world.has("fetch", (1,)):
        world.apply(world.plan())
    world.api.created = {}
    world.settle().succeed("fetch", index=(1,))
    at_once(world, "load", 3)
    assert (world.run("load", (1,)).spec.clears, world.status.state) == (1, "Succeeded")


def test_another_clearing_waits_for_the_one_under_way_and_then_has_its_turn() -> None:
    world = run(FETCH, LOAD)
    at_once(world, "fetch", 3)
    for index in range(3):
        world.claim("load", (index,))
    world.api.graceful = True  # the pod of load/1 takes its time to end
    clear(world, "load/1")
    clear(world, "fetch/0")
    clearing = world.status.clearing
    assert clearing is not None
    assert clearing.asked == "load/1"
    world.reap()
    world.api.collect()
    world.settle().reap()
    world.api.collect()
    world.settle()
    assert (world.status.clears, world.status.clearing) == (2, None)
    assert (world.run("load", (1,)).spec.clears, world.state("fetch", (0,))) == (1, State.SCHEDULED)
    assert not world.has("load", (0,))


@pytest.mark.parametrize(
    "mark",
    [
        {"name": "fetch", "indexes": [0]},
        {"name": "visit", "indexes": [0]},
        {"name": "list", "indexes": [0]},
        {"name": "list", "within": "0"},
        {"name": "visit", "within": "0-"},
        {"name": "visit", "within": "0-99999.0-99999"},
    ],
)
def test_a_mark_of_another_hand_that_cannot_be_ends_the_run_and_makes_nothing(mark: dict[str, Any]) -> None:
    world = run(FETCH) if mark["name"] == "fetch" else nested()
    before = set(world.taskruns)
    world.workflow["status"] |= {"clearing": {"asked": "x", "tasks": [mark]}, "clears": 1}
    world.settle()
    assert (world.condition()[1], set(world.taskruns)) == ("StatusInvalid", before)


def test_a_mark_of_another_hand_at_no_index_is_done_at_once() -> None:
    world = run(FETCH)
    world.workflow["status"] |= {
        "clearing": {"asked": "x", "tasks": [{"name": "fetch", "within": "7,8.9"}]},
        "clears": 1,
    }
    at_once(world.settle(), "fetch", 3)
    assert (world.status.clearing, world.status.state) == (None, "Succeeded")


def test_where_nothing_was_made_at_an_index_what_failed_there_is_tried_again() -> None:
    world: World = run(FETCH, LOAD | {"args": {"n": "${1 / int(tasks.fetch.result)}"}})
    at_once(world, "fetch", 3)
    for index in (1, 2):
        world.succeed("load", index=(index,))
    assert "load/0: args: n" in str(world.task("load").message)
    clear(world, "fetch/0").succeed("fetch", "1", index=(0,)).succeed("load", index=(0,))
    assert world.status.state == "Succeeded"
