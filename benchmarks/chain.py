"""`python -m benchmarks.chain`: the cost of a chain's step compared to a bare pod on the same cluster.

A step is the time between the completions of two tasks. The bare pod has the same image, runs an empty Python program,
and ends when the API shows its success. Steps and pods alternate, so that other load affects both.
"""

import asyncio
import itertools
import statistics
import time
from typing import Any

from torpor_crds.models import taskrun
from torpor_demo import images
from torpor_kubernetes.client.resources import PODS, TASKRUNS
from torpor_wire import times

from benchmarks.harness import program
from benchmarks.harness.cluster import BenchCluster, bench_cluster
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.figures import Figure


def main() -> None:
    """Measure, print and write."""
    parser = program.parser(__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    steps, pods = asyncio.run(_measure(given.steps, given.rounds))
    step, pod = statistics.median(steps), statistics.median(pods)
    figures = [
        Figure(name="step_s", what=f"a step of a chain, median of {len(steps)}", value=step, unit="s"),
        Figure(name="bare_pod_s", what=f"a bare pod, median of {len(pods)}", value=pod, unit="s"),
        Figure(name="overhead_s", what="overhead of a step", value=step - pod, unit="s"),
    ]
    program.report(given, "chain", figures)


async def _measure(steps: int, rounds: int) -> tuple[list[float], list[float]]:
    chain: list[float] = []
    bare: list[float] = []
    async with bench_cluster(list(images.ALL)) as on:
        for _ in range(rounds):
            chain += await _chain(on, steps)
            bare += [await _bare(on) for _ in range(steps // 2)]
    return chain, bare


async def _chain(on: BenchCluster, steps: int) -> list[float]:
    names = [f"step_{number}" for number in range(steps)]
    tasks: list[dict[str, Any]] = [
        {"name": name, "python": "census.tasks:sections", "args": {"largest": 1}, "after": before}
        for name, before in zip(names, [[], *([name] for name in names)], strict=False)
    ]
    workflow = await on.run({"image": images.CENSUS.name, "runtime": "Image", "tasks": tasks})
    listed = await on.api.list(TASKRUNS, NAMESPACE)
    runs = [taskrun.parse(body) for body in listed.items]
    ours = [run for run in runs if run.spec.owner.uid == workflow.metadata.uid]
    ends = sorted(times.epoch(run.status.completion_time or "") for run in ours)
    await on.remove(workflow)
    return [later - sooner for sooner, later in itertools.pairwise(ends)]


async def _bare(on: BenchCluster) -> float:
    started = time.monotonic()
    name = await on.start_bare_pod(images.CENSUS.name, "python", "-c", "pass")
    await on.pod_succeeded(name)
    took = time.monotonic() - started
    await on.api.delete(PODS, NAMESPACE, name)
    return took


if __name__ == "__main__":
    main()
