"""Slots that Workflows share: the whole controller, pods that take their time, and a ConfigMap."""

from collections import Counter

import pytest
from torpor_api.client.resources import CONFIG_MAPS, PODS, TASKRUNS
from torpor_operator.controller.slot_pools import Capacity, capacities
from torpor_operator.settings import Settings
from torpor_wire import constants

from tests.support.builders import NAMESPACE, Body, python
from tests.support.controller_harness import ControllerHarness
from tests.support.plan_world import World


class Slow(ControllerHarness):
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
        pending = [body["metadata"] for body in self.fake.all(PODS) if body["status"]["phase"] == "Pending"]
        self.most = max(self.most, len(pending))
        self.each |= Counter(meta["labels"][constants.LABEL_WORKFLOW] for meta in pending)


def mapped(count: int, **fields: object) -> Body:
    return python("load", expand=[{"name": "n", "over": list(range(count))}], **fields)


async def test_all_workflows_together_hold_no_more_slots_than_there_are_and_each_its_share() -> None:
    rig = Slow()
    rig.pools(gpu="4")
    async with rig.running():
        for name in ("one", "two"):
            rig.create(name, mapped(8, pool="gpu"))
        await rig.advance(40)
        assert [rig.state(name) for name in ("one", "two")] == ["Succeeded", "Succeeded"]
    assert rig.most == 4
    assert rig.each["two"] >= 2


async def test_what_needs_no_slot_is_not_held_up_by_what_waits_for_one() -> None:
    rig = Slow()
    rig.pools(gpu="1")
    async with rig.running():
        rig.create("holder", mapped(30, pool="gpu"))
        await rig.advance(6)
        rig.create("run", mapped(5, pool="gpu"), python("free"), parallelism=1)
        await rig.advance(6)
        free = rig.taskrun("run", "free")
        assert free["status"]["state"] == "Succeeded"
        assert rig.state("run") == "Running"


async def test_a_pool_that_is_made_later_lets_go_on_who_waited_for_it() -> None:
    rig = Slow()
    async with rig.running():
        rig.create("run", mapped(2, pool="gpu"))
        await rig.advance(7)
        (task,) = rig.workflow("run")["status"]["tasks"]
        assert (task["state"], task["reason"]) == ("Pending", "PoolUnknown")
        assert "torpor-pools" in task["message"]
        assert rig.fake.all(TASKRUNS) == []
        rig.pools(gpu="1")
        await rig.advance(20)
        assert rig.state("run") == "Succeeded"
    assert rig.most == 1


async def test_a_pool_that_shrinks_starts_nothing_more_until_there_is_room() -> None:
    rig = Slow()
    rig.pools(gpu="3")
    async with rig.running():
        rig.create("run", mapped(40, pool="gpu"))
        await rig.advance(6)
        rig.fake.edit(CONFIG_MAPS, NAMESPACE, constants.POOLS_CONFIG, {"data": {"gpu": "1"}})
        await rig.advance(6)
        rig.most = 0
        await rig.advance(40)
        assert rig.state("run") == "Succeeded"
    assert rig.most == 1


@pytest.mark.parametrize(
    ("data", "pools"),
    [
        ({"gpu": "2", "db": " 10 "}, {"gpu": Capacity(2), "db": Capacity(10)}),
        ({"gpu": "2", "gpu.deferred": "true"}, {"gpu": Capacity(2, deferred=True)}),
        ({"gpu": "many", "db": "-1", "x": "", "y": "2.5"}, {}),
        ({"gpu": "9" * 5_000, "db": "1"}, {"db": Capacity(1)}),
    ],
)
def test_pools_are_read_from_texts(data: dict[str, str], pools: dict[str, Capacity]) -> None:
    assert capacities(data) == pools


def test_a_task_without_a_pool_asks_nobody() -> None:
    assert World(python("a")).settle().has("a")
