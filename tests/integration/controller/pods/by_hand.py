"""Pods that no kubelet runs: a test writes what a scheduler and a kubelet would."""

from typing import Any

from tests.integration.controller.pods.processes import NODE
from tests.integration.controller.stage import ControllerFixture, Object

KEPT_BACK = {"nodeSelector": {"no": "such"}}
"""Of a pod: the kubelet of these tests has no labels and leaves it alone."""
CORE = "/api/v1/namespaces"


def await_pod(stage: ControllerFixture, workflow: str) -> Object:
    """Return the pod of the task `load` once it exists."""
    run = stage.taskrun(workflow, "load")
    stage.until(lambda: bool(stage.pods_of(run)), "its pod is there")
    return stage.pods_of(run)[0]


def bind(stage: ControllerFixture, pod: Object) -> None:
    """Bind a pod to the node."""
    metadata = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": NODE}}
    stage.server.request("POST", f"{CORE}/{stage.namespace}/pods/{metadata['name']}/binding", body).expect(201)


def set_status(stage: ControllerFixture, pod: Object, field: str, value: Any) -> None:
    """Set a field of a pod's status."""
    stage.change("pods", pod["metadata"]["name"], [{"op": "add", "path": f"/status/{field}", "value": value}], "status")


def set_container(stage: ControllerFixture, pod: Object, state: Object) -> None:
    """Set the state of the container of a pod."""
    container = {"name": "main", "image": "", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    set_status(stage, pod, "containerStatuses", [container])


def warn(stage: ControllerFixture, pod: Object, reason: str, message: str) -> None:
    """Write an Event of the kubelet about a pod, by the core API as a kubelet does."""
    metadata = pod["metadata"]
    about = {"kind": "Pod", "namespace": stage.namespace, "name": metadata["name"], "uid": metadata["uid"]}
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.1"},
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "type": "Warning",
        "source": {"component": "kubelet"},
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    stage.server.request("POST", f"{CORE}/{stage.namespace}/events", body).expect(201)
