"""Orphaned TaskRuns are reported, orphaned pods are released, and foreign objects are ignored."""

from collections.abc import AsyncIterator

import pytest
from torpor_api.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_operator.controller.workqueue import Key
from torpor_operator.settings import Settings
from torpor_wire import constants, names
from torpor_wire.instance_paths import Path

from tests.support.builders import FRESH, NAMESPACE, Body, python
from tests.support.controller_harness import ControllerHarness


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


def taskrun(  # noqa: PLR0913 - fields of a TaskRun
    rig: ControllerHarness, name: str, workflow: str, uid: str, task: str = "a", *, frame: Path = ()
) -> None:
    spec = {"workflow": {"name": workflow, "uid": uid}, "task": task, "mapIndex": -1, "groupIndexes": list(frame)}
    rig.fake.put(TASKRUNS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec, "status": dict(FRESH)})


def report_of(rig: ControllerHarness, name: str) -> str | None:
    found: Body | None = rig.fake.get(TASKRUNS, NAMESPACE, name)
    assert found is not None
    message = found["status"].get("message")
    assert (found["status"].get("reason") == "Unowned") == (message is not None)
    return None if message is None else str(message).partition(". Torpor ignores")[0]


async def test_an_orphaned_taskrun_is_reported_once_after_the_grace() -> None:
    async with ControllerHarness(Settings(stray_grace=5)).running() as rig:
        rig.create("run", python("a"), suspend=True)
        await rig.advance(1)
        uid = rig.workflow("run")["metadata"]["uid"]
        taskrun(rig, "of-nobody", "nobody", "u")
        taskrun(rig, "of-another", "run", "u")
        taskrun(rig, names.taskrun("run", uid, "b"), "run", uid, "b")
        taskrun(rig, "misnamed", "run", uid)
        await rig.advance(4)
        assert report_of(rig, "of-nobody") is None
        await rig.advance(8)
        assert report_of(rig, "of-nobody") == "Workflow nobody does not exist in this namespace"
        assert report_of(rig, "of-another") == f"Workflow run has another uid: {uid}"
        assert report_of(rig, names.taskrun("run", uid, "b")) == "Workflow run has no task b"
        assert report_of(rig, "misnamed") == "the TaskRun of a/-1 of Workflow run has another name"
        before = len(rig.fake.writes())
        await rig.advance(30)
        assert len(rig.fake.writes()) == before
        assert rig.state("run") == "Suspended"


async def test_a_taskrun_with_another_number_of_group_indexes_than_its_task_is_reported() -> None:
    async with ControllerHarness(Settings(stray_grace=5)).running() as rig:
        group = {"name": "g", "expand": [{"name": "n", "over": [1]}]}
        rig.create("run", python("a", group="g"), groups=[group], suspend=True)
        await rig.advance(1)
        uid = rig.workflow("run")["metadata"]["uid"]
        deeper = names.taskrun("run", uid, "a", groups=(0, 1))
        taskrun(rig, deeper, "run", uid, frame=(0, 1))
        await rig.advance(12)
        assert report_of(rig, deeper) == "task a of Workflow run requires 1 group indexes; this TaskRun has 2"


async def test_a_taskrun_that_is_gone_within_the_grace_is_not_reported() -> None:
    async with ControllerHarness(Settings(stray_grace=5)).running() as rig:
        taskrun(rig, "early", "late", "u")
        await rig.advance(6)
        rig.fake.remove(TASKRUNS, NAMESPACE, "early")
        await rig.advance(6)
        assert not [request for request in rig.fake.writes() if "early" in request.path]
        assert rig.fake.all(WORKFLOWS) == []


def foreign_pod(name: str, *owners: Body, namespace: str = NAMESPACE) -> Body:
    """A pod that somebody created with our label and our finalizer."""
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {constants.LABEL_TASKRUN_UID: "any"},
        "finalizers": [constants.POD_FINALIZER],
        "ownerReferences": list(owners),
    }
    return {"metadata": metadata, "spec": {}, "status": {"phase": "Unknown"}}


@pytest.mark.parametrize("owner", [None, "a/../b", ".."])
async def test_a_deleted_pod_whose_owner_has_an_invalid_name_is_released(
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


async def test_a_pod_of_another_namespace_is_not_in_the_snapshot(
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


async def test_a_taskrun_of_another_namespace_is_not_in_the_snapshot(
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
