"""The cluster of the benches: the demo's cluster with a namespace for one Workflow at a time."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from torpor_crds.models import workflow
from torpor_crds.models.workflow import Workflow
from torpor_demo.images import Image
from torpor_demo.install import install, prepare
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_kubernetes.timing import SystemClock
from torpor_wire import constants

NAMESPACE = "torpor-bench"
_LIMIT = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCluster:
    """The API server, and a namespace in which workflows may run."""

    api: Api
    kubectl: Kubectl

    async def start(self, spec: dict[str, Any]) -> str:
        """Create a Workflow and return its name."""
        name = f"bench-{secrets.token_hex(3)}"
        metadata = {"name": name, "namespace": NAMESPACE}
        body = {"apiVersion": constants.API_VERSION, "kind": "Workflow", "metadata": metadata, "spec": spec}
        await self.api.create(WORKFLOWS, NAMESPACE, body)
        return name

    async def ended(self, name: str, *, limit: float = _LIMIT) -> Workflow:
        """Wait for the success of a Workflow and return it. Raises SystemExit if it fails."""
        async with asyncio.timeout(limit):
            found = await self._ended(name)
        if found.status.state != "Succeeded":
            raise SystemExit(f"{name}: {found.status.conditions}")
        return found

    async def run(self, spec: dict[str, Any]) -> Workflow:
        """Run a Workflow to its end. Raises SystemExit if it fails."""
        return await self.ended(await self.start(spec))

    async def remove(self, found: Workflow) -> None:
        """Delete a Workflow and its dependents."""
        await self.api.delete(WORKFLOWS, NAMESPACE, found.metadata.name)

    async def _ended(self, name: str) -> Workflow:
        while True:
            found = workflow.parse(await self.api.get(WORKFLOWS, NAMESPACE, name))
            if found.status.completion_time is not None:
                return found
            await asyncio.sleep(1)


@asynccontextmanager
async def bench_cluster(images: list[Image]) -> AsyncIterator[BenchCluster]:
    """Open a cluster with Torpor and these images."""
    kubectl = await asyncio.to_thread(install, images)
    await asyncio.to_thread(prepare, kubectl, NAMESPACE)
    async with connect(str(kubectl.kubeconfig), program="torpor-bench") as transport:
        yield BenchCluster(api=Api(transport, SystemClock()), kubectl=kubectl)
