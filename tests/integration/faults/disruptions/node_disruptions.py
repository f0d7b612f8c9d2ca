"""Disruptions of the node: a running pod is lost, evicted by the API, or evicted by the kubelet."""

from typing import Any

from tests.integration.conftest import collection
from tests.integration.faults.node import disruption
from tests.integration.faults.scene import DisruptedRun

Object = dict[str, Any]
_STRATEGIC = "application/strategic-merge-patch+json"


def lose(scene: DisruptedRun) -> None:
    """Kill a container with its node: the pod is collected, and no kubelet reports."""
    for pod in _chosen(scene):
        _mark(scene, pod, "DeletionByPodGC")
        scene.installation.node.kill(pod)
        scene.installation.request("DELETE", f"{_path(scene, pod)}", {"gracePeriodSeconds": 0})


def drain(scene: DisruptedRun) -> None:
    """Evict a pod as `kubectl drain` does."""
    for pod in _chosen(scene):
        metadata = {"name": pod["metadata"]["name"], "namespace": scene.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        scene.installation.request("POST", f"{_path(scene, pod)}/eviction", body)


def evict(scene: DisruptedRun) -> None:
    """Evict a pod as a kubelet without free disk does: it kills the container, and the pod stays as Failed."""
    for pod in _chosen(scene):
        _mark(scene, pod, "TerminationByKubelet")
        scene.installation.node.kill(pod)


def _chosen(scene: DisruptedRun) -> list[Object]:
    """Wait for a pod whose container runs. None if the run ends before."""
    scene.reach_any()
    scene.installation.until(lambda: bool(scene.running_pods()) or scene.step(), "a pod runs")
    pods = scene.running_pods()
    return [scene.random.choice(pods)] if pods else []


def _mark(scene: DisruptedRun, pod: Object, reason: str) -> None:
    body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": [disruption(reason)]}}
    scene.installation.request("PATCH", f"{_path(scene, pod)}/status", body, content_type=_STRATEGIC)


def _path(scene: DisruptedRun, pod: Object) -> str:
    return f"{collection('pods', scene.namespace)}/{pod['metadata']['name']}"
