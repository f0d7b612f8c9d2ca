"""Clearing within groups: an index, an instance, what failed; and what depends on it there."""

import pytest

from tests.support.builders import python
from tests.support.group_builders import CITIES, FETCH, LOAD, REPORT, at_once, nested, run
from tests.unit.torpor_operator.plan.test_clear import clear


def test_one_index_is_cleared_with_what_follows_there_and_outside() -> None:
    world = run(FETCH, LOAD, REPORT)
    for index in range(3):
        world.succeed("fetch", "1", index=(index,)).succeed("load", "1", index=(index,))
    world.succeed("report")
    before = {name: body["metadata"]["uid"] for name, body in world.taskruns.items()}
    clear(world, "fetch/1")
    world.succeed("fetch", "2", index=(1,)).succeed("load", "2", index=(1,)).succeed("report")
    anew = {name for name, body in world.taskruns.items() if before[name] != body["metadata"]["uid"]}
    assert anew == {world.name("fetch", (1,)), world.name("load", (1,)), world.name("report", -1)}
    assert (world.status.state, world.status.clearing) == ("Succeeded", None)


def test_what_failed_at_some_indexes_is_cleared_by_one_word() -> None:
    world = run(FETCH, LOAD, REPORT)
    world.fail("fetch", index=(1,)).succeed("fetch", index=(0,)).succeed("fetch", index=(2,))
    world.succeed("load", index=(0,)).succeed("load", index=(2,))
    clear(world, "failed").succeed("fetch", index=(1,)).succeed("load", index=(1,)).succeed("report")
    assert world.status.state == "Succeeded"
    assert world.run("fetch", (0,)).spec.clears == 0


def test_what_a_group_comes_from_is_cleared_and_its_width_found_out_again() -> None:
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
def test_an_index_that_is_not_there_cannot_be_cleared(text: str, message: str) -> None:
    world = run(FETCH)
    at_once(world, "fetch", 3)
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
    anew = {name for name, body in world.taskruns.items() if before[name] != body["metadata"]["uid"]}
    assert anew == {world.name("visit", (0, 1, 1)), world.name("total", (0,)), world.name("report", -1)}
    assert world.status.state == "Succeeded"
