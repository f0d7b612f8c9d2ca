"""`python -m benchmarks.scale`: what many waiting TaskRuns cost operator, triggerer, API server, etcd, and kubectl.

The shipped operators and triggerers run as processes against a real API server. Nodes, pods and workers are simulated.
Prints a Markdown table and writes JSON. `python -m benchmarks.scale.sizing` computes larger clusters from it.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from torpor_demo.cluster import ROOT
from torpor_dev.progress import say
from torpor_wire import times

from benchmarks.scale import costs, listing, rest, storage, takeover, workload
from benchmarks.scale.sizes import Sizes
from benchmarks.scale.system import System, start_operators, system, until
from benchmarks.triggerer import figures
from benchmarks.triggerer.figures import Figure
from benchmarks.workflow import graphs
from benchmarks.workflow import runs as workflow_runs
from benchmarks.workflow.runs import Runs

_PATIENCE = 600.0


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=ROOT / "docs/design/figures/scale.json", help="file for the JSON")
    parser.add_argument("--logs", type=Path, help="folder for the logs of all processes")
    parser.add_argument("--profile", type=Path, help="folder for samples of the operator's stack during its failover")
    for each in fields(Sizes):
        parser.add_argument(f"--{each.name}", type=type(each.default), default=each.default)
    given = parser.parse_args()
    sizes = Sizes(**{each.name: getattr(given, each.name) for each in fields(Sizes)})
    load, commit = os.getloadavg(), _commit()
    found: list[Figure] = []
    try:
        asyncio.run(measure(found, sizes, given.logs, given.profile))
    finally:
        given.into.write_text(_written(found, sizes, commit, (load[0], os.getloadavg()[0])) + "\n")
        sys.stdout.write(figures.table(found, "", {}))
    return 0


async def measure(found: list[Figure], sizes: Sizes, logs: Path | None = None, profile: Path | None = None) -> None:
    """Append all figures, in the order in which they are measured."""

    async def take(name: str, taking: Awaitable[list[Figure]]) -> None:
        began = time.monotonic()
        taken = await taking
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        say(f"{name}, {time.monotonic() - began:.0f} s, load {load}\n{figures.table(taken, '', {})}")
        found.extend(taken)

    async with system(sizes, logs, profile) as on, workflow_runs.runs(on.plane) as asked:
        await graphs.warm(asked)
        await on.calm()
        held, empty = await rest.memory(on), await storage.compacted(on)
        await take("tasks before", costs.tasks(on, asked, "task", "with nothing else in etcd"))
        await take("waits that fire", costs.fires(on, asked))
        await take("the large Workflow", costs.large(on, asked))
        await _seeded(on, asked)
        await take("at rest", rest.at_rest(on, held))
        await workload.check(on)
        await take("tasks beside", costs.tasks(on, asked, "beside", "beside all waits"))
        await take("lists", listing.listed(on))
        await take("failover of the operator", takeover.operator(on, asked))
        await take("failover of a triggerer", takeover.triggerer(on))
        await take("etcd", storage.stored(on, empty))
        lost = "operators that ended since they could not renew their Lease in time, and started again"
        found.append(Figure(name="restarts", what=lost, value=on.restarts, unit="times"))


async def _seeded(on: System, asked: Runs) -> None:
    began = time.monotonic()
    await workload.seed(on, asked)
    await start_operators(on)

    async def all_run() -> bool:
        return await on.running_triggers() >= on.sizes.all_waits

    await until(all_run, _PATIENCE)
    await on.calm()
    say(f"{on.sizes.all_waits:,} waits run after {time.monotonic() - began:.0f} s")


def _commit() -> str:
    words = ("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def _written(found: Sequence[Figure], sizes: Sizes, commit: str, load: Sequence[float]) -> str:
    body = {"bench": "scale", "commit": commit, "taken": times.rfc3339(time.time()), "load": list(load)}
    return json.dumps({**body, "sizes": asdict(sizes), "figures": [asdict(each) for each in found]}, indent=1)


if __name__ == "__main__":
    sys.exit(main())
