"""`python -m benchmarks.reduce`: a thousand results of a megabyte, made by pods of a mapped task and reduced by one.

Once with few of them and once with many, so that it is seen which memory grows with their number: that of the pod which
reduces them, of the operator, of the archive. The former has a limit that they would not fit in. Prints a Markdown
table and writes JSON. Needs the kind cluster, whose nodes it enters.
"""

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torpor_crds.models import taskrun
from torpor_crds.models.workflow import Workflow
from torpor_demo import images
from torpor_demo.images import Image
from torpor_dev.console import say
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire import constants

from benchmarks.harness import program
from benchmarks.harness.cluster import BenchCluster, bench_cluster
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.figures import markdown
from benchmarks.reduce import peaks

IMAGE = Image(name="torpor-reduce:dev", context=Path(__file__).parent / "image")
LIMIT = "64Mi"
_LIMIT = 3600.0
_MIB = 1024**2
_HEAD = ("results", "MB", "whole run", "the reducing task", "its peak", "operator's peak", "archive's peak")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReduceCosts:
    """A run. `wall` and `reducing` are seconds; peaks are bytes, of Torpor's parts also before, just after a reset."""

    results: int
    size: int
    wall: float
    reducing: float
    worker_before: int
    worker: int
    before: Mapping[str, int]
    peaks: Mapping[str, int]


def main() -> None:
    """Measure, print and write."""
    parser = program.parser(__doc__, "reduce")
    parser.add_argument("--results", nargs="+", type=int, default=[10, 1000], help="how many, a run for each")
    parser.add_argument("--size", type=int, default=1_000_000, help="bytes of each")
    parser.add_argument("--parallelism", type=int, default=20, help="pods at a time")
    given = parser.parse_args()
    taken = asyncio.run(_measure(given.results, given.size, given.parallelism))
    program.write(given.into, "reduce", worker_limit=LIMIT, runs=[asdict(costs) for costs in taken])
    sys.stdout.write(markdown(_HEAD, map(_row, taken)))


def spec(results: int, size: int, parallelism: int) -> dict[str, Any]:
    """A mapped task and what reduces it."""
    small = {"resources": {"requests": {"cpu": "10m"}}}
    limited = {"resources": {"requests": {"memory": LIMIT}, "limits": {"memory": LIMIT}}}
    make = {"name": "make", "python": "reduce_tasks:make", "args": {"size": size}, "pod": small}
    reduce = {"name": "reduce", "python": "reduce_tasks:reduce", "pod": limited}
    return {
        "image": IMAGE.name,
        "runtime": "Image",
        "parallelism": parallelism,
        "tasks": [
            {**make, "expand": [{"name": "n", "over": list(range(results))}]},
            {**reduce, "args": {"blocks": "${tasks.make.results}"}},
        ],
    }


async def _measure(several: list[int], size: int, parallelism: int) -> list[ReduceCosts]:
    async with bench_cluster([*images.ALL, IMAGE]) as on:
        return [await _run(on, results, size, parallelism) for results in several]


async def _run(on: BenchCluster, results: int, size: int, parallelism: int) -> ReduceCosts:
    processes = await asyncio.to_thread(peaks.find, on.kubectl)
    await asyncio.to_thread(peaks.reset, processes)
    before = await asyncio.to_thread(peaks.read, processes)
    began = time.monotonic()
    workflow = await on.ended(await on.start(spec(results, size, parallelism)), limit=_LIMIT)
    wall = time.monotonic() - began
    held = await asyncio.to_thread(peaks.read, processes)
    reduced = await _reduced(on, workflow)
    await on.remove(workflow)
    say(f"{results} results of {size} bytes took {wall:.0f} s")
    if (reduced["results"], reduced["whole"]) != (results, results):
        raise SystemExit(f"of {results} results {reduced['results']} were read, {reduced['whole']} of them whole")
    return ReduceCosts(
        results=results,
        size=size,
        wall=wall,
        reducing=reduced["seconds"],
        worker_before=reduced["peak_before"],
        worker=reduced["peak"],
        before=before,
        peaks=held,
    )


async def _reduced(on: BenchCluster, workflow: Workflow) -> dict[str, Any]:
    """What the reducing task reported."""
    selector = f"{constants.LABEL_WORKFLOW}={workflow.metadata.name},{constants.LABEL_TASK}=reduce"
    (body,) = (await on.api.list(TASKRUNS, NAMESPACE, label_selector=selector)).items
    result: dict[str, Any] = json.loads(taskrun.parse(body).status.result or "{}")
    return result


def _row(costs: ReduceCosts) -> tuple[str, ...]:
    megabytes = costs.results * costs.size / 1e6
    parts = (_memory(costs.before[part], costs.peaks[part]) for part in ("operator", "archive"))
    times = (f"{costs.wall:,.0f} s", f"{costs.reducing:.1f} s")
    return f"{costs.results:,}", f"{megabytes:,.0f}", *times, _memory(costs.worker_before, costs.worker), *parts


def _memory(before: int, peak: int) -> str:
    return f"{peak / _MIB:.1f} MiB (before {before / _MIB:.1f})"


if __name__ == "__main__":
    main()
