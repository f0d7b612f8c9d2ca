"""The control plane of the schedules bench, with the shipped operator and two triggerers as processes.

No task of the runs has a pod.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS
from torpor_wire.enums import MissedRun

from benchmarks.harness import processes, usage
from benchmarks.harness.control_plane import NAMESPACE, ControlPlane, open_plane
from benchmarks.harness.processes import LOOPBACK, ChildProcess
from benchmarks.harness.waiting import Object, until
from tests.support.manifests import manifest

OPERATOR, TRIGGERERS, SERVERS = "operator", "triggerers", "servers"
RUN = {"image": "bench", "tasks": [{"name": "only", "python": "bench:step", "when": "false"}]}
"""The cheapest run: its only task is skipped."""
FOREVER = {"succeeded": 1000, "failed": 1000}
NO_HISTORY = {"succeeded": 0, "failed": 0}
_LIMIT = 180.0
_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSizes:
    """Counts, seconds of idleness, and `missed.run` of the Schedules whose lateness is measured.

    The goals are for 1,000 Schedules, 10 minutes, 2,000 events and 10 kills.
    """

    schedules: int = 100
    minutes: int = 2
    idle: float = 60.0
    events: int = 300
    kills: int = 3
    runs: int = 50
    flood: int = 10
    missed: str = MissedRun.ALL.value


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSystem:
    """A control plane, the operator, and the triggerers."""

    plane: ControlPlane
    operator: ChildProcess
    triggerers: Sequence[ChildProcess] = field(default_factory=list)

    def cpu(self) -> dict[str, float]:
        """Seconds of processor time so far."""
        return {
            OPERATOR: self.operator.cpu(),
            TRIGGERERS: sum(each.cpu() for each in self.triggerers),
            SERVERS: sum(map(usage.cpu, self.plane.servers.values())),
        }

    async def create(self, bodies: Sequence[Object]) -> list[Object]:
        """Create Schedules."""
        limit = asyncio.Semaphore(_AT_ONCE)

        async def create(body: Object) -> Object:
            async with limit:
                return await self.plane.api.create(SCHEDULES, NAMESPACE, body)

        return await asyncio.gather(*map(create, bodies))

    async def armed(self, count: int) -> None:
        """Return once so many sources wait, or have fired."""

        async def enough() -> bool:
            return await self._armed() >= count

        await until(enough, _LIMIT + count, every=1)

    async def remove(self) -> None:
        """Delete all Schedules, and return once they and their sources are gone."""
        for body in (await self.plane.api.list(SCHEDULES, NAMESPACE)).items:
            await self.plane.api.delete(SCHEDULES, NAMESPACE, body["metadata"]["name"])
        await until(self._gone, _LIMIT * 4, every=1)

    async def _armed(self) -> int:
        statuses = [body.get("status", {}) for body in (await self.plane.api.list(TASKRUNS, NAMESPACE)).items]
        return sum(status.get("state") == "Deferred" or status.get("segment", 0) > 0 for status in statuses)

    async def _gone(self) -> bool:
        schedules = await self.plane.api.list(SCHEDULES, NAMESPACE)
        return not (schedules.items or (await self.plane.api.list(TASKRUNS, NAMESPACE)).items)


@asynccontextmanager
async def open_system(logs: Path | None, profile: Path | None = None) -> AsyncIterator[ScheduleSystem]:
    """A new control plane with everything running; it is removed at the end. `profile`: file for cProfile's figures."""
    async with open_plane(nodes=0, logs=logs) as plane:
        sampler = ("cProfile", "-o", str(profile), "-m") if profile else ()
        operator = processes.operator(plane, sampler=sampler)
        triggerers = [processes.triggerer(plane, *LOOPBACK, name=f"triggerer-r{number}") for number in range(2)]
        async with processes.running(operator, *triggerers):
            for process in (operator, *triggerers):
                await process.ready()
            await processes.leads(plane)
            yield ScheduleSystem(plane=plane, operator=operator, triggerers=triggerers)


def schedule(name: str, source: Object, **spec: Any) -> Object:
    """A Schedule of the cheapest run. Finished runs are deleted, unless the spec says otherwise."""
    return manifest(
        "Schedule",
        name,
        {
            "sources": [{"name": "it", **source}],
            "workflow": RUN,
            "concurrencyPolicy": "Allow",
            "history": NO_HISTORY,
            "missed": {"run": "All"},
            **spec,
        },
        namespace=NAMESPACE,
    )
