"""Of the Workflow's own slots and those of pools: neither waits for the other for ever."""

import pytest
from torpor_api.client.resources import WORKFLOWS
from torpor_operator.controller.slot_pools import PoolKey, index_key
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import CreatePod, CreateTaskRun, Plan
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.plan.planner import plan
from torpor_operator.settings import Settings

from tests.support.builders import NAMESPACE, python
from tests.support.plan_world import World
from tests.unit.torpor_operator.plan.test_slot_pools import Slow


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
        seen = rig.cache.snapshot(key, {}, Settings(), rig.clock.now())
        assert seen is not None
        assert seen.slots("gpu") == 2
        started = CreateTaskRun(body={"metadata": {"name": "x"}, "spec": {"pool": "gpu", "task": "a"}})
        assert rig.cache.slots.admit(key, [started])
        assert seen.slots("gpu") == 2
        assert rig.cache.slots.free(key, "gpu") == 1


async def test_a_pool_does_not_go_through_what_has_ended() -> None:
    rig = Slow()
    rig.pools(gpu="1")
    async with rig.running():
        rig.create("one", python("a", pool="gpu"))
        rig.create("two", python("a", pool="gpu"))
        await rig.advance(10)
        assert [rig.state(name) for name in ("one", "two")] == ["Succeeded", "Succeeded"]
        assert rig.cache.taskruns.store.indexed(index_key(PoolKey(NAMESPACE, "gpu"))) == []
        assert rig.cache.slots.free(Key(NAMESPACE, "one"), "gpu") == 1


async def test_no_slot_is_kept_for_a_workflow_that_cannot_be_planned_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    rig, broken = Slow(), set[str]()

    def planned(snapshot: Snapshot) -> Plan:
        if snapshot.workflow.metadata.name in broken:
            raise ValueError("a bug")
        return plan(snapshot)

    monkeypatch.setattr("torpor_operator.controller.reconciler.plan", planned)
    rig.pools(gpu="1")
    async with rig.running():
        rig.create("holder", python("a", pool="gpu"))
        await rig.advance(0.3)
        rig.create("first", python("a", pool="gpu"))
        await rig.advance(0.2)
        rig.create("second", python("a", pool="gpu"))
        broken.add("first")
        rig.fake.edit(WORKFLOWS, NAMESPACE, "first", {"spec": {"parallelism": 7}})
        await rig.advance(8)
        assert rig.state("holder") == rig.state("second") == "Succeeded"
