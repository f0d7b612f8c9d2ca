"""A control plane for one measurement: API server, etcd and Torpor's kinds, roles and policies, without Torpor itself.

It has a state folder of its own and ends with the benchmark, even if that is killed.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM, prepare
from torpor_demo.kubectl import Kubectl
from torpor_dev import control_plane, daemon, kubectl
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.client.resources import NODES
from torpor_kubernetes.timing import SystemClock
from torpor_wire import constants

from benchmarks.harness import reaper
from benchmarks.harness.etcd import Etcd

NAMESPACE = "torpor-bench"
API_SERVER, ETCD = "kube-apiserver", "etcd"
_SERVERS = (ETCD, API_SERVER, "kube-controller-manager", "kube-scheduler")
_ACCOUNTS = ("operator", "triggerer", "archive")
_CAPACITY = {"cpu": "1000", "memory": "1Ti", "pods": "20000"}
_TOKEN_SECONDS = "21600s"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """`api` and `admin` act as the administrator; `servers` are its processes by name; `logs` is a folder."""

    api: Api
    etcd: Etcd
    admin: Kubectl
    state: Path
    logs: Path
    port: int
    servers: Mapping[str, int]

    @property
    def server(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self.port}"

    def account(self, program: str) -> Path:
        """A folder with `token` and `ca.crt` of the program's service account, as in its pod."""
        return self.state / "accounts" / program

    def token(self, account: str, *words: str, namespace: str = SYSTEM) -> str:
        """A token of a service account."""
        duration = f"--duration={_TOKEN_SECONDS}"
        return self.admin.run("create", "token", account, "-n", namespace, duration, *words).strip()


@contextmanager
def started(*, scheduler: bool = False, profiled: bool = False, feature_gates: str = "") -> Iterator[Path]:
    """The state folder of a control plane without anything of Torpor's."""
    with tempfile.TemporaryDirectory(prefix="torpor-bench-", ignore_cleanup_errors=True) as folder:
        state = Path(folder).resolve()
        with reaper.guard(state):
            try:
                control_plane.start(state, scheduler=scheduler, profiled=profiled, feature_gates=feature_gates)
                yield state
            finally:
                control_plane.stop(state)


@asynccontextmanager
async def open_plane(
    *, nodes: int = 10, profiled: bool = False, feature_gates: str = "", logs: Path | None = None
) -> AsyncIterator[ControlPlane]:
    """A control plane with simulated nodes, and with a scheduler if there are any. `logs`: a folder that stays."""
    with started(scheduler=nodes > 0, profiled=profiled, feature_gates=feature_gates) as state:
        ports = json.loads((state / "plan.json").read_text())["ports"]
        servers = {name: daemon.find(name, folder=state) for name in _SERVERS}
        admin = Kubectl(state / "kubeconfig", kubectl.ensure())
        async with (
            connect(str(admin.kubeconfig), program="torpor-bench") as transport,
            aiohttp.ClientSession() as session,
        ):
            plane = ControlPlane(
                api=Api(transport, SystemClock()),
                etcd=Etcd(session, f"http://127.0.0.1:{ports['etcd']}"),
                admin=admin,
                state=state,
                logs=logs or state,
                port=ports["api"],
                servers={name: process.pid for name, process in servers.items() if process is not None},
            )
            await asyncio.to_thread(_install, plane)
            for number in range(nodes):
                await _join(plane.api, f"node-{number}")
            yield plane


def _install(plane: ControlPlane) -> None:
    # Deployments are objects here as any others: no controller makes pods of them.
    plane.admin.run("apply", "--server-side", "-f", ROOT / "manifests/install.yaml")
    prepare(plane.admin, NAMESPACE)
    plane.admin.run("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s", limit=90)
    for program in _ACCOUNTS:
        folder = plane.account(program)
        folder.mkdir(parents=True)
        (folder / "token").write_text(plane.token(f"torpor-{program}"))
        (folder / "ca.crt").write_bytes((plane.state / "pki/ca.crt").read_bytes())
    known = plane.token("torpor-operator", f"--audience={constants.ARCHIVE_AUDIENCE}")
    (plane.account("operator") / "archive-token").write_text(known)


async def _join(api: Api, name: str) -> None:
    """A node is born with a taint that a controller takes off once it is ready; here runs none that would."""
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    await api.create(NODES, None, body | {"status": {"capacity": _CAPACITY, "allocatable": _CAPACITY}})
    await api.patch(NODES, None, name, [{"op": "remove", "path": "/spec/taints"}])
