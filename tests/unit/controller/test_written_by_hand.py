"""What another hand wrote where the operator counts on its own: it is answered, and the run comes to an end."""

import pytest
from torpor_wire import keys

from tests.unit.controller.bodies import Body, python
from tests.unit.controller.world import World

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
    world.workflow["metadata"]["annotations"] = {keys.CLEAR: "failed"}
    world.settle()
    assert keys.CLEAR not in world.workflow["metadata"]["annotations"]
