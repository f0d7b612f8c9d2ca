"""Fixtures of logs: a node of the real API server, and the pods of one run on it."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from torpor_wire import constants

from tests.integration.archive.conftest import account
from tests.integration.conftest import Server, collection
from tests.support.kubelet import log_server
from tests.support.kubelet.log_server import KubeletLogs, PodLog

LINE = b"2026-01-01T00:00:02.5Z hello\n"
KEPT_NO_LONGER = [{"op": "remove", "path": "/metadata/finalizers"}]
UNPRIVILEGED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
STARTED, FINISHED = "2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNode:
    """A node with a kubelet, and the pods of one run on it."""

    server: Server
    kubelet: KubeletLogs
    name: str
    namespace: str
    workflow: str
    pods: list[str] = field(default_factory=list)

    def pod(self, log: bytes | None = LINE, *, node: str | None = None, **annotations: str) -> str:
        """Create a running pod of a task; without a log it has not started."""
        name = f"t-{uuid.uuid4().hex[:8]}-a1-s0"
        labels = {
            constants.LABEL_TASKRUN_UID: "t",
            constants.LABEL_WORKFLOW_UID: self.workflow,
            constants.LABEL_TASK: "load",
            constants.LABEL_INDEX: "2.0",
        }
        owner = {"apiVersion": constants.API_VERSION, "kind": "TaskRun", "name": name[:-6]}
        spec = {"workflow": {"name": "run", "uid": self.workflow}, "task": "load", "image": "x", "python": "a:b"}
        taskrun = {k: v for k, v in owner.items() if k != "name"} | {"metadata": {"name": owner["name"]}, "spec": spec}
        # The garbage collector would delete a pod without its owner.
        owner["uid"] = self.server.create("taskruns", self.namespace, taskrun).expect(201)["metadata"]["uid"]
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [owner | {"controller": True}],
                "finalizers": ["tests.torpor.dev/kept"],
            },
            "spec": {
                "nodeName": node or self.name,
                "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{"name": "main", "image": "x", "securityContext": UNPRIVILEGED}],
                "terminationGracePeriodSeconds": 10,
            },
        }
        self.server.create("pods", self.namespace, body).expect(201)
        self.pods.append(name)
        if log is None:
            waiting = {"reason": "ImagePullBackOff", "message": "cannot pull x"}
            self.kubelet.logs[name] = PodLog(text=b"main is waiting to start", status=400)
            self.report(name, "Pending", {"waiting": waiting})
        else:
            self.kubelet.logs[name] = PodLog(text=log)
            self.report(name, "Running", {"running": {"startedAt": STARTED}})
        return name

    def report(self, name: str, phase: str, state: dict[str, Any]) -> None:
        container = {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        ops = [
            {"op": "add", "path": "/status/phase", "value": phase},
            {"op": "add", "path": "/status/containerStatuses", "value": [container]},
        ]
        path = f"{collection('pods', self.namespace)}/{name}/status"
        self.server.request("PATCH", path, ops, content_type="application/json-patch+json").expect(200)

    def end(self, name: str, code: int = 0, reason: str = "Completed") -> None:
        terminated = {"exitCode": code, "reason": reason, "startedAt": STARTED, "finishedAt": FINISHED}
        self.report(name, "Failed" if code else "Succeeded", {"terminated": terminated})

    def delete(self, name: str) -> None:
        self.server.request("DELETE", f"{collection('pods', self.namespace)}/{name}").expect(200)

    def remove(self, name: str) -> None:
        """Let a deleted pod vanish."""
        path = f"{collection('pods', self.namespace)}/{name}"
        self.server.request("PATCH", path, KEPT_NO_LONGER, content_type="application/json-patch+json").expect(200)


@pytest.fixture(scope="session")
def kubelet() -> Iterator[KubeletLogs]:
    with log_server.started() as made:
        yield made


@pytest.fixture(scope="session")
def node_name(server: Server, kubelet: KubeletLogs) -> Iterator[str]:
    name = f"logs-{uuid.uuid4().hex[:8]}"
    node, status = kubelet.node(name)
    server.request("POST", "/api/v1/nodes", node).expect(201)
    ops = [{"op": "add", "path": "/status", "value": status}]
    path = f"/api/v1/nodes/{name}/status"
    server.request("PATCH", path, ops, content_type="application/json-patch+json").expect(200)
    yield name
    server.request("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def node(server: Server, kubelet: KubeletLogs, node_name: str, home: str) -> Iterator[LogNode]:
    made = LogNode(server=server, kubelet=kubelet, name=node_name, namespace=home, workflow=str(uuid.uuid4()))
    yield made
    for pod in made.pods:
        path = f"{collection('pods', home)}/{pod}"
        server.request("PATCH", path, KEPT_NO_LONGER, content_type="application/json-patch+json")
        server.request("DELETE", path, gracePeriodSeconds="0")


@pytest.fixture(scope="session")
def viewer(server: Server, home: str) -> str:
    """The token of an account that may view the namespace."""
    return account(server, home, "log-reader", "view")
