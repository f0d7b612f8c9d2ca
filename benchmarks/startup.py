"""`python -m benchmarks.startup`: from the start of a task pod's process to the first line of user code.

The runtime reports it from /proc, one JSON line in the pod's log. Pods run one after the other by default, so that the
figure is a pod's own and not that of a crowded node; `--parallelism` crowds it.
"""

import argparse
import asyncio
import json
import statistics
import sys
from typing import Any

from torpor_demo import images
from torpor_kubernetes.client.resources import PODS
from torpor_wire import constants

from benchmarks.harness.cluster import BenchCluster, bench_cluster
from benchmarks.harness.control_plane import NAMESPACE

_FIGURES = ("startup_ms", "cpu_ms")
_REPORT = {"name": "TORPOR_STARTUP_REPORT", "value": "1"}


def main() -> None:
    """Measure and print a table, then JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=20)
    parser.add_argument("--parallelism", type=int, default=1)
    options = parser.parse_args()
    sys.stdout.write(text(options.pods, options.parallelism, asyncio.run(_measure(options.pods, options.parallelism))))


def text(pods: int, parallelism: int, reports: list[dict[str, Any]]) -> str:
    """Format the figures as a table, and on the last line as JSON."""
    found = summary(reports)
    figures = {"bench": "startup", "pods": pods, "parallelism": parallelism, **found}
    lines = [
        f"process start to user code, {pods} pods, {parallelism} at a time",
        *(f"  {name:<12} median {found[name]['median']:>7.1f}   p95 {found[name]['p95']:>7.1f}" for name in _FIGURES),
        f"  {len(found['modules'])} modules: {' '.join(found['modules'])}",
        json.dumps(figures),
    ]
    return "\n".join(lines) + "\n"


def summary(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Median and 95th percentile of each figure, and the modules that any of the processes had imported."""
    modules = set.union(*(set(report["modules"]) for report in reports))
    return {name: _spread([report[name] for report in reports]) for name in _FIGURES} | {"modules": sorted(modules)}


def _spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "p95": sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)]}


async def _measure(pods: int, parallelism: int) -> list[dict[str, Any]]:
    async with bench_cluster(list(images.ALL)) as on:
        found = await on.run(
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
        reports = await _reports(on, found.metadata.name)
        await on.remove(found)
    return reports


async def _reports(on: BenchCluster, workflow: str) -> list[dict[str, Any]]:
    """The line that each pod printed right before it imported the user's code."""
    found = await on.api.list(PODS, NAMESPACE, label_selector=f"{constants.LABEL_WORKFLOW}={workflow}")
    logs = [await on.api.read(PODS.path(NAMESPACE, pod["metadata"]["name"], "log")) for pod in found.items]
    return [json.loads(next(line for line in log.splitlines() if line.startswith("{"))) for log in logs]


if __name__ == "__main__":
    main()
