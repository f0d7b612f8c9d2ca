"""The cluster of the benches: the demo's cluster with a namespace for one Workflow at a time."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from torpor_crds.models.workflow import Workflow, parse
from torpor_demo.images import Image
from torpor_demo.install import install, prepare
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.client.resources import PODS, WORKFLOWS
from torpor_kubernetes.timing import SystemClock

from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.runs import workflow
from benchmarks.harness.waiting import until

_LIMIT = 600.0
_POD_LIMIT = 120.0
_POLL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCluster:
    """The API server, and a namespace in which workflows may run."""

    api: Api
    kubectl: Kubectl

    async def start(self, spec: dict[str, Any]) -> str:
        """Create a Workflow and return its name."""
        name = f"bench-{secrets.token_hex(3)}"
        await self.api.create(WORKFLOWS, NAMESPACE, workflow(name, spec))
        return name

    async def start_bare_pod(self, image: str, *command: str, token: bool = False) -> str:
        """Create a pod that runs a command and nothing of Torpor, and return its name.

        With `token` it has the volume that Kubernetes adds to a pod by default: the token of its ServiceAccount.
        """
        name = f"bare-{secrets.token_hex(4)}"
        await self.api.create(PODS, NAMESPACE, _bare_pod(name, image, command, token=token))
        return name

    async def pod_succeeded(self, name: str) -> None:
        """Return once the pod has succeeded."""

        async def succeeded() -> bool:
            phase: str = (await self.api.get(PODS, NAMESPACE, name))["status"].get("phase", "")
            return phase == "Succeeded"

        await until(succeeded, _POD_LIMIT, every=_POLL)

    async def ended(self, name: str, *, limit: float = _LIMIT) -> Workflow:
        """Wait for the success of a Workflow and return it. Raises SystemExit if it fails."""
        async with asyncio.timeout(limit):
            run = await self._ended(name)
        if run.status.state != "Succeeded":
            raise SystemExit(f"{name}: {run.status.conditions}")
        return run

    async def run(self, spec: dict[str, Any]) -> Workflow:
        """Run a Workflow to its end. Raises SystemExit if it fails."""
        return await self.ended(await self.start(spec))

    async def remove(self, run: Workflow) -> None:
        """Delete a Workflow and its dependents."""
        await self.api.delete(WORKFLOWS, NAMESPACE, run.metadata.name)

    async def _ended(self, name: str) -> Workflow:
        while True:
            run = parse(await self.api.get(WORKFLOWS, NAMESPACE, name))
            if run.status.completion_time is not None:
                return run
            await asyncio.sleep(1)


@asynccontextmanager
async def bench_cluster(images: list[Image]) -> AsyncIterator[BenchCluster]:
    """Open a cluster with Torpor and these images."""
    kubectl = await asyncio.to_thread(install, images)
    await asyncio.to_thread(prepare, kubectl, NAMESPACE)
    async with connect(str(kubectl.kubeconfig), program="torpor-bench") as transport:
        yield BenchCluster(api=Api(transport, SystemClock()), kubectl=kubectl)


def _bare_pod(name: str, image: str, command: Sequence[str], *, token: bool) -> dict[str, Any]:
    security = {"runAsUser": 65532, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": token,
            "enableServiceLinks": False,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "main", "image": image, "command": list(command), "securityContext": security}],
        },
    }
