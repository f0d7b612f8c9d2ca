"""Clearing in task groups: one index, one instance, failed instances, and their dependents."""

from typing import Any

import pytest
from torpor_operator.settings import Settings
from torpor_wire import constants
from torpor_wire.state import State

from tests.support.builders import Body, python, wait
from tests.support.group_builders import CITIES, FETCH, LOAD, REPORT, nested, run, succeed_all
from tests.support.plan_fixture import PlanFixture
from tests.unit.torpor_operator.workflows.plan.test_clear import clear


def test_clearing_one_index_clears_its_dependents_there_and_outside() -> None:
    world = run(FETCH, LOAD, REPORT)
    for index in range(3):
        world.succeed("fetch", "1", index=(index,)).succeed("load", "1", index=(index,))
    world.succeed("report")
    before = {name: body["metadata"]["uid"] for name, body in world.taskruns.items()}
    clear(world, "fetch/1")
    world.succeed("fetch", "2", index=(1,)).succeed("load", "2", index=(1,)).succeed("report")
    rerun = {name for name, body in world.taskruns.items() if before[name] != body["metadata"]["uid"]}
    assert rerun == {world.name("fetch", (1,)), world.name("load", (1,)), world.name("report", -1)}
    assert (world.status.state, world.status.clearing) == ("Succeeded", None)


def test_failed_instances_at_some_indexes_are_cleared_by_failed() -> None:
    world = run(FETCH, LOAD, REPORT)
    world.fail("fetch", index=(1,)).succeed("fetch", index=(0,)).succeed("fetch", index=(2,))
    world.succeed("load", index=(0,)).succeed("load", index=(2,))
    clear(world, "failed").succeed("fetch", index=(1,)).succeed("load", index=(1,)).succeed("report")
    assert world.status.state == "Succeeded"
    assert world.run("fetch", (0,)).spec.clears == 0


def test_clearing_the_producer_of_a_group_expands_the_group_again() -> None:
    world = run(python("list"), FETCH, groups=[CITIES | {"expand": [{"name": "city", "over": "${tasks.list.result}"}]}])
    world.succeed("list", '["a", "b"]').succeed("fetch", index=(0,)).succeed("fetch", index=(1,))
    clear(world, "list").succeed("list", '["c"]')
    assert world.arguments("fetch", (0,)) == {"city": '"c"'}
    assert not world.has("fetch", (1,))
    world.succeed("fetch", index=(0,))
    assert (world.status.state, world.task("fetch").instances) == ("Succeeded", "0")


@pytest.mark.parametrize(
    ("text", "message"),
    [("fetch/3", "no instance fetch/3: task fetch has the instances 0-2"), ("fetch/0.0", "no instance fetch/0.0")],
)
def test_an_unknown_index_cannot_be_cleared(text: str, message: str) -> None:
    world = run(FETCH)
    succeed_all(world, "fetch", 3)
    clear(world, text)
    assert any(message in event.message for event in world.events)


def test_one_instance_of_a_mapped_task_in_a_group_is_cleared_alone() -> None:
    world = nested()
    for path in [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)]:
        world.succeed("visit", "1", index=path)
    world.succeed("total", "2", index=(0,)).succeed("total", "2", index=(1,)).succeed("report")
    before = {name: body["metadata"]["uid"] for name, body in world.taskruns.items()}
    clear(world, "visit/0.1.1")
    world.succeed("visit", index=(0, 1, 1)).succeed("total", index=(0,)).succeed("report")
    rerun = {name for name, body in world.taskruns.items() if before[name] != body["metadata"]["uid"]}
    assert rerun == {world.name("visit", (0, 1, 1)), world.name("total", (0,)), world.name("report", -1)}
    assert world.status.state == "Succeeded"


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


def test_a_new_leader_completes_a_clearing_after_the_deletion() -> None:
    world = run(FETCH, LOAD)
    succeed_all(world, "fetch", 3)
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: "fetch/1"}
    while world.has("fetch", (1,)):
        world.apply(world.plan())
    world.api.created = {}
    world.settle().succeed("fetch", index=(1,))
    succeed_all(world, "load", 3)
    assert (world.run("load", (1,)).spec.clears, world.status.state) == (1, "Succeeded")


def test_another_clearing_starts_after_the_one_in_progress() -> None:
    world = run(FETCH, LOAD)
    succeed_all(world, "fetch", 3)
    for index in range(3):
        world.claim("load", (index,))
    world.api.graceful = True  # the pod of load/1 terminates slowly
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
    "cleared",
    [
        {"name": "fetch", "indexes": [0]},
        {"name": "visit", "indexes": [0]},
        {"name": "list", "indexes": [0]},
        {"name": "list", "within": "0"},
        {"name": "visit", "within": "0-"},
        {"name": "visit", "within": "0-99999.0-99999"},
    ],
)
def test_an_invalid_clearing_in_the_status_ends_the_run(cleared: dict[str, Any]) -> None:
    world = run(FETCH) if cleared["name"] == "fetch" else nested()
    before = set(world.taskruns)
    world.workflow["status"] |= {"clearing": {"asked": "x", "tasks": [cleared]}, "clears": 1}
    world.settle()
    assert (world.condition()[1], set(world.taskruns)) == ("StatusInvalid", before)


def test_a_foreign_clearing_without_instances_completes_at_once() -> None:
    world = run(FETCH)
    world.workflow["status"] |= {
        "clearing": {"asked": "x", "tasks": [{"name": "fetch", "within": "7,8.9"}]},
        "clears": 1,
    }
    succeed_all(world.settle(), "fetch", 3)
    assert (world.status.clearing, world.status.state) == (None, "Succeeded")


def test_clearing_retries_a_task_that_failed_before_its_first_instance() -> None:
    world: PlanFixture = run(FETCH, LOAD | {"args": {"n": "${1 / int(tasks.fetch.result)}"}})
    succeed_all(world, "fetch", 3)
    for index in (1, 2):
        world.succeed("load", index=(index,))
    assert "load/0: args: n" in str(world.task("load").message)
    clear(world, "fetch/0").succeed("fetch", "1", index=(0,)).succeed("load", index=(0,))
    assert world.status.state == "Succeeded"
