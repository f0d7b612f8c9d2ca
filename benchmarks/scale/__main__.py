"""`python -m benchmarks.scale`: what many waiting TaskRuns cost operator, triggerer, API server, etcd, and kubectl.

The shipped operators and triggerers run as processes against a real API server. Nodes, pods and workers are simulated.
Prints a Markdown table and writes JSON. `python -m benchmarks.scale.sizing` computes larger clusters from it.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Awaitable
from dataclasses import asdict
from pathlib import Path

from torpor_dev.console import say

from benchmarks.harness import program
from benchmarks.harness.figures import Figure
from benchmarks.harness.runs import WatchedRuns, warm, watch_runs
from benchmarks.harness.waiting import until
from benchmarks.scale import costs, listing, rest, storage, takeover, workload
from benchmarks.scale.system import ScaleSizes, ScaleSystem, open_system, start_operators

_LIMIT = 600.0


def main() -> int:
    """Measure, print and write."""
    parser = program.parser(__doc__, "scale", ScaleSizes)
    parser.add_argument("--logs", type=Path, help="folder for the logs of all processes")
    parser.add_argument("--profile", type=Path, help="folder for samples of the operator's stack during its failover")
    parser.add_argument(
        "--failover", action="store_true", help="the failover of the operator alone: by lists, then by changes"
    )
    given = parser.parse_args()
    sizes = program.chosen_sizes(given, ScaleSizes)
    load = os.getloadavg()[0]
    figures: list[Figure] = []
    try:
        asyncio.run(measure(figures, sizes, given))
    finally:
        program.report(given, "scale", figures, load=[load, os.getloadavg()[0]], sizes=asdict(sizes))
    return 0


async def measure(figures: list[Figure], sizes: ScaleSizes, given: argparse.Namespace) -> None:
    """Append all figures, in the order in which they are measured."""

    async def take(name: str, taking: Awaitable[list[Figure]]) -> None:
        began = time.monotonic()
        taken = await taking
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        say(f"{name}, {time.monotonic() - began:.0f} s, load {load}{program.shown_figures(taken)}")
        figures.extend(taken)

    async with open_system(sizes, given.logs, given.profile) as on, watch_runs(on.plane.api) as runs:
        await warm(runs)
        await on.calm()
        if given.failover:
            await take("the large Workflow", costs.large(on, runs))
            await _seeded(on, runs)
            for way in ("lists", "changes"):
                await take(f"failover by {way}", takeover.both(on, runs, way))
            return
        held, empty = await rest.memory(on), await storage.compacted(on)
        await take("tasks before", costs.tasks(on, runs, "task", "with nothing else in etcd"))
        await take("waits that fire", costs.fires(on, runs))
        await take("the large Workflow", costs.large(on, runs))
        await _seeded(on, runs)
        await take("at rest", rest.at_rest(on, held))
        await workload.check(on)
        await take("tasks beside", costs.tasks(on, runs, "beside", "beside all waits"))
        await take("lists", listing.listed(on))
        await take("failover of the operator", takeover.operator(on, runs))
        await take("failover of a triggerer", takeover.triggerer(on))
        await take("etcd", storage.stored(on, empty))
        lost = "operators that ended since they could not renew their Lease in time, and started again"
        figures.append(Figure(name="restarts", what=lost, value=on.restarts, unit="times"))


async def _seeded(on: ScaleSystem, runs: WatchedRuns) -> None:
    began = time.monotonic()
    await workload.seed(on, runs)
    await start_operators(on)

    async def all_run() -> bool:
        return await on.running_triggers() >= on.sizes.all_waits

    await until(all_run, _LIMIT)
    await on.calm()
    say(f"{on.sizes.all_waits:,} waits run after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
