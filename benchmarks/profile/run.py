"""Runs a load on a control plane whose API server and etcd serve profiles, and returns what it cost."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from torpor_kubernetes.client.resources import PODS, TASKRUNS, Resource

from benchmarks.harness.control_plane import NAMESPACE, ControlPlane, open_plane
from benchmarks.harness.metering import MeteredSpan
from benchmarks.harness.processes import Processes, start_operator
from benchmarks.harness.runs import warm, watch_runs
from benchmarks.profile import capture, cost, counters
from benchmarks.profile.cost import Cost
from benchmarks.workflow import loads
from benchmarks.workflow.loads import RunLoad

_REGISTRY = "/registry/"
STACKS = "stacks.json"
"""The file in the state folder of a control plane for samples of the operator's stack."""


async def profiled(load: RunLoad) -> Cost:
    """The cost of the load, from the first request until its last run has succeeded."""
    async with open_plane(profiled=True) as plane:
        stacks = plane.state / STACKS
        async with start_operator(plane, samples=stacks) as processes, watch_runs(plane.api) as runs:
            await warm(runs, loads.form_step("only", load.form))

            async def work() -> None:
                await loads.start(runs, load)
                await runs.end(*load.runs)

            return await measure(processes, load.tasks, work)


async def measure(processes: Processes, tasks: int, work: Callable[[], Awaitable[None]]) -> Cost:
    """The cost of `work` for each of so many tasks. The operator writes its stacks to `STACKS`."""
    plane = processes.plane
    stacks = plane.state / STACKS
    stored, counted = await plane.etcd.sizes(_REGISTRY), await capture.counted(plane)
    span = MeteredSpan.begin(processes)
    async with capture.capture(processes, stacks) as captured:
        await asyncio.sleep(0)  # the requests for the profiles start first
        await work()
        wall = time.monotonic() - span.began
    cpu, ended = span.cpu(), await capture.counted(plane)
    return Cost(
        tasks=tasks,
        wall=wall,
        cpu=cpu,
        samples=captured.samples,
        api_server=counters.growth(counted[0], ended[0]),
        etcd=counters.growth(counted[1], ended[1]),
        stored=cost.stored(stored, await plane.etcd.sizes(_REGISTRY)),
        parts={resource.plural: cost.parts(await _ended(plane, resource)) for resource in (TASKRUNS, PODS)},
    )


async def _ended(plane: ControlPlane, resource: Resource) -> dict[str, Any]:
    """One object of the ended run."""
    body: dict[str, Any] = json.loads(await capture.read(plane, resource.path(NAMESPACE), {"limit": "1"}))["items"][0]
    return body
