"""What somebody who may write in a namespace can do to the controller, and to runs of other namespaces: nothing."""

from collections.abc import AsyncIterator

import pytest
from torpor_api.client.resources import PODS, TASKRUNS
from torpor_operator.controller.workqueue import Key
from torpor_operator.settings import Settings
from torpor_wire import constants

from tests.support.builders import NAMESPACE, Body, python
from tests.support.controller_harness import ControllerHarness


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as made:
        yield made


def foreign_pod(name: str, *owners: Body, namespace: str = NAMESPACE) -> Body:
    """A pod of somebody's, with our label and our finalizer."""
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {constants.LABEL_TASKRUN_UID: "any"},
        "finalizers": [constants.POD_FINALIZER],
        "ownerReferences": list(owners),
    }
    return {"metadata": metadata, "spec": {}, "status": {"phase": "Unknown"}}


@pytest.mark.parametrize("owner", [None, "a/../b", ".."])
async def test_a_deleted_pod_whose_owner_has_no_possible_name_is_let_go(
    rig: ControllerHarness, owner: str | None
) -> None:
    owners = [] if owner is None else [{"kind": "TaskRun", "name": owner, "uid": "any", "controller": True}]
    rig.fake.put(PODS, foreign_pod("odd", *owners))
    rig.fake.edit(PODS, NAMESPACE, "odd", {"metadata": {"deletionTimestamp": "2023-11-14T22:13:20Z"}})
    rig.create("run", python("a"))
    await rig.advance(5)
    assert rig.state("run") == "Succeeded"
    odd = rig.fake.get(PODS, NAMESPACE, "odd")
    assert odd is None or not odd["metadata"].get("finalizers")


async def test_a_pod_of_another_namespace_that_claims_a_taskrun_as_its_owner_is_not_seen(
    rig: ControllerHarness,
) -> None:
    rig.create("run", python("a"))
    await rig.advance(1)
    run = rig.taskrun("run", "a")["metadata"]
    owner = {"kind": "TaskRun", "name": run["name"], "uid": run["uid"], "controller": True}
    rig.fake.put(PODS, foreign_pod("intruder", owner, namespace="elsewhere"))
    await rig.advance(1)
    assert len(rig.cache.pods.store) == 2
    snapshot = rig.cache.snapshot(Key(NAMESPACE, "run"), {}, Settings(), rig.clock.now())
    assert snapshot is not None
    assert [pod.name for pod in snapshot.pods[run["uid"]]] == [f"{run['name']}-a1-s0"]


async def test_a_taskrun_of_another_namespace_that_names_a_workflow_by_its_uid_is_no_part_of_it(
    rig: ControllerHarness,
) -> None:
    rig.create("run", python("a"), suspend=True)
    await rig.advance(1)
    uid = rig.workflow("run")["metadata"]["uid"]
    spec = {"workflow": {"name": "run", "uid": uid}, "task": "a", "mapIndex": -1, "python": "m:f", "image": "i"}
    status = {"state": "Succeeded", "attempt": 1, "segment": 0, "launch": 0, "result": '"forged"'}
    rig.fake.put(TASKRUNS, {"metadata": {"name": "forged", "namespace": "elsewhere"}, "spec": spec, "status": status})
    await rig.advance(2 * Settings().resync)
    assert rig.state("run") == "Suspended"
