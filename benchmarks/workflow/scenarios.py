"""What is measured: a fan-out, a chain, many workflows with one step, and bare pods as the lower bound."""

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
from benchmarks.harness.runs import WatchedRuns, mapped, step, warm, watch_runs
from benchmarks.harness.waiting import Object
from benchmarks.workflow import small_runs

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


async def fan_out(count: int) -> TaskCosts:
    """A mapped task with `count` instances."""
    async with _torpor() as (processes, runs):
        return await _fan_out(processes, runs, count)


async def fan_out_beside(count: int) -> TaskCosts:
    """The same with small runs beside it, and some before."""
    async with _torpor() as (processes, runs):
        alone = await small_runs.alone(runs, _ALONE)
        async with small_runs.beside(runs) as beside:
            taken = await _fan_out(processes, runs, count)
        small = {"alone": alone, "beside": beside}
        return replace(
            taken,
            to_pods={name: each.to_pods() for name, each in small.items()},
            to_ends={name: each.to_ends() for name, each in small.items()},
        )


async def chain(length: int) -> TaskCosts:
    """A chain of steps."""
    tasks = [step(f"s{number}", after=[f"s{number - 1}"] if number else []) for number in range(length)]
    return await _several(f"chain of {length}", [tasks])


async def many(count: int) -> TaskCosts:
    """`count` Workflows with one step, created at once."""
    return await _several(f"{count} workflows", [[step("only")]] * count)


@asynccontextmanager
async def _torpor() -> AsyncIterator[tuple[Processes, WatchedRuns]]:
    async with open_plane() as plane, start_operator(plane) as processes, watch_runs(plane.api) as runs:
        await warm(runs)
        yield processes, runs


async def _fan_out(processes: Processes, runs: WatchedRuns, count: int) -> TaskCosts:
    before, span = processes.memory(), MeteredSpan.begin(processes)
    await runs.start("fan", [mapped(count)], parallelism=count, maxMapSize=count)
    wall = await runs.end("fan") - span.began
    cpu = span.cpu()
    stored = len(await processes.plane.etcd.read(f"{_KEY}/{NAMESPACE}/fan"))
    sizes = {"workflow": stored, "memory": (processes.memory() - before) / count}
    return TaskCosts(name=f"fan-out of {count}", tasks=count, wall=wall, cpu=cpu, sizes=sizes)


async def _several(name: str, graphs: list[list[Object]]) -> TaskCosts:
    async with _torpor() as (processes, runs):
        span = MeteredSpan.begin(processes)
        graph_by_name = {f"run-{number}": tasks for number, tasks in enumerate(graphs)}
        await asyncio.gather(*(runs.start(run, tasks) for run, tasks in graph_by_name.items()))
        wall = await runs.end(*graph_by_name) - span.began
        return TaskCosts(name=name, tasks=sum(map(len, graphs)), wall=wall, cpu=span.cpu())


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
