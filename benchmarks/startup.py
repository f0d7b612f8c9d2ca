"""`python -m benchmarks.startup`: from the start of a task pod's process to the first line of user code.

The runtime reports it from /proc, one JSON line in the pod's log. Pods run one after the other by default, so that the
figure is a pod's own and not that of a crowded node; `--parallelism` crowds it.
"""

import asyncio
import json
import statistics
import sys
from typing import Any

from torpor_demo import images
from torpor_kubernetes.client.resources import PODS
from torpor_wire import constants

from benchmarks.harness import program
from benchmarks.harness.cluster import BenchCluster, bench_cluster
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.figures import Figure, quantile

_MEASURES = {"startup_ms": "wall time", "cpu_ms": "CPU time"}
_REPORT = {"name": "TORPOR_STARTUP_REPORT", "value": "1"}


def main() -> None:
    """Measure, print and write."""
    parser = program.parser(__doc__)
    parser.add_argument("--pods", type=int, default=20)
    parser.add_argument("--parallelism", type=int, default=1)
    given = parser.parse_args()
    reports = asyncio.run(_measure(given.pods, given.parallelism))
    modules = sorted({module for report in reports for module in report["modules"]})
    sys.stdout.write(f"{len(modules)} modules: {' '.join(modules)}\n")
    sizes = {"pods": given.pods, "parallelism": given.parallelism}
    program.report(given, "startup", figures(reports), **sizes, modules=modules)


def figures(reports: list[dict[str, Any]]) -> list[Figure]:
    """Median and 95th percentile."""
    seconds = []
    for measure, words in _MEASURES.items():
        values = [report[measure] for report in reports]
        what = f"process start to user code, {len(reports)} pods: {words}"
        seconds += [
            Figure(name=f"{measure}_median", what=f"{what}, median", value=statistics.median(values), unit="ms"),
            Figure(name=f"{measure}_p95", what=f"{what}, p95", value=quantile(values, 0.95), unit="ms"),
        ]
    return seconds


async def _measure(pods: int, parallelism: int) -> list[dict[str, Any]]:
    async with bench_cluster(list(images.ALL)) as on:
        workflow_run = await on.run(
            {
                "image": images.CENSUS.name,
                "runtime": "Image",
                "parallelism": parallelism,
                "tasks": [
                    {
                        "name": "it",
                        "python": "census.tasks:sections",
                        "expand": [{"name": "largest", "over": list(range(pods))}],
                        "pod": {"env": [_REPORT]},
                    }
                ],
            }
        )
        reports = await _reports(on, workflow_run.metadata.name)
        await on.remove(workflow_run)
    return reports


async def _reports(on: BenchCluster, workflow: str) -> list[dict[str, Any]]:
    """The line that each pod printed right before it imported the user's code."""
    pods = await on.api.list(PODS, NAMESPACE, label_selector=f"{constants.LABEL_WORKFLOW}={workflow}")
    logs = [await on.api.read(PODS.path(NAMESPACE, pod["metadata"]["name"], "log")) for pod in pods.items]
    return [json.loads(next(line for line in log.splitlines() if line.startswith("{"))) for log in logs]


if __name__ == "__main__":
    main()
