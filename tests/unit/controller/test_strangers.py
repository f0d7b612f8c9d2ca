"""What somebody who may write in a namespace can do to the controller, and to runs of other namespaces: nothing."""

from collections.abc import AsyncIterator

import pytest
from torpor_api.resources import PODS
from torpor_operator.settings import Settings
from torpor_wire import keys

from tests.unit.controller.bodies import NAMESPACE, Body, python
from tests.unit.controller.rig import Rig


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig(Settings()).running() as made:
        yield made


def foreign_pod(name: str, *owners: Body, namespace: str = NAMESPACE) -> Body:
    """A pod of somebody's, with our label and our finalizer."""
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {keys.LABEL_TASKRUN_UID: "any"},
        "finalizers": [keys.POD_FINALIZER],
        "ownerReferences": list(owners),
    }
    return {"metadata": metadata, "spec": {}, "status": {"phase": "Running"}}


@pytest.mark.parametrize("owner", [None, "a/../b", ".."])
async def test_a_deleted_pod_whose_owner_has_no_possible_name_is_let_go(rig: Rig, owner: str | None) -> None:
    owners = [] if owner is None else [{"kind": "TaskRun", "name": owner, "uid": "any", "controller": True}]
    rig.fake.put(PODS, foreign_pod("odd", *owners))
    rig.fake.edit(PODS, NAMESPACE, "odd", {"metadata": {"deletionTimestamp": "2023-11-14T22:13:20Z"}})
    rig.create("run", python("a"))
    await rig.advance(5)
    assert rig.state("run") == "Succeeded"
    odd = rig.fake.get(PODS, NAMESPACE, "odd")
    assert odd is None or not odd["metadata"].get("finalizers")
