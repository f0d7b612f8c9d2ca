"""Runs a fan-out on a control plane whose API server and etcd serve profiles, and returns what it cost."""

import asyncio
import json
from typing import Any

from torpor_kubernetes.client.resources import PODS, TASKRUNS, Resource

from benchmarks.profile import capture, cost, counters
from benchmarks.profile.cost import Cost
from benchmarks.workflow import graphs, plane, processes, runs
from benchmarks.workflow.plane import NAMESPACE, Plane
from benchmarks.workflow.processes import Interval

_REGISTRY = "/registry/"


async def fan_out(count: int) -> Cost:
    """A mapped task with `count` instances."""
    async with plane.plane(profiled=True) as at:
        stacks = at.state / "stacks.json"
        async with processes.start(at, samples=stacks) as hands, runs.runs(at) as asked:
            await graphs.warm(asked)
            stored, counted = await at.etcd.sizes(_REGISTRY), await capture.counted(at)
            interval = Interval.begin(hands)
            async with capture.capture(hands, stacks) as captured:
                await asyncio.sleep(0)  # the requests for the profiles start first
                await asked.start("fan", [graphs.mapped(count)], parallelism=count, maxMapSize=count)
                wall = await asked.end("fan") - interval.began
            cpu, ended = interval.cpu(), await capture.counted(at)
            return Cost(
                tasks=count,
                wall=wall,
                cpu=cpu,
                samples=captured.samples,
                api_server=counters.growth(counted[0], ended[0]),
                etcd=counters.growth(counted[1], ended[1]),
                stored=cost.stored(stored, await at.etcd.sizes(_REGISTRY)),
                parts={one.plural: cost.parts(await _ended(at, one)) for one in (TASKRUNS, PODS)},
            )


async def _ended(at: Plane, resource: Resource) -> dict[str, Any]:
    """One object of the ended run."""
    found: dict[str, Any] = json.loads(await capture.read(at, resource.path(NAMESPACE), {"limit": "1"}))["items"][0]
    return found
