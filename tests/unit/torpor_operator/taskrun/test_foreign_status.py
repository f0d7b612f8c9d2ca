"""What another hand wrote where the operator counts on its own: it is answered, and the run comes to an end."""

import pytest
from torpor_wire import constants, transitions
from torpor_wire.canonical import Json

from tests.support.builders import Body, python
from tests.support.plan_world import World

MARKS: list[Body] = [
    {"made": "9-1"},
    {"made": "-"},
    {"skips": "1-2-3"},
    {"made": "0-999999999"},
    {"skips": "999999999"},
    {"created": 2**31 - 1},
    {"total": 2**31 - 1, "created": 1},
]


def begun() -> World:
    """A mapped task in the middle."""
    return World(python("load", expand=[{"name": "n", "over": [1, 2, 3]}])).settle()


def scribble(world: World, marks: Body) -> None:
    (entry,) = world.workflow["status"]["tasks"]
    entry.update(marks)


@pytest.mark.parametrize("marks", MARKS)
def test_marks_that_cannot_be_end_the_run_and_are_named(marks: Body) -> None:
    world = begun()
    scribble(world, marks)
    world.settle()
    assert world.condition()[:2] == ("False", "StatusInvalid")
    assert "load" in world.condition()[2]
    assert {str(world.state("load", index)) for index in range(3)} == {"Cancelled"}


@pytest.mark.parametrize("marks", MARKS)
def test_a_run_with_marks_that_cannot_be_is_deleted_all_the_same(marks: Body) -> None:
    world = begun()
    scribble(world, marks)
    world.delete()
    world.settle()
    assert world.api.deleted


@pytest.mark.parametrize("marks", MARKS)
def test_a_clearing_takes_up_no_marks_that_cannot_be(marks: Body) -> None:
    world = begun()
    for index in range(3):
        world.fail("load", index=index)
    scribble(world, marks)
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: "failed"}
    world.settle()
    assert constants.CLEAR not in world.workflow["metadata"]["annotations"]


@pytest.mark.parametrize("text", ["{", "[NaN]", "[1e999]", "[" * 8_000])
def test_a_list_that_is_not_json_fails_the_task_that_is_mapped_over_it(text: str) -> None:
    world = World(python("list"), python("load", expand=[{"name": "n", "over": "${tasks.list.result}"}])).settle()
    world.succeed("list", text)
    assert world.tasks() == {"list": "Succeeded", "load": "Failed"}
    assert world.task("load").message


@pytest.mark.parametrize("text", ["{", "[" * 8_000])
def test_results_that_are_not_json_fail_the_task_that_is_mapped_over_them(text: str) -> None:
    over = "${tasks.first.results}"
    first = python("first", expand=[{"name": "n", "over": [1]}])
    world = World(first, python("load", expand=[{"name": "n", "over": over}])).settle()
    world.succeed("first", text, index=0)
    assert world.tasks() == {"first": "Succeeded", "load": "Failed"}
    assert world.task("load").message


@pytest.mark.parametrize("text", ["NaN", "1e999"])
def test_an_argument_that_is_not_json_fails_the_task_that_takes_it(text: str) -> None:
    world = World(python("first"), python("load", args={"x": "${tasks.first.result}"})).settle()
    world.succeed("first", text)
    assert world.tasks() == {"first": "Succeeded", "load": "Failed"}


@pytest.mark.parametrize("text", ["{", "7", '["a"]', '["a", 1]', "[" * 8_000])
def test_keys_of_an_object_in_the_archive_that_cannot_be_fail_the_task(text: str) -> None:
    world = World(python("list"), python("load", expand=[{"name": "n", "over": "${tasks.list.result}"}])).settle()
    stored: Json = {"size": 9_000, "digest": "d", "type": "object", "length": 2, "keys": text}
    world.claim("list")
    run = world.run("list")
    world.api.patch(run, transitions.succeed(run.pin(), None, now=world.now, stored=stored))
    world.write_pod("list", -1, {"phase": "Succeeded"})
    world.settle()
    assert world.tasks() == {"list": "Succeeded", "load": "Failed"}
    assert world.task("load").message
