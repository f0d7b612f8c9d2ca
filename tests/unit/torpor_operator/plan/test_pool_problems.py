"""Slots that Workflows share, where things go another way: waits, TaskRuns that vanish, other namespaces."""

from torpor_api.client.resources import CONFIG_MAPS, TASKRUNS, WORKFLOWS
from torpor_api.models import taskrun as taskruns
from torpor_wire import constants, transitions

from tests.support.builders import NAMESPACE, python, wait
from tests.unit.torpor_operator.plan.test_slot_pools import Slow, mapped


def ended(rig: Slow, name: str) -> None:
    """The triggerer ends a wait."""
    run = taskruns.parse(rig.fake.get(TASKRUNS, NAMESPACE, name))
    rig._patch(name, transitions.succeed(run.pin(), "1", now=rig.clock.now()))


def deferred(rig: Slow) -> list[str]:
    return [run["metadata"]["name"] for run in rig.fake.all(TASKRUNS) if run["status"]["state"] == "Deferred"]


async def test_what_waits_holds_a_slot_only_where_its_pool_counts_it() -> None:
    rig = Slow()
    rig.pools(**{"few": "1", "few.deferred": "true", "many": "1"})
    async with rig.running():
        rig.create("one", wait("first", pool="few"), wait("second", pool="few"))
        rig.create("two", wait("first", pool="many"), wait("second", pool="many"))
        await rig.advance(8)
        assert sorted(name.partition("-")[0] for name in deferred(rig)) == ["one", "two", "two"]
        (name,) = [name for name in deferred(rig) if name.startswith("one")]
        ended(rig, name)
        await rig.advance(3)
        assert [other for other in deferred(rig) if other.startswith("one")] != [name]


async def test_a_slot_is_free_soon_after_its_taskrun_was_deleted_by_hand() -> None:
    rig = Slow()
    rig.pools(gpu="1")
    async with rig.running():
        rig.create("one", wait("hold", pool="gpu"), python("a", pool="gpu"))
        rig.create("two", python("a", pool="gpu"))
        rig.create("three", python("a", pool="gpu"))
        await rig.advance(0.5)
        (held,) = [run["metadata"]["name"] for run in rig.fake.all(TASKRUNS) if "-a-" in run["metadata"]["name"]]
        rig.fake.remove(TASKRUNS, NAMESPACE, held)
        await rig.advance(6)
        others = {run["metadata"]["name"].partition("-")[0] for run in rig.fake.all(TASKRUNS)}
        assert others == {"one", "two", "three"}


async def test_a_slot_is_free_when_the_run_that_held_it_was_cancelled() -> None:
    rig = Slow()
    rig.pools(gpu="1")
    async with rig.running():
        rig.create("one", mapped(30, pool="gpu"))
        await rig.advance(3)
        rig.create("two", python("a", pool="gpu"))
        rig.fake.edit(WORKFLOWS, NAMESPACE, "one", {"spec": {"cancel": True}})
        await rig.advance(5)
        assert rig.state("two") == "Succeeded"


async def test_a_pool_is_of_its_namespace() -> None:
    rig = Slow()
    metadata = {"name": constants.POOLS_CONFIG, "namespace": "other"}
    rig.fake.put(CONFIG_MAPS, {"metadata": metadata, "data": {"gpu": "1"}})
    async with rig.running():
        rig.create("one", python("a", pool="gpu"))
        await rig.advance(7)
        assert rig.workflow("one")["status"]["tasks"][0]["reason"] == "PoolUnknown"
