"""Measures a load, a fan-out with small runs beside it, and bare pods as the lower bound."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS

from benchmarks.harness.control_plane import NAMESPACE, open_plane
from benchmarks.harness.metering import MeteredSpan, TaskCosts
from benchmarks.harness.processes import Processes, start_nodes, start_operator
from benchmarks.harness.runs import WatchedRuns, warm, watch_runs
from benchmarks.workflow import loads, small_runs
from benchmarks.workflow.loads import RunLoad

_KEY = "/registry/torpor.dev/workflows"
_ALONE = 10
_CREATORS = 16
_SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


async def floor(count: int) -> TaskCosts:
    """Bare pods with one container from a plain client, from the first request until the last has succeeded."""
    async with open_plane() as plane, start_nodes(plane) as processes, watch_runs(plane.api, PODS, _phase) as pods:
        span, names = MeteredSpan.begin(processes), [f"bare-{number}" for number in range(count)]
        async with asyncio.TaskGroup() as group:
            limit = asyncio.Semaphore(_CREATORS)
            for name in names:
                group.create_task(_create(plane.api, limit, _bare_pod(name)))
        wall = await pods.end(*names) - span.began
        return TaskCosts(name=f"floor of {count}", tasks=count, wall=wall, cpu=span.cpu())


async def measure(load: RunLoad, *flags: str, rest: float = 0.0) -> TaskCosts:
    """From the first request until the last run of the load has succeeded, and so many seconds after it.

    `flags` are for the operator.
    """
    async with _torpor(load, *flags) as (processes, runs):
        return await _measured(processes, runs, load, rest)


async def fan_out_beside(count: int) -> TaskCosts:
    """A fan-out with small runs beside it, and some before."""
    load = loads.fan_out(count)
    async with _torpor(load) as (processes, runs):
        alone = await small_runs.alone(runs, _ALONE)
        async with small_runs.beside(runs) as beside:
            taken = await _measured(processes, runs, load)
        small = {"alone": alone, "beside": beside}
        return replace(
            taken,
            to_pods={name: each.to_pods() for name, each in small.items()},
            to_ends={name: each.to_ends() for name, each in small.items()},
        )


@asynccontextmanager
async def _torpor(load: RunLoad, *flags: str) -> AsyncIterator[tuple[Processes, WatchedRuns]]:
    async with open_plane() as plane, start_operator(plane, *flags) as processes, watch_runs(plane.api) as runs:
        await warm(runs, loads.form_step("only", load.form))
        yield processes, runs


async def _measured(processes: Processes, runs: WatchedRuns, load: RunLoad, rest: float = 0.0) -> TaskCosts:
    before, span = processes.memory(), MeteredSpan.begin(processes)
    await loads.start(runs, load)
    wall = await runs.end(*load.runs) - span.began
    await asyncio.sleep(rest)
    cpu = span.cpu()
    stored = len(await processes.plane.etcd.read(f"{_KEY}/{NAMESPACE}/{next(iter(load.runs))}"))
    sizes = {"workflow": stored, "memory": (processes.memory() - before) / load.tasks}
    return TaskCosts(name=load.name, tasks=load.tasks, wall=wall, cpu=cpu, sizes=sizes)


async def _create(api: Api, limit: asyncio.Semaphore, body: dict[str, Any]) -> None:
    async with limit:
        await api.create(PODS, NAMESPACE, body)


def _bare_pod(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "bench", "securityContext": _SECURITY}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [container]},
    }


def _phase(body: dict[str, Any]) -> tuple[str, str]:
    phase = body.get("status", {}).get("phase", "")
    return body["metadata"]["name"], phase if phase in {"Succeeded", "Failed"} else ""
