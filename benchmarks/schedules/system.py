"""The control plane of the schedules bench, with the shipped operator and two triggerers as processes.

A process that is killed starts again under its own name, as a container does. No task of the runs has a pod.
"""

import asyncio
import os
import signal
import socket
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM, prepare
from torpor_demo.kubectl import Kubectl
from torpor_dev import kubectl
from torpor_kubernetes.client.resources import LEASES, SCHEDULES, TASKRUNS
from torpor_wire import constants

from benchmarks.triggerer import plane as planes
from benchmarks.triggerer import usage
from benchmarks.triggerer.plane import NAMESPACE, Plane
from benchmarks.workflow.plane import kubeconfig

OPERATOR, TRIGGERERS, SERVERS = "operator", "triggerers", "servers"
RUN = {"image": "bench", "tasks": [{"name": "only", "python": "bench:step", "when": "false"}]}
"""The cheapest run: its only task is skipped."""
FOREVER = {"succeeded": 1000, "failed": 1000}
NO_HISTORY = {"succeeded": 0, "failed": 0}
Object = dict[str, Any]
_CRDS = ("crd/schedules.torpor.dev", "crd/workflowtemplates.torpor.dev")
_LIMIT = 180.0
_LOOK = 0.2
_STOP_LIMIT = 30.0
_AT_ONCE = 8
_LEASE = "torpor-operator"


@dataclass(slots=True, kw_only=True)
class Process:
    """A process of the bench that can be killed and started again."""

    words: Sequence[str]
    environ: Mapping[str, str]
    log: Path
    profile: Path | None = None
    health: str = ""
    spent: float = 0.0
    """Processor seconds of its former lives."""
    _running: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Of its present life."""
        assert self._running is not None
        return self._running.pid

    async def start(self) -> None:
        """Start it, and wait until it is healthy."""
        profiler = ("-m", "cProfile", "-o", str(self.profile)) if self.profile else ()
        with self.log.open("a") as output:
            self._running = await asyncio.create_subprocess_exec(
                *(sys.executable, *profiler, *self.words), stdout=output, stderr=output, env=self.environ, cwd=ROOT
            )
        async with asyncio.timeout(_LIMIT):
            while not await asyncio.to_thread(self._is_healthy):
                if self._running.returncode is not None:
                    raise SystemExit("\n".join([f"{self.words[1]} ended:", *self.log.read_text().splitlines()[-20:]]))
                await asyncio.sleep(_LOOK)

    def cpu(self) -> float:
        """Seconds of processor time so far, of its children and former lives too."""
        return self.spent + usage.tree(self.pid)

    async def end(self, sign: signal.Signals = signal.SIGKILL) -> None:
        """End it."""
        if self._running is None:
            return
        if self._running.returncode is None:
            self.spent += usage.tree(self.pid)
            self._running.send_signal(sign)
        try:
            async with asyncio.timeout(_STOP_LIMIT):
                await self._running.wait()
        except TimeoutError:
            self._running.kill()
            await self._running.wait()

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(self.health, timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A control plane, the operator, and the triggerers."""

    plane: Plane
    operator: Process
    triggerers: Sequence[Process] = field(default_factory=list)

    def cpu(self) -> dict[str, float]:
        """Seconds of processor time so far."""
        return {
            OPERATOR: self.operator.cpu(),
            TRIGGERERS: sum(each.cpu() for each in self.triggerers),
            SERVERS: sum(map(usage.cpu, self.plane.servers)),
        }

    async def create(self, bodies: Sequence[Object]) -> list[Object]:
        """Create Schedules."""
        limit = asyncio.Semaphore(_AT_ONCE)

        async def one(body: Object) -> Object:
            async with limit:
                return await self.plane.api.create(SCHEDULES, NAMESPACE, body)

        return await asyncio.gather(*map(one, bodies))

    async def armed(self, count: int) -> None:
        """Return once so many sources wait, or have fired."""
        async with asyncio.timeout(_LIMIT + count):
            while await self._armed() < count:  # noqa: ASYNC110 - a list sends no notification
                await asyncio.sleep(1)

    async def remove(self) -> None:
        """Delete all Schedules, and return once they and their sources are gone."""
        for body in (await self.plane.api.list(SCHEDULES, NAMESPACE)).items:
            await self.plane.api.delete(SCHEDULES, NAMESPACE, body["metadata"]["name"])
        async with asyncio.timeout(_LIMIT * 4):
            while await self._left():  # noqa: ASYNC110 - a list sends no notification
                await asyncio.sleep(1)

    async def _armed(self) -> int:
        found = [one.get("status", {}) for one in (await self.plane.api.list(TASKRUNS, NAMESPACE)).items]
        return sum(one.get("state") == "Deferred" or one.get("segment", 0) > 0 for one in found)

    async def _left(self) -> bool:
        schedules = await self.plane.api.list(SCHEDULES, NAMESPACE)
        return bool(schedules.items or (await self.plane.api.list(TASKRUNS, NAMESPACE)).items)


@asynccontextmanager
async def system(logs: Path | None, profile: Path | None = None, *, replicas: int = 2) -> AsyncIterator[System]:
    """A new control plane with everything running; it is removed at the end. `profile`: file for cProfile's figures."""
    with tempfile.TemporaryDirectory(prefix="torpor-schedules-") as name:
        folder = logs or Path(name)
        async with planes.plane(folder) as at:
            admin = Kubectl(at.account.parent / "kubeconfig", kubectl.ensure())
            prepare(admin, NAMESPACE)
            admin.run("wait", "--for=condition=Established", *_CRDS, "--timeout=60s", limit=90)
            config = kubeconfig(admin, at.account.parent / "operator.kubeconfig", "torpor-operator")
            operator = _operator(config, folder, profile)
            triggerers = [_triggerer(at, folder, f"r{number}") for number in range(replicas)]
            try:
                for process in (operator, *triggerers):
                    await process.start()
                await _leads(at)
                yield System(plane=at, operator=operator, triggerers=triggerers)
            finally:
                await operator.end(signal.SIGTERM if profile else signal.SIGKILL)
                for process in triggerers:
                    await process.end()


def schedule(name: str, source: Object, **spec: Any) -> Object:
    """A Schedule of the cheapest run. Finished runs are deleted, unless the spec says otherwise."""
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Schedule",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "sources": [{"name": "it", **source}],
            "workflow": RUN,
            "concurrencyPolicy": "Allow",
            "history": NO_HISTORY,
            "missed": {"run": "All"},
            **spec,
        },
    }


def _operator(config: Path, folder: Path, profile: Path | None) -> Process:
    health = f"http://127.0.0.1:{_free_port()}/healthz"
    return Process(
        words=("-m", "torpor_operator", "--liveness", health, "--identity", "bench", "--namespace", SYSTEM),
        environ=_environ() | {"KUBECONFIG": str(config)},
        log=folder / "operator.log",
        profile=profile,
        health=health,
    )


def _triggerer(at: Plane, folder: Path, identity: str) -> Process:
    port = _free_port()
    flags = ("--identity", identity, "--health-port", str(port), "--allow-networks", "127.0.0.1/32")
    return Process(
        words=("-m", "benchmarks.triggerer.pod", *flags),
        environ=_environ()
        | {
            "TORPOR_BENCH_ACCOUNT": str(at.account),
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(at.port),
        },
        log=folder / f"triggerer-{identity}.log",
        health=f"http://127.0.0.1:{port}/healthz",
    )


def _environ() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"KUBECONFIG", "PYTHONPATH"}}
    return kept | {"PYTHONUNBUFFERED": "1"}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
    return port


async def _leads(at: Plane) -> None:
    async with asyncio.timeout(_LIMIT):
        while True:
            held = (await at.api.list(LEASES, SYSTEM)).items
            if any(one["metadata"]["name"] == _LEASE and one["spec"].get("holderIdentity") for one in held):
                return
            await asyncio.sleep(_LOOK)
