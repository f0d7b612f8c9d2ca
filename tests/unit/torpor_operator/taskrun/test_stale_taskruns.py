"""A TaskRun that is seen later than its pods: two streams bring them, and a new leader may lag in one of them."""

import copy

from torpor_operator.model import pod as pods
from torpor_operator.model.actions import PatchTaskRun, RemovePodFinalizer
from torpor_wire.state import State

from tests.support.builders import container, python
from tests.support.plan_world import World


def test_a_claimed_container_keeps_its_finalizer_while_its_taskrun_still_seems_scheduled() -> None:
    world = World(container("load"))
    world.apply(world.plan())
    world.apply(world.plan())
    before_the_claim = copy.deepcopy(world.taskruns)
    world.settle()
    pod = world.pods[pods.name_of(world.run("load"))]
    assert not pods.parse(pod).gated
    world.taskruns.clear()
    world.taskruns.update(before_the_claim)
    assert world.state("load") is State.SCHEDULED
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert [action for action in world.plan().actions if isinstance(action, RemovePodFinalizer)] == []


def test_a_taskrun_that_is_seen_after_the_end_of_its_run_ends_too() -> None:
    world = World(python("a")).settle()
    late = copy.deepcopy(world.taskruns)
    world.succeed("a")
    world.taskruns.update(late)
    assert world.state("a") is State.SCHEDULED
    assert world.settle().state("a") is State.CANCELLED


def test_what_is_said_of_a_pod_pins_the_launch_that_it_was_of() -> None:
    world = World(container("load")).settle()
    world.pods.clear()
    failed = [action.patch for action in world.plan().actions if isinstance(action, PatchTaskRun)]
    assert {"op": "test", "path": "/status/launch", "value": 0} in failed[0]
