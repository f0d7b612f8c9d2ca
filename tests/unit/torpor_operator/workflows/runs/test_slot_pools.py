"""Slots of pools in the whole controller: pods take their time, and Workflows share."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from torpor_crds.models import taskrun as taskruns
from torpor_kubernetes.client.resources import CONFIG_MAPS, PODS, TASKRUNS, WORKFLOWS, Resource
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import CreatePod, CreateTaskRun
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.quarantine.object_ref import ObjectRef
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_operator.settings import Settings
from torpor_operator.taskrun.cache_index import PoolKey, index_key
from torpor_operator.workflows.archive_uploads import ArchiveUploads
from torpor_operator.workflows.plan.planner import plan
from torpor_operator.workflows.plan.run_context import BuildGraph
from torpor_operator.workflows.slot_pools import Capacity, SlotAllocator, capacities
from torpor_operator.workflows.snapshots import WorkflowSnapshots
from torpor_wire import constants, transitions

from tests.support.builders import NAMESPACE, Body, python, wait
from tests.support.controller_harness import ControllerHarness
from tests.support.plan_fixture import PlanFixture


class SlowPods(ControllerHarness):
    """Each pod runs for a second. `most` ran at a time, `each` of them for one Workflow."""

    def __init__(self) -> None:
        super().__init__(Settings())
        self.most = 0
        self.each: Counter[str] = Counter()
        self._began: dict[str, float] = {}

    def pools(self, **data: str) -> None:
        metadata = {"name": constants.POOLS_CONFIG, "namespace": NAMESPACE}
        self.fake.put(CONFIG_MAPS, {"metadata": metadata, "data": data})

    def _run_pod(self, body: Body) -> None:
        since = self._began.setdefault(body["metadata"]["name"], self.clock.now())
        if self.clock.now() - since >= 1.0:
            super()._run_pod(body)

    def _work(self) -> None:
        super()._work()
        pending = [body["metadata"] for body in self.stored(PODS) if body["status"]["phase"] == "Pending"]
        self.most = max(self.most, len(pending))
        self.each |= Counter(meta["labels"][constants.LABEL_WORKFLOW] for meta in pending)


def mapped(count: int, **fields: object) -> Body:
    return python("load", expand=[{"name": "n", "over": list(range(count))}], **fields)


async def test_workflows_share_the_slots_of_a_pool_and_never_exceed_them() -> None:
    harness = SlowPods()
    harness.pools(gpu="4")
    async with harness.running():
        for name in ("one", "two"):
            harness.create(name, mapped(8, pool="gpu"))
        await harness.advance(40)
        assert [harness.state(name) for name in ("one", "two")] == ["Succeeded", "Succeeded"]
    assert harness.most == 4
    assert harness.each["two"] >= 2


async def test_a_task_without_a_pool_does_not_wait_for_tasks_that_need_a_slot() -> None:
    harness = SlowPods()
    harness.pools(gpu="1")
    async with harness.running():
        harness.create("holder", mapped(30, pool="gpu"))
        await harness.advance(6)
        harness.create("run", mapped(5, pool="gpu"), python("free"), parallelism=1)
        await harness.advance(6)
        free = harness.taskrun("run", "free")
        assert free["status"]["state"] == "Succeeded"
        assert harness.state("run") == "Running"


async def test_tasks_of_an_unknown_pool_start_once_it_is_created() -> None:
    harness = SlowPods()
    async with harness.running():
        harness.create("run", mapped(2, pool="gpu"))
        await harness.advance(7)
        (task,) = harness.workflow("run")["status"]["tasks"]
        assert (task["state"], task["reason"]) == ("Pending", "PoolUnknown")
        assert "torpor-pools" in task["message"]
        assert harness.fake.all(TASKRUNS) == []
        harness.pools(gpu="1")
        await harness.advance(20)
        assert harness.state("run") == "Succeeded"
    assert harness.most == 1


async def test_a_pool_that_shrinks_starts_nothing_until_slots_are_free() -> None:
    harness = SlowPods()
    harness.pools(gpu="3")
    async with harness.running():
        harness.create("run", mapped(40, pool="gpu"))
        await harness.advance(6)
        harness.fake.edit(CONFIG_MAPS, NAMESPACE, constants.POOLS_CONFIG, {"data": {"gpu": "1"}})
        await harness.advance(6)
        harness.most = 0
        await harness.advance(40)
        assert harness.state("run") == "Succeeded"
    assert harness.most == 1


@pytest.mark.parametrize(
    ("data", "pools"),
    [
        ({"gpu": "2", "db": " 10 "}, {"gpu": Capacity(2), "db": Capacity(10)}),
        ({"gpu": "2", "gpu.deferred": "true"}, {"gpu": Capacity(2, deferred=True)}),
        ({"gpu": "many", "db": "-1", "x": "", "y": "2.5"}, {}),
        ({"gpu": "9" * 5_000, "db": "1"}, {"db": Capacity(1)}),
    ],
)
def test_pools_are_parsed_from_a_configmap(data: dict[str, str], pools: dict[str, Capacity]) -> None:
    assert capacities(data) == pools


def test_a_task_without_a_pool_needs_no_slot() -> None:
    assert PlanFixture(python("a")).settle().has("a")


def test_a_resume_without_a_pool_slot_does_not_take_the_runs_only_slot() -> None:
    world = PlanFixture(python("a", pool="gpu"), python("b", pool="gpu"), parallelism=1)
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
    harness = SlowPods()
    harness.pools(gpu="2")
    context, cluster, key = harness.context, harness.cache, Key(NAMESPACE, "one")
    slots = SlotAllocator(harness.api, cluster.taskruns.store.indexed, cluster.has_pod, lambda _: None)
    uploads = ArchiveUploads(context.archive.store_run, harness.clock, enqueue=lambda _: None, grace=1.0)
    async with harness.running():
        harness.create("one", python("a", pool="gpu"), suspend=True)
        slots.free(key, "gpu")
        reading = asyncio.create_task(slots.run())
        await harness.advance(6)
        reading.cancel()
        snapshot = WorkflowSnapshots(context, slots, uploads).gather(key, {})
        assert snapshot is not None
        assert snapshot.slots("gpu") == 2
        started = CreateTaskRun(body={"metadata": {"name": "x"}, "spec": {"pool": "gpu", "task": "a"}})
        assert slots.admit(key, [started])
        assert snapshot.slots("gpu") == 2
        assert slots.free(key, "gpu") == 1


async def test_terminal_taskruns_are_not_in_the_index_and_hold_no_slot() -> None:
    harness = SlowPods()
    harness.pools(gpu="1")
    async with harness.running():
        harness.create("one", python("a", pool="gpu"))
        harness.create("two", python("a", pool="gpu"))
        await harness.advance(10)
        assert [harness.state(name) for name in ("one", "two")] == ["Succeeded", "Succeeded"]
        assert harness.cache.taskruns.store.indexed(index_key(PoolKey(NAMESPACE, "gpu"))) == []
        harness.create("three", python("a", pool="gpu"))
        await harness.advance(5)
        assert harness.state("three") == "Succeeded"


async def check_that_the_second_run_gets_the_slot(broken: set[str]) -> None:
    """The passes of `broken` Workflows fail. The first run demands the slot before that, and the second one after."""
    harness = SlowPods()
    harness.pools(gpu="1")
    async with harness.running():
        harness.create("holder", python("a", pool="gpu"))
        await harness.advance(0.3)
        harness.create("first", python("a", pool="gpu"))
        await harness.advance(0.2)
        harness.create("second", python("a", pool="gpu"))
        broken.add("first")
        harness.fake.edit(WORKFLOWS, NAMESPACE, "first", {"spec": {"parallelism": 7}})
        await harness.advance(8)
        assert harness.state("holder") == harness.state("second") == "Succeeded"


async def test_a_workflow_whose_plan_fails_keeps_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = set[str]()

    def planned(snapshot: Snapshot, build_graph: BuildGraph) -> WorkflowPlan:
        if snapshot.workflow.metadata.name in broken:
            raise ValueError("a bug")
        return plan(snapshot, build_graph)

    monkeypatch.setattr("torpor_operator.workflows.reconciler.plan", planned)
    await check_that_the_second_run_gets_the_slot(broken)


async def test_a_workflow_whose_guard_fails_keeps_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, reconcile = set[str](), WorkGuard.reconcile

    async def guarded(
        guard: WorkGuard, resource: Resource, ref: ObjectRef, work: Callable[[], Coroutine[Any, Any, float | None]]
    ) -> float | None:
        if ref.name in broken:
            raise OSError("the journal cannot be written")
        return await reconcile(guard, resource, ref, work)

    monkeypatch.setattr(WorkGuard, "reconcile", guarded)
    await check_that_the_second_run_gets_the_slot(broken)


def end_deferral(harness: SlowPods, name: str) -> None:
    """The triggerer ends a wait."""
    run = taskruns.parse(harness.fake.get(TASKRUNS, NAMESPACE, name))
    harness.patch_taskrun(name, transitions.succeed(run.pin(), "1", now=harness.clock.now()))


def deferred(harness: SlowPods) -> list[str]:
    return [run["metadata"]["name"] for run in harness.fake.all(TASKRUNS) if run["status"]["state"] == "Deferred"]


async def test_a_deferred_taskrun_holds_a_slot_only_if_its_pool_says_so() -> None:
    harness = SlowPods()
    harness.pools(**{"few": "1", "few.deferred": "true", "many": "1"})
    async with harness.running():
        harness.create("one", wait("first", pool="few"), wait("second", pool="few"))
        harness.create("two", wait("first", pool="many"), wait("second", pool="many"))
        await harness.advance(8)
        assert sorted(name.partition("-")[0] for name in deferred(harness)) == ["one", "two", "two"]
        (name,) = [name for name in deferred(harness) if name.startswith("one")]
        end_deferral(harness, name)
        await harness.advance(3)
        assert [other for other in deferred(harness) if other.startswith("one")] != [name]


async def test_a_slot_is_free_after_its_taskrun_was_deleted() -> None:
    harness = SlowPods()
    harness.pools(gpu="1")
    async with harness.running():
        harness.create("one", wait("hold", pool="gpu"), python("a", pool="gpu"))
        harness.create("two", python("a", pool="gpu"))
        harness.create("three", python("a", pool="gpu"))
        await harness.advance(0.5)
        (held,) = [run["metadata"]["name"] for run in harness.fake.all(TASKRUNS) if "-a-" in run["metadata"]["name"]]
        harness.fake.remove(TASKRUNS, NAMESPACE, held)
        await harness.advance(6)
        others = {run["metadata"]["name"].partition("-")[0] for run in harness.fake.all(TASKRUNS)}
        assert others == {"one", "two", "three"}


async def test_a_slot_is_free_after_its_run_was_cancelled() -> None:
    harness = SlowPods()
    harness.pools(gpu="1")
    async with harness.running():
        harness.create("one", mapped(30, pool="gpu"))
        await harness.advance(3)
        harness.create("two", python("a", pool="gpu"))
        harness.fake.edit(WORKFLOWS, NAMESPACE, "one", {"spec": {"cancel": True}})
        await harness.advance(5)
        assert harness.state("two") == "Succeeded"


async def test_a_pool_belongs_to_its_namespace() -> None:
    harness = SlowPods()
    metadata = {"name": constants.POOLS_CONFIG, "namespace": "other"}
    harness.fake.put(CONFIG_MAPS, {"metadata": metadata, "data": {"gpu": "1"}})
    async with harness.running():
        harness.create("one", python("a", pool="gpu"))
        await harness.advance(7)
        assert harness.workflow("one")["status"]["tasks"][0]["reason"] == "PoolUnknown"
