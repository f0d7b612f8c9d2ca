"""The control plane of the scale bench, with two operators, two triggerers, and simulated nodes as processes.

Operators and triggerers start as in their pods, with the tokens of their service accounts.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from torpor_demo.install import SYSTEM, prepare
from torpor_demo.kubectl import Kubectl
from torpor_dev import kubectl
from torpor_kubernetes.client.resources import LEASES

from benchmarks.scale.operators import Operator
from benchmarks.scale.sizes import Sizes
from benchmarks.triggerer import plane as triggerer_plane
from benchmarks.triggerer import replica
from benchmarks.triggerer.replica import Replica, Replicas
from benchmarks.workflow import plane as workflow_plane
from benchmarks.workflow import processes
from benchmarks.workflow.plane import NAMESPACE, Plane
from benchmarks.workflow.processes import Processes
from tests.support.ports import free_port

OPERATOR, TRIGGERER = "torpor-operator", "torpor-triggerer"
_OPERATOR = ("benchmarks.attacks.pod", "torpor_operator")
_WORKER = "benchmarks.scale.worker"
_TOKEN_SECONDS = "21600s"
_PATIENCE = 300.0
_LOOK = 0.1
_CALM_WINDOW = 2.0
_CALM_CORES = 0.15
_CALM_WINDOWS = 2


@dataclass(slots=True, kw_only=True)
class System:
    """What runs. `operators` and `triggerers` are those that have not been ended, by name."""

    plane: Plane
    sizes: Sizes
    admin: Kubectl
    nodes: Mapping[str, int]
    replicas: Replicas
    profile: Path | None = None
    """Folder for samples of the operators' stacks."""
    ended: int = 0
    """Restarts of operators that have been ended since."""
    operators: dict[str, Operator] = field(default_factory=dict)
    triggerers: dict[str, Replica] = field(default_factory=dict)

    @property
    def namespaces(self) -> list[str]:
        """Those of the waits; the first is that of all other Workflows too."""
        return [NAMESPACE, *(f"{NAMESPACE}-{number}" for number in range(1, self.sizes.namespaces))]

    @property
    def restarts(self) -> int:
        """How often an operator has ended by itself, and was started again."""
        return self.ended + sum(one.restarts for one in self.operators.values())

    def cpu(self) -> dict[str, float]:
        """Seconds of processor time so far by name, with `machine`, as `Processes.cpu`."""
        triggerers = {name: one.pid for name, one in self.triggerers.items()}
        others = Processes(plane=self.plane, pids={**self.nodes, **triggerers}).cpu()
        return others | {name: one.cpu() for name, one in self.operators.items()}

    async def start_operator(self, identity: str) -> Operator:
        """Start a replica."""
        health = f"http://127.0.0.1:{free_port()}/healthz"
        found = Operator(
            identity,
            (*_OPERATOR, "--namespace", SYSTEM, "--identity", identity, "--liveness", health),
            _environ(self.plane),
            self.plane.state / f"{identity}.log",
            samples=self.profile and self.profile / f"{identity}.json",
        )
        await found.start()
        self.operators[identity] = found
        return found

    async def end_operator(self, identity: str, sign: signal.Signals = signal.SIGTERM) -> None:
        """End a replica; by SIGTERM, a leader releases the Lease."""
        one = self.operators.pop(identity)
        self.ended += one.restarts
        await one.end(sign)

    async def end_operators(self) -> None:
        """End all replicas."""
        for identity in list(self.operators):
            await self.end_operator(identity)

    async def start_triggerer(self, name: str) -> Replica:
        """Start a replica, and return when it owns shards."""
        self.triggerers[name] = await self.replicas.start()
        await self.triggerers[name].member()
        return self.triggerers[name]

    async def leader(self, *, without: str = "") -> Operator:
        """The replica that holds the Lease, once that is one of those that run and not `without`."""
        async with asyncio.timeout(_PATIENCE):
            while True:
                held = (await self.plane.api.list(LEASES, SYSTEM)).items
                holders = [one["spec"].get("holderIdentity") for one in held if one["metadata"]["name"] == OPERATOR]
                for holder in holders:
                    if holder != without and holder in self.operators:
                        return self.operators[holder]
                await asyncio.sleep(_LOOK)

    async def running_triggers(self) -> int:
        """Waits that run in all triggerers."""
        return sum([await one.running() for one in self.triggerers.values()])

    async def calm(self) -> None:
        """Return once API server, operators and triggerers have nothing to do for some seconds."""
        quiet = 0
        async with asyncio.timeout(_PATIENCE * 6):
            while quiet < _CALM_WINDOWS:
                before, began = self._cpu(), time.monotonic()
                await asyncio.sleep(_CALM_WINDOW)
                cores = (self._cpu() - before) / (time.monotonic() - began)
                quiet = quiet + 1 if cores < _CALM_CORES else 0

    def _cpu(self) -> float:
        used = self.cpu()
        return sum(used[name] for name in ("kube-apiserver", *self.operators, *self.triggerers))


async def until(holds: Callable[[], Awaitable[bool]], limit: float, *, every: float = _LOOK) -> None:
    """Return once it holds. Raises TimeoutError after so many seconds."""
    async with asyncio.timeout(limit):
        while not await holds():  # noqa: ASYNC110 - what is asked sends no notification
            await asyncio.sleep(every)


@asynccontextmanager
async def system(sizes: Sizes, logs: Path | None = None, profile: Path | None = None) -> AsyncIterator[System]:
    """A new control plane, with two operators and two triggerers; everything ends with it."""
    async with (
        workflow_plane.plane() as at,
        processes.nodes(at, worker=_WORKER) as nodes,
        replica.replicas(_as_triggerers_see(at, logs)) as replicas,
    ):
        admin = Kubectl(at.state / "kubeconfig", kubectl.ensure())
        found = System(plane=at, sizes=sizes, admin=admin, nodes=nodes.pids, replicas=replicas, profile=profile)
        await asyncio.to_thread(_prepared, admin, at, found.namespaces)
        try:
            for name in ("triggerer-a", "triggerer-b"):
                await found.start_triggerer(name)
            await start_operators(found)
            yield found
        finally:
            _kept(at, logs)
            for identity in list(found.operators):
                await found.end_operator(identity, signal.SIGKILL)


async def start_operators(on: System) -> None:
    """Start a leader, then a standby."""
    for identity in ("operator-a", "operator-b"):
        one = await on.start_operator(identity)
        await until(one.healthy, _PATIENCE)
        await on.leader()


def _as_triggerers_see(at: Plane, logs: Path | None) -> triggerer_plane.Plane:
    return triggerer_plane.Plane(
        api=at.api,
        etcd=at.etcd,
        kubectl=Kubectl(at.state / "kubeconfig", kubectl.ensure()),
        account=_account(at, TRIGGERER),
        port=int(at.server.rpartition(":")[2]),
        logs=logs or at.state,
        servers=tuple(at.servers.values()),
    )


def _prepared(admin: Kubectl, at: Plane, namespaces: Sequence[str]) -> None:
    for namespace in namespaces:
        prepare(admin, namespace)
    for name in (OPERATOR, TRIGGERER):
        folder = _account(at, name)
        folder.mkdir(parents=True)
        token = admin.run("create", "token", name, "-n", SYSTEM, f"--duration={_TOKEN_SECONDS}")
        (folder / "token").write_text(token.strip())
        (folder / "ca.crt").write_bytes((at.state / "pki/ca.crt").read_bytes())


def _account(at: Plane, name: str) -> Path:
    return at.state / "accounts" / name


def _environ(at: Plane) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"KUBECONFIG", "PYTHONPATH"}}
    return kept | {
        "TORPOR_BENCH_ACCOUNT": str(_account(at, OPERATOR)),
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": at.server.rpartition(":")[2],
        "PYTHONUNBUFFERED": "1",
    }


def _kept(at: Plane, logs: Path | None) -> None:
    if logs is not None:
        for log in at.state.glob("*.log"):
            (logs / log.name).write_bytes(log.read_bytes())
