"""`python -m benchmarks.sensors`: a hundred waits, each in a pod that blocks, and then each deferred.

The sensor, the store that it asks and the Workflow are examples/sensors'. Both runs are alike but for the sensor's
`deferrable`. Pods are counted as the API server has them; processor time and memory are from the cgroups of
the pods of tasks, triggerers and operators, so this needs the kind cluster.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from torpor_demo import images
from torpor_demo.cluster import ROOT
from torpor_demo.images import Image
from torpor_kubernetes.client.resources import PODS, Resource
from torpor_wire import times

from benchmarks import samples
from benchmarks.chart import ChartLine, ChartMark, ChartPanel, draw
from benchmarks.harness.cgroups import CgroupMeter, entered
from benchmarks.harness.cluster import BenchCluster, bench_cluster
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.samples import MIB, Sample, SensorRun
from benchmarks.watch import RunWatch

IMAGE = Image(name="sensors:dev", context=ROOT / "examples/sensors")
SENSORS = {"blocking": False, "deferrable": True}
COLORS = {"blocking": "#c2410c", "deferrable": "#1d4ed8"}
SERVICES = Resource(group="", version="v1", plural="services", kind="Service")
NODES = Resource(group="", version="v1", plural="nodes", kind="Node", namespaced=False)
_PAUSE = 0.5
_TAIL = 20.0
_STORE_LIMIT = 900.0


def main() -> None:
    """Measure, write CSV, JSON and SVG, and print the figures; with --draw only draw what was measured before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waits", type=int, default=100)
    parser.add_argument("--after", type=float, default=300, help="seconds until what is waited for is there")
    parser.add_argument(
        "--into", type=Path, default=ROOT / "docs/design/figures", help="where sensors.csv, .json and .svg go"
    )
    parser.add_argument("--draw", action="store_true", help="from the CSV and the JSON that are there")
    given = parser.parse_args()
    if not given.draw:
        _write(given.into, asyncio.run(_measure(given.waits, given.after)))
    _draw(given.into)


def _write(folder: Path, runs: Sequence[SensorRun]) -> None:
    figures = [samples.figures(run) for run in runs]
    (folder / "sensors.csv").write_text(samples.written(runs))
    (folder / "sensors.json").write_text(json.dumps({"bench": "sensors", "runs": figures}, indent=1) + "\n")
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")


def _draw(folder: Path) -> None:
    figures = json.loads((folder / "sensors.json").read_text())["runs"]
    text = (folder / "sensors.csv").read_text()
    runs = {each["sensor"]: samples.read(text, each["sensor"]) for each in figures}
    (folder / "sensors.svg").write_text(picture(runs, waits=figures[0]["waits"], opened=figures[0]["opened_after_s"]))


def picture(runs: dict[str, list[Sample]], *, waits: int, opened: float) -> str:
    """The comparison as an SVG document."""

    def lines(value: Callable[[Sample], float], *, suffix: str = "", dashed: bool = False) -> list[ChartLine]:
        return [
            ChartLine(
                name=name + suffix, color=COLORS[name], points=[(at.seconds, value(at)) for at in run], dashed=dashed
            )
            for name, run in runs.items()
        ]

    waiting = lines(lambda at: at.deferred, suffix=": waits without a pod", dashed=True)
    pods = [*lines(lambda at: at.running), *(line for line in waiting if any(value for _, value in line.points))]
    return draw(
        f"{waits} waits",
        [
            ChartPanel(title="task pods that run", lines=pods),
            ChartPanel(
                title="processor cores, tasks and Torpor",
                lines=[
                    ChartLine(name=name, color=COLORS[name], points=samples.cores(run)) for name, run in runs.items()
                ],
            ),
            ChartPanel(title="memory in MiB, tasks and Torpor", lines=lines(lambda at: at.memory / MIB)),
        ],
        [ChartMark(at=opened, text="what they wait for is there")],
        below="seconds since the Workflow was created",
    )


async def _measure(waits: int, after: float) -> list[SensorRun]:
    async with bench_cluster([*images.ALL, IMAGE]) as on, AsyncExitStack() as stack:
        nodes = [node["metadata"]["name"] for node in (await on.api.list(NODES)).items]
        meter = CgroupMeter([await stack.enter_async_context(entered(name)) for name in nodes])
        return [await _run(on, meter, sensor, waits, after) for sensor in SENSORS]


async def _run(on: BenchCluster, meter: CgroupMeter, sensor: str, waits: int, after: float) -> SensorRun:
    async with _store(on, after) as opens:
        watch = await RunWatch.begin(on.api, meter)
        name = await on.start(spec(sensor, waits))
        async with watch.watching(name):
            workflow = await on.ended(name)
            ended = watch.now()
            await asyncio.sleep(_TAIL)
        await on.remove(workflow)
    opened, pods = opens - watch.began, len(watch.tasks)
    return SensorRun(sensor=sensor, waits=waits, pods=pods, opened=opened, ended=ended, samples=watch.samples)


def spec(sensor: str, waits: int) -> dict[str, Any]:
    """The example's Workflow with so many keys, whose sensor is deferrable or is not."""
    workflow_spec: dict[str, Any] = yaml.safe_load((IMAGE.context / "sensors.yaml").read_text())["spec"]
    (task,) = workflow_spec["tasks"]
    params = {"store": f"http://store.{NAMESPACE}.svc.cluster.local:8000", "keys": [f"/{n:03}" for n in range(waits)]}
    sensor_task = {**task, "args": {**task["args"], "deferrable": SENSORS[sensor]}}
    return {**workflow_spec, "params": params, "parallelism": waits, "tasks": [sensor_task]}


@asynccontextmanager
async def _store(on: BenchCluster, after: float) -> AsyncIterator[float]:
    """What the sensors ask; gives the moment, in seconds since the epoch, from when the keys are there."""
    pod, service = yaml.safe_load_all((IMAGE.context / "store.yaml").read_text())
    pod["spec"]["containers"][0]["args"] = ["--port=8000", f"--after={after}"]
    await on.api.create(PODS, NAMESPACE, pod)
    await on.api.create(SERVICES, NAMESPACE, service)
    try:
        async with asyncio.timeout(_STORE_LIMIT):
            yield await _started(on) + after
    finally:
        await on.api.delete(SERVICES, NAMESPACE, "store")
        await on.api.delete(PODS, NAMESPACE, "store", grace_seconds=0)


async def _started(on: BenchCluster) -> float:
    while True:
        (status,) = (await on.api.get(PODS, NAMESPACE, "store"))["status"].get("containerStatuses", [{}])
        if status.get("ready"):
            return times.epoch(status["state"]["running"]["startedAt"])
        await asyncio.sleep(_PAUSE)


if __name__ == "__main__":
    main()
