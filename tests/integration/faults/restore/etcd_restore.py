"""The restore of etcd as docs/operations/backup.md describes it: all components stop, and start on the former data."""

import time
from pathlib import Path
from typing import Any

from torpor_local.pods import status

from tests.integration.conftest import collection
from tests.integration.faults import etcd
from tests.integration.faults.installation import ProcessInstallation

Object = dict[str, Any]
_STRATEGIC = "application/strategic-merge-patch+json"


def restore_etcd(installation: ProcessInstallation, backup: Path, namespace: str) -> None:
    """Put back the data of etcd while no component runs."""
    for component in installation.components.values():
        component.held = True
        component.kill()
    installation.node.stop()
    etcd.restore(installation.plane, backup)
    installation.node.start()
    _report_ended_containers(installation, namespace)
    for component in installation.components.values():
        component.held = False
        component.start()
    installation.await_leader()
    installation.until(installation.archive_is_published, "the archive is published")


def _report_ended_containers(installation: ProcessInstallation, namespace: str) -> None:
    """Report pods that run in the restored data and whose containers have ended since, as a kubelet does."""
    for pod in installation.items("pods", namespace):
        if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") in {"Pending", "Running"}:
            ended = status.ended(pod, 0, "", time.time())
            path = f"{collection('pods', namespace)}/{pod['metadata']['name']}/status"
            installation.request("PATCH", path, {"status": ended}, content_type=_STRATEGIC)
