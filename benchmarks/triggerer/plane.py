"""Where the triggerer's bench runs: a control plane with Torpor's kinds, roles and policies, and no operator.

It is the one of `make control-plane` under another folder, so that tests beside it are neither disturbed nor counted.
"""

import asyncio
import json
import re
import ssl
import time
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM
from torpor_demo.kubectl import Kubectl
from torpor_dev import daemon, kubectl
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_kubernetes.timing import SystemClock

from benchmarks import temporary_plane
from benchmarks.triggerer import usage
from benchmarks.triggerer.etcd import Etcd

NAMESPACE = "torpor-bench"
_TOKEN_SECONDS = "7200s"
_SERVERS = ("etcd", "kube-apiserver", "kube-controller-manager")
_LOOK = 0.5
_CALM = 0.3
_LISTS = re.compile(r'^apiserver_request_total\{[^}]*resource="taskruns"[^}]*verb="LIST"[^}]*\} (\S+)$', re.MULTILINE)
_CRDS = ("crd/workflows.torpor.dev", "crd/taskruns.torpor.dev")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """A running control plane: as its administrator, as its etcd, and as what the triggerer's pod would find in it."""

    api: Api
    etcd: Etcd
    kubectl: Kubectl
    account: Path
    """A folder with `token` and `ca.crt`, as in a pod."""
    port: int
    logs: Path
    """Where the triggerers' logs go."""
    servers: tuple[int, ...]
    """The processes that are the control plane."""

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self.port}"

    def tls(self) -> ssl.SSLContext:
        """What trusts it."""
        return ssl.create_default_context(cafile=str(self.account / "ca.crt"))

    async def calm(self) -> None:
        """Return once the servers have taken in what was put into etcd: until then they answer late."""
        before, busy = self._cpu(), True
        while busy:
            await asyncio.sleep(_LOOK)
            now = self._cpu()
            before, busy = now, now - before > _CALM * _LOOK or await self._read() > _CALM

    async def lists(self) -> int:
        """How many requests have listed TaskRuns so far."""
        text = await asyncio.to_thread(self.kubectl.run, "get", "--raw", "/metrics")
        counts = (float(count) for count in _LISTS.findall(text))
        return round(sum(counts))

    async def _read(self) -> float:
        """Seconds until the first page of a list is there: the API server waits until it is up to date with etcd."""
        began = time.monotonic()
        async with aclosing(self.api.pages(TASKRUNS, NAMESPACE, limit=1)) as pages:
            await anext(pages)
        return time.monotonic() - began

    def _cpu(self) -> float:
        return sum(map(usage.cpu, self.servers))


@asynccontextmanager
async def plane(logs: Path | None = None) -> AsyncIterator[Plane]:
    """A new control plane; it is ended and forgotten at the end, and so are the logs, unless they have a folder."""
    with temporary_plane.started() as state:
        plan = json.loads((state / "plan.json").read_text())
        at = Kubectl(state / "kubeconfig", kubectl.ensure())
        await asyncio.to_thread(_install, at)
        (state / "account").mkdir()
        await asyncio.to_thread(_account, at, state / "account")
        found = (daemon.find(name, folder=state) for name in _SERVERS)
        async with connect(str(at.kubeconfig), program="torpor-bench") as transport, aiohttp.ClientSession() as session:
            yield Plane(
                api=Api(transport, SystemClock()),
                etcd=Etcd(session, f"http://127.0.0.1:{plan['ports']['etcd']}"),
                kubectl=at,
                account=state / "account",
                port=plan["ports"]["api"],
                logs=logs or state,
                servers=tuple(process.pid for process in found if process is not None),
            )


def _install(at: Kubectl) -> None:
    # Deployments are objects here as any others: no controller makes pods of them.
    at.run("apply", "--server-side", "-f", ROOT / "manifests/install.yaml")
    at.run("create", "namespace", NAMESPACE)
    at.run("wait", "--for=condition=Established", *_CRDS, "--timeout=60s", limit=90)


def _account(at: Kubectl, folder: Path) -> None:
    token = at.run("create", "token", "torpor-triggerer", "-n", SYSTEM, f"--duration={_TOKEN_SECONDS}")
    (folder / "token").write_text(token)
    (folder / "ca.crt").write_text(_authority(at.kubeconfig))


def _authority(kubeconfig: Path) -> str:
    config: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())
    (cluster,) = config["clusters"]
    return b64decode(cluster["cluster"]["certificate-authority-data"]).decode()
