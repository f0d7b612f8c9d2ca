"""Of the Workflow's own slots and those of pools: neither waits for the other for ever."""

from torpor_operator.actions import CreatePod

from tests.unit.controller.bodies import python
from tests.unit.controller.world import World


def test_who_has_a_slot_of_the_pool_is_not_kept_from_the_runs_only_slot_by_who_resumes_and_has_none() -> None:
    world = World(python("a", pool="gpu"), python("b", pool="gpu"), parallelism=1)
    world.api.slots = {"gpu": 1}
    world.settle()
    world.claim("a")
    world.report_deferral("a")
    world.apply(world.plan())
    assert world.has("b")
    world.report_event("a")
    world.api.slots, world.api.holders = {"gpu": 0}, {world.run("b").metadata.name}
    assert [action.taskrun.spec.task for action in world.plan().actions if isinstance(action, CreatePod)] == ["b"]
