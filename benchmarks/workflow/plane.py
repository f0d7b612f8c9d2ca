"""The control plane of the workflow bench: API server, scheduler, simulated nodes and Torpor's CRDs.

Each row has a new one, so that no row inherits another's data in etcd.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM, prepare
from torpor_demo.kubectl import Kubectl
from torpor_dev import daemon, kubectl
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.client.resources import Resource
from torpor_kubernetes.timing import SystemClock

from benchmarks import temporary_plane
from benchmarks.triggerer.etcd import Etcd

NAMESPACE = "torpor-bench"
NODE_COUNT = 10
_NODES = Resource(group="", version="v1", plural="nodes", kind="Node", namespaced=False)
_SERVERS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_CRDS = ("crd/workflows.torpor.dev", "crd/taskruns.torpor.dev")
_ROOM = {"cpu": "1000", "memory": "1Ti", "pods": "20000"}
_TOKEN_SECONDS = "7200s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """A running control plane, as its administrator, as its etcd, and as the operator finds it."""

    api: Api
    etcd: Etcd
    state: Path
    operator: Path
    """A kubeconfig with the token of the operator's service account."""
    server: str
    """The API server's address."""
    servers: dict[str, int]
    """The processes that are the control plane, by name."""


@asynccontextmanager
async def plane(*, profiled: bool = False) -> AsyncIterator[Plane]:
    """A new control plane with nodes and Torpor's kinds, roles and policies; it is ended and forgotten at the end."""
    with temporary_plane.started(scheduler=True, profiled=profiled) as state:
        at = Kubectl(state / "kubeconfig", kubectl.ensure())
        await asyncio.to_thread(_install, at)
        found = {name: daemon.find(name, folder=state) for name in _SERVERS}
        plan = json.loads((state / "plan.json").read_text())
        async with connect(str(at.kubeconfig), program="torpor-bench") as transport, aiohttp.ClientSession() as session:
            api = Api(transport, SystemClock())
            for number in range(NODE_COUNT):
                await _join(api, f"node-{number}")
            yield Plane(
                api=api,
                etcd=Etcd(session, f"http://127.0.0.1:{plan['ports']['etcd']}"),
                state=state,
                server=f"https://127.0.0.1:{plan['ports']['api']}",
                operator=kubeconfig(at, state / "operator.kubeconfig", "torpor-operator"),
                servers={name: one.pid for name, one in found.items() if one is not None},
            )


def _install(at: Kubectl) -> None:
    # Deployments are objects here as any others: no controller makes pods of them.
    at.run("apply", "--server-side", "-f", ROOT / "manifests/install.yaml")
    prepare(at, NAMESPACE)
    at.run("wait", "--for=condition=Established", *_CRDS, "--timeout=60s", limit=90)


async def _join(api: Api, name: str) -> None:
    """A node is born with a taint that a controller takes off once it is ready; here runs none that would."""
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    await api.create(_NODES, None, body | {"status": {"capacity": _ROOM, "allocatable": _ROOM}})
    await api.patch(_NODES, None, name, [{"op": "remove", "path": "/spec/taints"}])


def kubeconfig(at: Kubectl, path: Path, account: str) -> Path:
    """Write a kubeconfig with a token of a service account of Torpor's own."""
    token = at.run("create", "token", account, "-n", SYSTEM, f"--duration={_TOKEN_SECONDS}").strip()
    config = json.loads(at.run("config", "view", "--raw", "-o", "json"))
    config["users"] = [{"name": one["name"], "user": {"token": token}} for one in config["users"]]
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return path
