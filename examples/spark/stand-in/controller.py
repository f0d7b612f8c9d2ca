"""A stand-in for the Spark operator: runs the driver of each SparkApplication of a namespace as a pod, and reports it.

It uses the standard library only. The real operator watches; this one reads the few objects of an example each second.
"""

import json
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

CREDENTIALS = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PAUSE_SECONDS = 1.0
LIMIT_SECONDS = 30.0
STATES = {"Pending": "SUBMITTED", "Running": "RUNNING", "Succeeded": "COMPLETED", "Failed": "FAILED"}
ENDED = ("COMPLETED", "FAILED")
Object = Mapping[str, Any]


class NamespaceClient:
    """The API server, with the rights of this pod."""

    def __init__(self) -> None:
        self.namespace = (CREDENTIALS / "namespace").read_text()
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
        self._url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        self._tls = ssl.create_default_context(cafile=str(CREDENTIALS / "ca.crt"))

    def request(self, method: str, path: str, body: Object | None = None) -> Any:
        """Send one request. Raises HTTPError."""
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        token = (CREDENTIALS / "token").read_text()
        request = urllib.request.Request(  # noqa: S310 - the URL is that of the API server
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": content_type},
        )
        with urllib.request.urlopen(request, timeout=LIMIT_SECONDS, context=self._tls) as answer:  # noqa: S310
            return json.load(answer)


def driver(application: Object) -> dict[str, Any]:
    """Return the pod of the driver."""
    metadata, spec = application["metadata"], application["spec"]
    config_maps = spec.get("driver", {}).get("configMaps", [])
    container = {
        "name": "spark-kubernetes-driver",
        "image": spec["image"],
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", spec["mainApplicationFile"].removeprefix("local://"), *spec.get("arguments", [])],
        "volumeMounts": [{"name": entry["name"], "mountPath": entry["path"]} for entry in config_maps],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    owner = {
        "apiVersion": application["apiVersion"],
        "kind": application["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{metadata['name']}-driver",
            "labels": {"sparkoperator.k8s.io/app-name": metadata["name"], "spark-role": "driver"},
            "ownerReferences": [owner],
        },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": entry["name"], "configMap": {"name": entry["name"]}} for entry in config_maps],
        },
    }


def status(pod: Object) -> dict[str, Any]:
    """Return the status of a SparkApplication from the pod of its driver."""
    state = STATES.get(pod["status"].get("phase", "Pending"), "UNKNOWN")
    report: dict[str, Any] = {"applicationState": {"state": state}, "driverInfo": {"podName": pod["metadata"]["name"]}}
    terminated = [each["state"].get("terminated") for each in pod["status"].get("containerStatuses", [])]
    if state in ENDED and terminated and terminated[0]:
        report["terminationTime"] = terminated[0]["finishedAt"]
        if state == "FAILED":
            report["applicationState"]["errorMessage"] = f"driver exited with code {terminated[0]['exitCode']}"
    return report


def reconcile(server: NamespaceClient, application: Object) -> None:
    """Create the driver of an application, or report its state."""
    known = application.get("status", {})
    if known.get("applicationState", {}).get("state") in ENDED:
        return
    pods = f"/api/v1/namespaces/{server.namespace}/pods"
    body = driver(application)
    try:
        pod = server.request("GET", f"{pods}/{body['metadata']['name']}")
    except urllib.error.HTTPError as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        pod = server.request("POST", pods, body)
    if (report := status(pod)) != known:
        path = f"{applications(server)}/{application['metadata']['name']}/status"
        server.request("PATCH", path, {"status": report})


def applications(server: NamespaceClient) -> str:
    """Return the path of the SparkApplications of the namespace."""
    return f"/apis/sparkoperator.k8s.io/v1beta2/namespaces/{server.namespace}/sparkapplications"


def main() -> None:
    """Reconcile until the pod is stopped. A request that fails is repeated."""
    server = NamespaceClient()
    while True:
        try:
            for application in server.request("GET", applications(server))["items"]:
                if "deletionTimestamp" not in application["metadata"]:
                    reconcile(server, application)
        except OSError as error:
            print(f"retrying: {error}", flush=True)
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main()
