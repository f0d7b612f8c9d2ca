"""Containers and volumes that keep a pod from starting or ending, on a real node."""

import json

import pytest
from torpor_crds.models.taskrun import TaskRun
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.resources import PODS
from torpor_wire.reason import Reason

from tests.e2e.support.archive_reader import reading
from tests.e2e.support.stage import ClusterFixture, Spec

pytestmark = pytest.mark.long
IMAGE = "torpor-e2e:dev"
_MOUNT = [{"name": "work", "mountPath": "/work"}]
_LIMIT = 240.0


def task(name: str, script: str = "true", **pod: object) -> Spec:
    return {"name": name, "container": {"command": ["sh", "-c", script]}, "pod": pod}


def sidecar(name: str, script: str, **fields: object) -> Spec:
    return {"name": name, "image": IMAGE, "command": ["sh", "-c", script], **fields}


async def explained(stage: ClusterFixture, workflow: str, name: str, reason: Reason) -> str:
    """The message of a task once it has a reason."""

    async def has_reason() -> TaskRun | None:
        return next((run for run in await stage.taskruns(workflow, name) if run.status.reason == reason), None)

    run = await stage.until(has_reason, _LIMIT, f"{name} to have the reason {reason}")
    return run.status.message or ""


async def test_a_claim_that_cannot_be_bound_is_explained(stage: ClusterFixture) -> None:
    tasks = [task("unknown", volumeMounts=_MOUNT)]
    claims = [{"name": "work", "size": "1Mi", "storageClassName": "no-such-class"}]
    await stage.start("unbound", {"image": IMAGE, "tasks": tasks, "volumeClaims": claims})
    message = await explained(stage, "unbound", "unknown", Reason.CLAIM_PENDING)
    assert "no-such-class" in message
    assert "waits for a volume" in message


async def test_a_claim_that_waits_for_a_node_that_does_not_exist_is_explained(stage: ClusterFixture) -> None:
    tasks = [task("nowhere", volumeMounts=_MOUNT, nodeSelector={"disk": "none"})]
    await stage.start("nodeless", {"image": IMAGE, "tasks": tasks, "volumeClaims": [{"name": "work", "size": "1Mi"}]})
    message = await explained(stage, "nodeless", "nowhere", Reason.UNSCHEDULABLE)
    assert "no node fits pod" in message
    assert "node affinity/selector" in message


async def test_a_sidecar_that_is_never_ready_is_named(stage: ClusterFixture) -> None:
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 600}
    server = sidecar("server", "sleep 600", startupProbe=probe)
    await stage.start("unready", {"image": IMAGE, "tasks": [task("ask", sidecars=[server])]})
    message = await explained(stage, "unready", "ask", Reason.POD_PENDING)
    assert "container server" in message


async def test_logs_of_all_containers_outlive_the_pod(stage: ClusterFixture, kubectl: Kubectl) -> None:
    """One sidecar never ends by itself, and one step is killed."""
    stubborn = sidecar("stubborn", "trap '' TERM; echo of the sidecar; while true; do sleep 1; done")
    steps = [
        {"name": "first", "script": "echo of the first step", "result": "stdout"},
        {"name": "last", "command": ["sh", "-c", "echo of the last step"]},
    ]
    fetch = {"name": "fetch", "image": IMAGE, "command": ["sh", "-c", "echo of the init container"]}
    large = [{"name": "rows", "script": "seq 3000", "result": "stdout"}, {"name": "last", "command": ["true"]}]
    killed = [{"name": "victim", "script": "echo before the kill; kill -KILL $$", "result": "stdout"}, steps[1]]
    tasks = [
        {"name": "all", "container": {"steps": steps}},
        {"name": "killed", "container": {"steps": killed}},
        {"name": "large", "container": {"steps": large}},
    ]
    tasks[0]["pod"] = {"initContainers": [fetch], "sidecars": [stubborn]}
    await stage.start("several", {"image": IMAGE, "tasks": tasks, "podsTTL": "0s"})
    await stage.ended("several", _LIMIT)
    whole, cut, big = await stage.taskruns("several")
    assert json.loads(whole.status.result or "null") == {"first": "of the first step", "last": None}
    assert big.status.stored is not None, big.status.message
    assert (big.status.stored.type, big.status.stored.keys) == ("object", '["rows","last"]')
    assert cut.status.message == "container victim failed: Error, exit code 137: before the kill"

    async def no_pods() -> bool | None:
        return None if (await stage.api.list(PODS, stage.namespace)).items else True

    await stage.until(no_pods, _LIMIT, "the pods to go")
    uid = (await stage.workflow("several")).metadata.uid
    async with reading(kubectl, stage.namespace) as reader:
        for name, line in (
            ("fetch", "of the init container"),
            ("stubborn", "of the sidecar"),
            ("first", "of the first step"),
            ("victim", "before the kill"),
            ("main", "of the last step"),
        ):
            items = (await reader.json(f"{stage.namespace}/runs/{uid}/logs?container={name}"))["items"]
            texts = [await reader.text(f"{stage.namespace}/logs/{entry['id']}") for entry in items if entry["size"]]
            assert [line in text for text in texts] == [True], (name, items)
