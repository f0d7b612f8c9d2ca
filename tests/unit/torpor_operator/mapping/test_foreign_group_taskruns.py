"""TaskRuns in groups by another hand: where no index is, at another depth than their task."""

from torpor_wire import constants, names
from torpor_wire.instance_paths import Path

from tests.support import builders
from tests.support.builders import NAME, NAMESPACE, UID, python
from tests.support.group_builders import FETCH, LOAD, at_once, nested, run
from tests.support.plan_world import World


def put(world: World, task: str, frame: Path, index: int = constants.UNMAPPED) -> None:
    """Somebody makes a TaskRun, named as the operator would have."""
    name = names.taskrun(NAME, UID, task, index, frame)
    spec = {"workflow": {"name": NAME, "uid": UID}, "task": task, "mapIndex": index, "groupIndexes": list(frame)}
    body = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec | {"image": "i", "python": "m:f"}}
    world.taskruns[name] = builders.created(body, f"by-hand-{name}", world.now, builders.FRESH)


def test_what_stands_at_an_index_that_is_not_there_goes_to_its_end_and_nothing_follows_it() -> None:
    world = run(FETCH, LOAD)
    put(world, "load", (7,))
    put(world, "fetch", (8,))
    world.settle().fail("load", index=(7,)).succeed("fetch", index=(8,))
    assert not world.has("load", (8,))
    at_once(world, "fetch", 3)
    at_once(world, "load", 3)
    assert world.tasks() == {"fetch": "Succeeded", "load": "Failed"}
    assert world.status.state == "Failed"


def test_an_index_of_the_status_that_is_not_there_is_skipped() -> None:
    world = run(FETCH, LOAD)
    world.workflow["status"]["tasks"][1] |= {"instances": "0-5", "made": ""}
    at_once(world.settle(), "fetch", 3)
    at_once(world, "load", 3)
    assert (world.tasks()["load"], world.status.state, len(world.taskruns)) == ("Succeeded", "Succeeded", 6)


def test_one_of_another_depth_than_its_task_counts_for_nothing() -> None:
    world = run(FETCH, python("alone"))
    put(world, "fetch", (0, 1))
    put(world, "fetch", ())
    put(world, "alone", (0,))
    at_once(world.settle(), "fetch", 3)
    world.succeed("alone")
    assert (world.task("fetch").created, world.task("alone").created, world.status.state) == (3, 1, "Succeeded")


def test_one_far_beyond_the_width_of_its_index_does_not_spoil_the_status() -> None:
    world = nested()
    for frame in ((0, 0), (0, 1)):
        put(world, "visit", frame, constants.MAP_MAX - 1)
    assert world.settle().status.state == "Running"
    assert world.task("visit").created == 8
