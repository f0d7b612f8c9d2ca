"""Stopping a run lets its hooks run, cancelling it does not; either way, clearing it resumes it when it has ended."""

import pytest
from torpor_wire import constants

from tests.support.builders import NOW, python, wait
from tests.support.plan_world import World
from tests.unit.torpor_operator.plan.test_cancel import GRACE

END = python("last", hook="end", args={"why": "${run.state}/${run.reason}: ${run.message}"})


def clear(world: World, text: str) -> World:
    world.workflow["metadata"].setdefault("annotations", {})[constants.CLEAR] = text
    return world.settle()


def mapped(**fields: object) -> dict[str, object]:
    return python("load", expand=[{"name": "n", "over": [1, 2, 3, 4]}], **fields)


def test_a_stop_cancels_what_runs_and_then_calls_the_hooks() -> None:
    hooks = [END, python("well", hook="success"), python("badly", hook="failure")]
    world = World(python("a"), wait("drop"), python("next", after=["a"]), *hooks).settle()
    world.change(stop=True)
    assert (world.status.state, world.has("last")) == ("Cancelling", False)
    world.advance(GRACE)
    assert world.tasks() == {
        "a": "Cancelled",
        "drop": "Cancelled",
        "next": "Cancelled",
        "last": "Running",
        "well": "Skipped",
        "badly": "Running",
    }
    assert world.status.state == "Finishing"
    assert world.arguments("last") == {"why": '"Failed/Cancelled: spec.stop was set"'}
    world.succeed("badly").succeed("last")
    assert world.condition() == ("False", "Cancelled", "spec.stop was set")


def test_a_run_that_is_suspended_is_stopped_with_its_hooks() -> None:
    world = World(python("a"), python("b"), END, suspend=True).settle().change(stop=True)
    assert world.has("last")
    assert not world.has("a")
    assert world.succeed("last").condition()[1] == "Cancelled"


def test_a_stop_while_only_hooks_run_changes_nothing() -> None:
    world = World(python("a"), END).settle().succeed("a").change(stop=True)
    assert world.status.state == "Finishing"
    assert world.succeed("last").condition()[0] == "True"


def test_a_cancel_after_a_stop_ends_the_hooks_too() -> None:
    world = World(python("a"), END).settle().change(stop=True)
    assert world.status.state == "Finishing"
    world.change(cancel=True)
    assert world.tasks() == {"a": "Cancelled", "last": "Cancelled"}
    assert world.condition() == ("False", "Cancelled", "spec.cancel was set")


@pytest.mark.parametrize("field", ["stop", "cancel"])
def test_a_run_that_was_cancelled_is_resumed_where_it_stood(field: str) -> None:
    world = World(python("a"), python("b", after=["a"]), python("c", after=["b"]), END).settle().succeed("a")
    kept = world.run("a").metadata.uid
    world.change(**{field: True})
    if field == "stop":
        world.succeed("last")
    assert world.condition()[1] == "Cancelled"
    clear(world, "failed")
    assert (world.workflow["spec"]["stop"], world.workflow["spec"]["cancel"]) == (False, False)
    assert world.run("a").metadata.uid == kept
    world.succeed("b").succeed("c")
    assert world.succeed("last").condition()[0] == "True"
    assert world.run("b").spec.clears == 1


def test_instances_that_were_not_made_when_a_run_was_cancelled_are_made_when_it_is_resumed() -> None:
    world = World(mapped(), python("report", args={"rows": "${tasks.load.results}"}), parallelism=2).settle()
    world.succeed("load", "1", 0).claim("load", 1)
    world.change(cancel=True)
    entry = world.task("load")
    assert (entry.state, entry.total) == ("Cancelled", 4)
    clear(world, "failed")
    for index in (1, 2, 3):
        world.succeed("load", "1", index)
    assert world.succeed("report").tasks() == {"load": "Succeeded", "report": "Succeeded"}
    assert world.task("load").succeeded == 4


def test_a_mapped_task_of_which_all_that_was_made_had_succeeded_is_cancelled_and_goes_on() -> None:
    world = World(mapped(), parallelism=1).settle().succeed("load", "1", 0)
    world.change(suspend=True).succeed("load", "1", 1).change(cancel=True)
    entry = world.task("load")
    assert (entry.state, entry.reason, entry.total, entry.created) == ("Cancelled", "Cancelled", 4, 2)
    clear(world, "failed").change(suspend=False)
    for index in (2, 3):
        world.succeed("load", "1", index)
    assert world.tasks() == {"load": "Succeeded"}


def test_what_timed_out_goes_on_with_the_instances_that_were_not_made() -> None:
    world = World(mapped(), parallelism=2, timeout="1h").settle().succeed("load", "1", 0)
    world.advance(3600)
    assert world.condition()[1] == "Timeout"
    assert world.now == NOW + 3600
    clear(world, "failed")
    for index in (1, 2, 3):
        world.succeed("load", "1", index)
    assert world.condition()[0] == "True"
