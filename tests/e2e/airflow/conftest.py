"""The Airflow bridge on the cluster: its pool, its image of tasks, and a namespace whose waits may read Secrets."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from torpor_demo import cluster, images
from torpor_demo.cluster import ROOT
from torpor_demo.images import Image
from torpor_demo.install import apply, roll_out
from torpor_demo.kubectl import Kubectl
from torpor_dev import command
from torpor_kubernetes.client.resources import PODS

from tests.e2e.support.rights import wait_until_allowed
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

_HERE = Path(__file__).parent
_BRIDGE = ROOT / "airflow-bridge"
_POOL = "deployment/torpor-triggerer-airflow"
TRIGGERER = Image(name="torpor-airflow:dev", context=_BRIDGE, parent=("TORPOR_IMAGE", images.TORPOR))
AIRFLOW = Image(
    name="airflow-tasks:dev",
    context=_BRIDGE,
    dockerfile="worker.Dockerfile",
    parent=("WORKER_IMAGE", images.WORKER),
)
TASKS = Image(name="airflow-system-tests:dev", context=_HERE / "image")
SERVERS = Image(name="airflow-servers:dev", context=_HERE / "servers", based=True)
SYSTEM_TESTS = "/opt/system-tests"
"""The folder of the image TASKS with the DAG files of the providers."""
_CONVERT_SECONDS = 300.0
_CLOSED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "runAsUser": 65532,
}


@pytest.fixture(scope="session")
def pool(kubectl: Kubectl) -> Iterator[str]:
    """The images on the nodes, and the pool of triggerers with Airflow's classes."""
    built = images.build([AIRFLOW, TRIGGERER, TASKS, SERVERS], cluster.base_image())
    cluster.load([TRIGGERER.name, TASKS.name, SERVERS.name])
    apply(kubectl, _BRIDGE / "pool", built[TRIGGERER.name])
    roll_out(kubectl, _POOL)
    yield "airflow"
    kubectl.run("delete", "-k", _BRIDGE / "pool", "--wait=false", "--ignore-not-found")


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowStage:
    """A namespace for converted DAGs: what a person would type, and what the servers of the DAGs are."""

    stage: ClusterFixture
    kubectl: Kubectl

    def convert(self, file: str | Path, *options: str) -> str:
        """Convert a DAG file by the command of the image, which has the providers; return the YAML."""
        folder = str(file) if str(file).startswith(SYSTEM_TESTS) else f"/dags/{Path(file).name}"
        volume = ("-v", f"{_HERE / 'dags'}:/dags:ro")
        words = ("docker", "run", "--rm", *volume, "--entrypoint", "torpor-airflow", TASKS.name, "convert", folder)
        return command.run(*words, "--image", TASKS.name, *options, limit=_CONVERT_SECONDS)

    def apply(self, text: str) -> None:
        """Apply converted documents."""
        self.kubectl.run("apply", "-n", self.stage.namespace, "-f", "-", stdin=text)

    def give_connection(self, name: str, connection: Any) -> str:
        """Store a connection in a Secret that tasks may read; return the option that names it."""
        text = connection if isinstance(connection, str) else json.dumps(connection)
        secret = f"connection-{name.replace('_', '-')}"
        self.kubectl.run(
            *("-n", self.stage.namespace, "create", "secret", "generic", secret, f"--from-literal=connection={text}")
        )
        return f"--connection={name}={secret}/connection"

    async def serve(self, name: str, *program: str) -> str:
        """Start a server that listens on port 8000; return its address."""
        namespace = self.stage.namespace
        container = {
            "name": "server",
            "image": SERVERS.name,
            "command": [*program],
            "imagePullPolicy": "IfNotPresent",
            "securityContext": _CLOSED,
            "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
            "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
        }
        spec = {
            "automountServiceAccountToken": False,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        await self.stage.api.create(PODS, namespace, body)

        async def address() -> str | None:
            status = (await self.stage.api.get(PODS, namespace, name))["status"]
            are_ready = [each["ready"] for each in status.get("containerStatuses", ())]
            found: str | None = status.get("podIP")
            return found if are_ready and all(are_ready) else None

        return await self.stage.until(address, TIMEOUT, f"the server {name} to be up")


@pytest.fixture
def airflow(pool: str, stage: ClusterFixture, kubectl: Kubectl) -> AirflowStage:
    """A namespace whose tasks, and whose waits in the pool, may read its Secrets."""
    accounts = (f"{stage.namespace}:torpor-task", f"torpor-system:torpor-triggerer-{pool}")
    names = [f"--serviceaccount={account}" for account in accounts]
    kubectl.run("-n", stage.namespace, "create", "role", "read-secrets", "--verb=get", "--resource=secrets")
    kubectl.run("-n", stage.namespace, "create", "rolebinding", "read-secrets", "--role=read-secrets", *names)
    for account in accounts:
        wait_until_allowed(kubectl, stage.namespace, f"system:serviceaccount:{account}", "get", "secrets/any")
    return AirflowStage(stage=stage, kubectl=kubectl)


def states_of(tasks: Any) -> dict[str, str]:
    """The state of each task of a Workflow's status."""
    return {task.name: str(task.state) for task in tasks}
