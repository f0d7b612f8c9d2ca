"""A real API server and etcd of the repository, with a thread in the place of the kubelet."""

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

NAMESPACE = "default"
_EVERY_SECONDS = 0.3


class NodeStandIn:
    """Lets each pod run and then succeed."""

    def __init__(self, kubeconfig: str) -> None:
        self._core = client.CoreV1Api(config.new_client_from_config(kubeconfig))
        self._stopped = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        """Stop the thread."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(_EVERY_SECONDS):
            try:
                for pod in self._core.list_namespaced_pod(NAMESPACE).items:
                    self._advance_pod(pod)
            except (ApiException, OSError):
                continue  # an object that has just been deleted, or the end of the run

    def _advance_pod(self, pod: Any) -> None:
        status = {"Pending": _running, "Running": _succeeded}.get(pod.status.phase)
        if status is not None:
            patch = {"status": status([each.name for each in pod.spec.containers])}
            self._core.patch_namespaced_pod_status(pod.metadata.name, NAMESPACE, patch)


def _running(names: list[str]) -> Mapping[str, Any]:
    now = _now()
    containers = [_container(name, {"running": {"startedAt": now}}) for name in names]
    conditions = [{"type": each, "status": "True"} for each in ("PodScheduled", "Initialized", "Ready")]
    return {"phase": "Running", "startTime": now, "conditions": conditions, "containerStatuses": containers}


def _succeeded(names: list[str]) -> Mapping[str, Any]:
    now = _now()
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}
    return {"phase": "Succeeded", "containerStatuses": [_container(name, ended) for name in names]}


def _container(name: str, state: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"name": name, "state": state, "ready": "running" in state, "restartCount": 0, "image": "i", "imageID": "i"}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
