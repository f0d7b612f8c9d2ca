"""Orphaned TaskRuns are reported, orphaned pods are released, and foreign objects are ignored."""

from collections.abc import AsyncIterator

import pytest
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_operator.settings import Settings
from torpor_wire import constants, names
from torpor_wire.instance_paths import Path

from tests.support.builders import FRESH, NAMESPACE, Body, container, python
from tests.support.controller_harness import ControllerHarness


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


def taskrun(  # noqa: PLR0913 - fields of a TaskRun
    harness: ControllerHarness, name: str, workflow: str, uid: str, task: str = "a", *, group_path: Path = ()
) -> None:
    spec = {"workflow": {"name": workflow, "uid": uid}, "task": task, "mapIndex": -1, "groupIndexes": list(group_path)}
    harness.fake.put(
        TASKRUNS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec, "status": dict(FRESH)}
    )


def report_of(harness: ControllerHarness, name: str) -> str | None:
    body: Body | None = harness.fake.get(TASKRUNS, NAMESPACE, name)
    assert body is not None
    message = body["status"].get("message")
    assert (body["status"].get("reason") == "Unowned") == (message is not None)
    return None if message is None else str(message).partition(". Torpor ignores")[0]


async def test_an_orphaned_taskrun_is_reported_once_after_the_grace() -> None:
    async with ControllerHarness(Settings(stray_grace=5)).running() as harness:
        harness.create("run", python("a"), suspend=True)
        await harness.advance(1)
        uid = harness.workflow("run")["metadata"]["uid"]
        taskrun(harness, "of-nobody", "nobody", "u")
        taskrun(harness, "of-another", "run", "u")
        taskrun(harness, names.taskrun("run", uid, "b"), "run", uid, "b")
        taskrun(harness, "misnamed", "run", uid)
        await harness.advance(4)
        assert report_of(harness, "of-nobody") is None
        await harness.advance(8)
        assert report_of(harness, "of-nobody") == "Workflow nobody does not exist in this namespace"
        assert report_of(harness, "of-another") == f"Workflow run has another uid: {uid}"
        assert report_of(harness, names.taskrun("run", uid, "b")) == "Workflow run has no task b"
        assert report_of(harness, "misnamed") == "the TaskRun of a/-1 of Workflow run has another name"
        before = len(harness.fake.writes())
        await harness.advance(30)
        assert len(harness.fake.writes()) == before
        assert harness.state("run") == "Suspended"


async def test_a_taskrun_with_a_wrong_number_of_group_indexes_is_reported() -> None:
    async with ControllerHarness(Settings(stray_grace=5)).running() as harness:
        group = {"name": "g", "expand": [{"name": "n", "over": [1]}]}
        harness.create("run", python("a", group="g"), groups=[group], suspend=True)
        await harness.advance(1)
        uid = harness.workflow("run")["metadata"]["uid"]
        deeper = names.taskrun("run", uid, "a", groups=(0, 1))
        taskrun(harness, deeper, "run", uid, group_path=(0, 1))
        await harness.advance(12)
        assert report_of(harness, deeper) == "task a of Workflow run requires 1 group indexes; this TaskRun has 2"


async def test_a_taskrun_that_is_gone_within_the_grace_is_not_reported() -> None:
    async with ControllerHarness(Settings(stray_grace=5)).running() as harness:
        taskrun(harness, "early", "late", "u")
        await harness.advance(6)
        harness.fake.remove(TASKRUNS, NAMESPACE, "early")
        await harness.advance(6)
        assert not [request for request in harness.fake.writes() if "early" in request.path]
        assert harness.fake.all(WORKFLOWS) == []


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
    harness: ControllerHarness, owner: str | None
) -> None:
    owners = [] if owner is None else [{"kind": "TaskRun", "name": owner, "uid": "any", "controller": True}]
    harness.fake.put(PODS, foreign_pod("orphan", *owners))
    harness.fake.edit(PODS, NAMESPACE, "orphan", {"metadata": {"deletionTimestamp": "2023-11-14T22:13:20Z"}})
    harness.create("run", python("a"))
    await harness.advance(5)
    assert harness.state("run") == "Succeeded"
    orphan = harness.fake.get(PODS, NAMESPACE, "orphan")
    assert orphan is None or not orphan["metadata"].get("finalizers")


async def test_a_pod_of_another_namespace_is_no_pod_of_the_taskrun(
    harness: ControllerHarness,
) -> None:
    harness.create("run", python("a"))
    await harness.advance(1)
    run = harness.taskrun("run", "a")["metadata"]
    owner = {"kind": "TaskRun", "name": run["name"], "uid": run["uid"], "controller": True}
    harness.fake.put(PODS, foreign_pod("intruder", owner, namespace="elsewhere"))
    await harness.advance(1)
    assert len(harness.cache.pods.store) == 2
    taskrun = harness.cache.taskruns.store.get(NAMESPACE, run["name"])
    assert taskrun is not None
    assert [pod.name for pod in harness.cache.pods_of(taskrun)] == [f"{run['name']}-a1-s0"]


async def test_a_taskrun_of_another_namespace_is_not_in_the_snapshot(
    harness: ControllerHarness,
) -> None:
    harness.create("run", python("a"), suspend=True)
    await harness.advance(1)
    uid = harness.workflow("run")["metadata"]["uid"]
    spec = {"workflow": {"name": "run", "uid": uid}, "task": "a", "mapIndex": -1, "python": "m:f", "image": "i"}
    status = {"state": "Succeeded", "attempt": 1, "segment": 0, "launch": 0, "result": '"forged"'}
    harness.fake.put(
        TASKRUNS, {"metadata": {"name": "forged", "namespace": "elsewhere"}, "spec": spec, "status": status}
    )
    await harness.advance(2 * Settings().resync)
    assert harness.state("run") == "Suspended"


def orphan(harness: ControllerHarness) -> str:
    """Delete the Workflow alone, as `kubectl delete --cascade=orphan` does. Returns the name of its pod."""
    taskrun = harness.fake.all(TASKRUNS)[0]["metadata"]["name"]
    harness.fake.edit(TASKRUNS, NAMESPACE, taskrun, {"metadata": {"ownerReferences": []}})
    harness.fake.remove(WORKFLOWS, NAMESPACE, "run")
    return str(harness.fake.all(PODS)[0]["metadata"]["name"])


def delete_pod(harness: ControllerHarness) -> None:
    name = harness.fake.all(PODS)[0]["metadata"]["name"]
    harness.fake.edit(PODS, NAMESPACE, name, {"metadata": {"deletionTimestamp": "2023-11-14T22:13:20Z"}})


async def test_a_pod_of_an_orphaned_taskrun_is_released_when_it_is_deleted(harness: ControllerHarness) -> None:
    harness.create("run", container("a"))
    await harness.clock.advance(1)
    name = orphan(harness)
    await harness.clock.advance(5)
    pod = harness.fake.get(PODS, NAMESPACE, name)
    assert pod is not None
    assert pod["metadata"]["finalizers"] == [constants.POD_FINALIZER]
    delete_pod(harness)
    await harness.clock.advance(5)
    assert harness.fake.get(PODS, NAMESPACE, name) is None


async def test_a_pod_that_was_deleted_before_its_taskrun_was_orphaned_is_released(harness: ControllerHarness) -> None:
    harness.create("run", container("a"))
    await harness.clock.advance(1)
    delete_pod(harness)
    name = orphan(harness)
    await harness.clock.advance(5)
    assert harness.fake.get(PODS, NAMESPACE, name) is None
