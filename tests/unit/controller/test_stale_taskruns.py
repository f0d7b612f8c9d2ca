"""A TaskRun that is seen later than its pods: two streams bring them, and a new leader may lag in one of them."""

import copy

from torpor_operator import pods
from torpor_operator.actions import LetGo
from torpor_wire.state import State

from tests.unit.controller.bodies import container
from tests.unit.controller.world import World


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
    assert [action for action in world.plan().actions if isinstance(action, LetGo)] == []
