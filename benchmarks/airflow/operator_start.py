"""`python -m benchmarks.airflow.operator_start`: from the creation of a pod to the code of an operator, on kind.

A pod with an operator of Airflow is followed by pods with a plain python task: of the same and of the worker image.
The operator is a BashOperator, whose code is the first line of its script. Prints a Markdown table and writes JSON.
"""

import asyncio
import json
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from torpor_crds.models import taskrun
from torpor_demo import cluster, images
from torpor_demo.cluster import ROOT
from torpor_demo.images import Image
from torpor_kubernetes.client.resources import PODS, TASKRUNS
from torpor_wire import constants

from benchmarks.harness import program
from benchmarks.harness.cluster import BenchCluster, bench_cluster
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.figures import Figure
from benchmarks.harness.waiting import Object, new_events

AIRFLOW = Image(
    name="airflow-tasks:dev",
    context=ROOT / "airflow-bridge",
    dockerfile="worker.Dockerfile",
    parent=("WORKER_IMAGE", images.WORKER),
)
_OPERATOR = {
    "python": "torpor_airflow.operators:AirflowOperator",
    "args": {
        "operator": "airflow.providers.standard.operators.bash.BashOperator",
        "arguments": {"bash_command": "date +%s.%N"},
    },
}
_PLAIN = {"python": "time:time"}
_WAYS: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "operator": (AIRFLOW.name, _OPERATOR, "an operator of Airflow"),
    "same_image": (AIRFLOW.name, _PLAIN, "a python task of the same image"),
    "plain": (images.WORKER.name, _PLAIN, "a python task of the worker image"),
}
Created = dict[str, float]
"""When the watch showed each pod, in seconds since the epoch."""


def main() -> None:
    """Measure, print and write."""
    parser = program.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    seconds = asyncio.run(_measure(given.rounds))
    program.report(given, "operator-start", [figure for way in _WAYS for figure in _figures(way, seconds[way])])


def _figures(way: str, seconds: Sequence[float]) -> list[Figure]:
    what = f"start of a pod to user code, {_WAYS[way][2]}"
    median, fastest = 1000 * statistics.median(seconds), 1000 * min(seconds)
    return [
        Figure(name=f"{way}_ms", what=f"{what}: median of {len(seconds)}", value=median, unit="ms"),
        Figure(name=f"{way}_min_ms", what=f"{what}: fastest", value=fastest, unit="ms"),
    ]


async def _measure(rounds: int) -> dict[str, list[float]]:
    seen: Created = {}
    async with bench_cluster(list(images.ALL)) as on, new_events(on.api, PODS, NAMESPACE, partial(_note, seen)):
        base = await asyncio.to_thread(cluster.base_image)
        await asyncio.to_thread(images.build, [AIRFLOW], base)
        await asyncio.to_thread(cluster.load, [AIRFLOW.name])
        seconds: dict[str, list[float]] = {way: [] for way in _WAYS}
        for number in range(rounds + 1):
            for way, (image, body, _) in _WAYS.items():
                start = await _start(on, seen, image, body)
                if number:  # the first reads the files of the image from the disk
                    seconds[way].append(start)
    return seconds


def _note(seen: Created, kind: str, body: Object, now: float) -> None:
    if kind == "ADDED":
        seen[body["metadata"]["name"]] = now


async def _start(on: BenchCluster, seen: Created, image: str, body: Mapping[str, Any]) -> float:
    """Return the seconds from the creation of the pod to its code."""
    spec = {"image": image, "runtime": "Image", "logs": "none", "tasks": [{"name": "it", **body}]}
    workflow = await on.run(spec)
    selector = f"{constants.LABEL_WORKFLOW}={workflow.metadata.name}"
    listed = await on.api.list(TASKRUNS, NAMESPACE, label_selector=selector)
    (run,) = [taskrun.parse(each) for each in listed.items]
    began = seen[run.status.pod.name if run.status.pod else ""]
    await on.remove(workflow)
    return float(json.loads(run.status.result or "")) - began


if __name__ == "__main__":
    main()
