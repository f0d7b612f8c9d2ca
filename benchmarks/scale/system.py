"""The control plane of the scale bench, with two operators, two triggerers, and simulated nodes as processes."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from torpor_demo.install import prepare

from benchmarks.harness import processes
from benchmarks.harness.control_plane import NAMESPACE, ControlPlane, open_plane
from benchmarks.harness.processes import ChildProcess, Processes, start_nodes
from benchmarks.harness.waiting import until
from benchmarks.triggerer.replicas import TriggererReplica, TriggererReplicas, open_replicas

_WORKER = "benchmarks.scale.worker"
_LIMIT = 300.0
_CALM_WINDOW = 2.0
_CALM_CORES = 0.15
_CALM_WINDOWS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleSizes:
    """Counts, and seconds of the measurement at rest."""

    waits: int = 50_000
    """Waiting TaskRuns: half of them triggers without a pod, half of them python tasks that deferred."""
    workflows: int = 50
    """Workflows that these belong to."""
    namespaces: int = 5
    instances: int = 10_000
    """Instances of one more Workflow, which the operator creates and defers."""
    tasks: int = 500
    """Python tasks of the fan-outs before and beside all of this."""
    fires: int = 2_000
    """Waits that fire."""
    duration: str = "20s"
    """After which these fire."""
    rest: float = 60.0

    @property
    def each(self) -> int:
        """TaskRuns of one Workflow."""
        return self.waits // self.workflows

    @property
    def all_waits(self) -> int:
        """Waiting TaskRuns, with the instances of the large Workflow."""
        return self.each * self.workflows + self.instances


@dataclass(slots=True, kw_only=True)
class ScaleSystem:
    """What runs. `operators` and `triggerers` are those that have not been ended, by name."""

    plane: ControlPlane
    sizes: ScaleSizes
    nodes: Processes
    replicas: TriggererReplicas
    profile: Path | None = None
    """Folder for samples of the operators' stacks."""
    flags: tuple[str, ...] = ()
    """Of the operators that are started from now on."""
    ended: int = 0
    """Restarts of operators that have been ended since."""
    operators: dict[str, ChildProcess] = field(default_factory=dict)
    triggerers: dict[str, TriggererReplica] = field(default_factory=dict)

    @property
    def namespaces(self) -> list[str]:
        """Those of the waits; the first is that of all other Workflows too."""
        return [NAMESPACE, *(f"{NAMESPACE}-{number}" for number in range(1, self.sizes.namespaces))]

    @property
    def restarts(self) -> int:
        """How often an operator has ended by itself, and was started again."""
        return self.ended + sum(operator.restarts for operator in self.operators.values())

    def cpu(self) -> dict[str, float]:
        """Seconds of processor time so far by name, with `machine`, as `Processes.cpu`."""
        triggerers = {name: replica.process for name, replica in self.triggerers.items()}
        return Processes(plane=self.plane, children={**self.nodes.children, **triggerers, **self.operators}).cpu()

    async def start_operator(self, identity: str) -> ChildProcess:
        """Start a replica."""
        sampler = ("benchmarks.profile.sampled", str(self.profile / f"{identity}.json")) if self.profile else ()
        process = processes.operator(self.plane, *self.flags, name=identity, sampler=sampler, kept=True)
        await process.start()
        self.operators[identity] = process
        return process

    async def end_operator(self, identity: str, sign: signal.Signals = signal.SIGTERM) -> None:
        """End a replica; by SIGTERM, a leader releases the Lease."""
        operator = self.operators.pop(identity)
        self.ended += operator.restarts
        await operator.end(sign)

    async def end_operators(self) -> None:
        """End all replicas."""
        for identity in list(self.operators):
            await self.end_operator(identity)

    async def start_triggerer(self, name: str) -> TriggererReplica:
        """Start a replica, and return when it owns shards."""
        self.triggerers[name] = await self.replicas.start()
        await self.triggerers[name].member()
        return self.triggerers[name]

    async def leader(self, *, without: str = "") -> ChildProcess:
        """The replica that holds the Lease, once that is one of those that run and not `without`."""
        holder = ""

        async def leads() -> bool:
            nonlocal holder
            holder = await processes.holder(self.plane)
            return holder != without and holder in self.operators

        await until(leads, _LIMIT)
        return self.operators[holder]

    async def running_triggers(self) -> int:
        """Waits that run in all triggerers."""
        return sum([await replica.running() for replica in self.triggerers.values()])

    async def calm(self) -> None:
        """Return once API server, operators and triggerers have nothing to do for some seconds."""
        quiet = 0
        async with asyncio.timeout(_LIMIT * 6):
            while quiet < _CALM_WINDOWS:
                before, began = self._cpu(), time.monotonic()
                await asyncio.sleep(_CALM_WINDOW)
                cores = (self._cpu() - before) / (time.monotonic() - began)
                quiet = quiet + 1 if cores < _CALM_CORES else 0

    def _cpu(self) -> float:
        used = self.cpu()
        return sum(used[name] for name in ("kube-apiserver", *self.operators, *self.triggerers))


@asynccontextmanager
async def open_system(sizes: ScaleSizes, logs: Path | None, profile: Path | None) -> AsyncIterator[ScaleSystem]:
    """A new control plane, with two operators and two triggerers; everything ends with it."""
    async with (
        open_plane(logs=logs) as plane,
        start_nodes(plane, worker=_WORKER) as nodes,
        open_replicas(plane) as replicas,
    ):
        system = ScaleSystem(plane=plane, sizes=sizes, nodes=nodes, replicas=replicas, profile=profile)
        for namespace in system.namespaces:
            await asyncio.to_thread(prepare, plane.admin, namespace)
        try:
            for name in ("triggerer-a", "triggerer-b"):
                await system.start_triggerer(name)
            await start_operators(system)
            yield system
        finally:
            for identity in list(system.operators):
                await system.end_operator(identity, signal.SIGKILL)


async def start_operators(on: ScaleSystem) -> None:
    """Start a leader, then a standby."""
    for identity in ("operator-a", "operator-b"):
        await (await on.start_operator(identity)).ready()
        await on.leader()
