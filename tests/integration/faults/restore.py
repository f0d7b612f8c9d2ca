"""Restores of docs/operations/backup.md: etcd from a copy of its data, and objects from an export of kubectl."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torpor_local.pods import status

from tests.integration.conftest import collection
from tests.integration.faults import etcd
from tests.integration.faults.installation import Installation

Object = dict[str, Any]
_STRATEGIC = "application/strategic-merge-patch+json"
_MERGE = "application/merge-patch+json"
_OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "finalizers")


def restore_etcd(installation: Installation, copy: Path, namespace: str) -> None:
    """Put back the data of etcd, and restart all components, as the page says."""
    for component in installation.components.values():
        component.held = True
        component.kill()
    installation.node.stop()
    etcd.restore(installation.plane, copy)
    installation.node.start()
    _report_ended_containers(installation, namespace)
    for component in installation.components.values():
        component.held = False
        component.start()
    installation.await_leader()
    installation.until(installation.archive_is_published, "the archive is published")


def _report_ended_containers(installation: Installation, namespace: str) -> None:
    """Report the pods that run in the restored data and whose containers have ended since, as a kubelet does."""
    for pod in installation.items("pods", namespace):
        if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") in {"Pending", "Running"}:
            ended = status.ended(pod, 0, "", time.time())
            path = f"{collection('pods', namespace)}/{pod['metadata']['name']}/status"
            installation.request("PATCH", path, {"status": ended}, content_type=_STRATEGIC)


def export(installation: Installation, namespace: str, plurals: Iterable[str]) -> list[tuple[str, Object]]:
    """Return all objects of these kinds, as `kubectl get -o yaml` prints them."""
    return [(plural, body) for plural in plurals for body in installation.items(plural, namespace)]


def import_object(installation: Installation, namespace: str, plural: str, body: Object, *, with_status: bool) -> None:
    """Create an exported object, and write its status to the status subresource."""
    metadata = {key: value for key, value in body["metadata"].items() if key not in _OF_THE_SERVER}
    created = body | {"metadata": metadata | {"namespace": namespace}}
    stored = created.pop("status", None)
    installation.request("POST", collection(plural, namespace), created).expect(201)
    if with_status and stored is not None:
        path = f"{collection(plural, namespace)}/{metadata['name']}/status"
        installation.request("PATCH", path, {"status": stored}, content_type=_MERGE).expect(200)
