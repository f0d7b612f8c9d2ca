"""Sets up situations in which a run does not go on, with real objects.

`pods.by_hand` writes what a scheduler and a kubelet would.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.integration.controller.pods.by_hand import CORE, KEPT_BACK, await_pod, bind, set_container, set_status, warn
from tests.integration.controller.stage import ControllerFixture, Object, limit_memory, python

_LONG = {"item": 1, "seconds": 900.0}
NARROW = "narrow"
"""A triggerer pool with a capacity of one wait."""
LOOKING = "looking"
"""A triggerer pool that may connect to the loopback network."""
QUOTA_NAMESPACE = "why-quota"
CLOSED_NAMESPACE = "why-closed"


def hour(name: str = "pause", **fields: Any) -> Object:
    """A task that waits for an hour without a pod."""
    return {"name": name, "trigger": {"class": "duration", "kwargs": {"duration": "1h"}}, **fields}


def submit(*tasks: Object, **spec: Any) -> Callable[[ControllerFixture], tuple[ControllerFixture, str]]:
    return lambda stage: (stage, stage.submit(tasks, **spec))


def upstream_failed(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    return stage, stage.submit(
        [python("load", "failed", args={"message": "disk full"}), python("report", "echo", after=["load"]), hour()]
    )


def pool_full(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    data = {"gpu": "1"}
    metadata = {"name": "torpor-pools", "namespace": stage.namespace}
    stage.server.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    stage.submit([python("train", "loaded", args=_LONG, pool="gpu")], name="holder")
    stage.until(lambda: stage.taskrun("holder", "train")["status"]["state"] == "Running", "the slot is taken")
    return stage, stage.submit([python("tune", "echo", pool="gpu")])


def many(stage: ControllerFixture, **fields: Any) -> str:
    """A mapped task of three instances, each of which runs long."""
    expand = [{"name": "item", "over": [1, 2, 3]}]
    spec = {name: fields.pop(name) for name in ("parallelism",) if name in fields}
    return stage.submit([python("load", "loaded", args={"seconds": 900.0}, expand=expand, **fields)], **spec)


def quota(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    other = replace(stage, namespace=QUOTA_NAMESPACE)
    limit_memory(other, "small", "1Gi")
    large = {"resources": {"requests": {"memory": "2Gi"}}}
    return other, other.submit([python("load", "echo", pod=large)])


def closed_namespace(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    stage.server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CLOSED_NAMESPACE}})
    other = replace(stage, namespace=CLOSED_NAMESPACE)
    return other, other.submit([hour()])


def image_pull(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    name = _kept_back(stage)
    pod = _bound_pod(stage, name)
    waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "tests": not found'}
    set_container(stage, pod, {"waiting": waiting})
    return stage, name


def unschedulable(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    name = _kept_back(stage)
    message = "0/1 nodes are available: 1 Insufficient memory."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    set_status(stage, await_pod(stage, name), "conditions", [condition])
    return stage, name


def mount(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    name = _kept_back(stage)
    pod = _bound_pod(stage, name)
    set_container(stage, pod, {"waiting": {"reason": "ContainerCreating"}})
    warn(stage, pod, "FailedMount", 'MountVolume.SetUp failed for volume "v" : configmap "settings" not found')
    return stage, name


def node_lost(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    name = _kept_back(stage)
    pod = _bound_pod(stage, name)
    path = f"{CORE}/{stage.namespace}/pods/{pod['metadata']['name']}"
    stage.server.request("DELETE", path, {"gracePeriodSeconds": 1}).expect(200)
    return stage, name


def queued(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    first = stage.submit([hour()], triggerPool=NARROW)
    stage.until(lambda: stage.taskrun(first, "pause")["status"]["state"] == "Deferred", "one wait runs")
    return stage, stage.submit([hour("later")], triggerPool=NARROW)


def looks(stage: ControllerFixture, url: str) -> tuple[ControllerFixture, str]:
    trigger = {"class": "http", "kwargs": {"url": f"{url}/_SUCCESS", "interval": "30s"}}
    return stage, stage.submit([{"name": "drop", "trigger": trigger}], triggerPool=LOOKING)


def approval(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    kwargs = {"question": "Load 3 TB?", "approvers": {"users": ["ann"], "groups": ["sre"]}}
    return stage, stage.submit([{"name": "sign_off", "trigger": {"class": "approval", "kwargs": kwargs}}])


def suspended(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    return stage, stage.submit([python("load", "echo")], suspend=True)


def deleted_upstream(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    name = stage.submit([hour("load"), python("report", "echo", after=["load"]), hour("other")])
    run = stage.taskrun(name, "load")
    stage.until(lambda: stage.taskrun(name, "load")["status"]["state"] == "Deferred", "it waits")
    stage.server.request(
        "DELETE", f"/apis/torpor.dev/v1alpha1/namespaces/{stage.namespace}/taskruns/{run['metadata']['name']}"
    )
    return stage, name


def cancel_requested(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    """No triggerer serves the pool, so the operator waits for one before it cancels."""
    name = stage.submit([hour()], triggerPool="nowhere")
    stage.until(lambda: stage.taskrun(name, "pause")["status"]["state"] == "Deferred", "it waits")
    stage.cancel(name)
    stage.until(lambda: stage.state(name) == "Cancelling", "it is being cancelled")
    return stage, name


def forbidden(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    metadata = {"name": "powerless", "namespace": stage.namespace, "annotations": {"torpor.dev/tokens": "allowed"}}
    stage.server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    return stage, stage.submit([python("load", "echo", pod={"serviceAccountName": "powerless"})])


def operator_down(stage: ControllerFixture) -> tuple[ControllerFixture, str]:
    for controller in stage.controllers():
        controller.end()
    return stage, stage.submit([python("load", "echo")])


def _kept_back(stage: ControllerFixture) -> str:
    return stage.submit([python("load", "echo", pod=KEPT_BACK)])


def _bound_pod(stage: ControllerFixture, workflow: str) -> Object:
    pod = await_pod(stage, workflow)
    bind(stage, pod)
    return pod
