"""Of the Workflow's own slots and those of pools: neither waits for the other for ever."""

from torpor_operator.actions import CreatePod, CreateTaskRun
from torpor_operator.ledger import word
from torpor_operator.queue import Key
from torpor_operator.settings import Settings

from tests.unit.controller.bodies import NAMESPACE, python
from tests.unit.controller.test_pools_of_slots import Slow
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


async def test_a_plan_counts_the_free_slots_of_a_pool_once() -> None:
    rig = Slow()
    rig.pools(gpu="2")
    async with rig.running():
        rig.create("one", python("a", pool="gpu"), suspend=True)
        await rig.advance(6)
        key = Key(NAMESPACE, "one")
        seen = rig.observer.snapshot(key, {}, Settings(), rig.clock.now())
        assert seen is not None
        assert seen.slots("gpu") == 2
        started = CreateTaskRun(body={"metadata": {"name": "x"}, "spec": {"pool": "gpu", "task": "a"}})
        assert rig.observer.ledger.admitted(key, [started])
        assert seen.slots("gpu") == 2
        assert rig.observer.ledger.room(key, "gpu") == 1


async def test_a_pool_does_not_go_through_what_has_ended() -> None:
    rig = Slow()
    rig.pools(gpu="1")
    async with rig.running():
        rig.create("one", python("a", pool="gpu"))
        rig.create("two", python("a", pool="gpu"))
        await rig.advance(10)
        assert [rig.state(name) for name in ("one", "two")] == ["Succeeded", "Succeeded"]
        assert rig.observer.taskruns.store.indexed(word(NAMESPACE, "gpu")) == []
        assert rig.observer.ledger.room(Key(NAMESPACE, "one"), "gpu") == 1
