"""`python -m benchmarks.workflow`: the speed and the cost of starting pods.

The shipped operator runs as a process against a real API server and scheduler; nodes, pods and workers are simulated.
Prints a Markdown table and writes JSON.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from torpor_demo.cluster import ROOT
from torpor_dev.progress import say
from torpor_wire import times

from benchmarks.profile import report, run
from benchmarks.triggerer import figures
from benchmarks.workflow import bare_pods, graphs, rows
from benchmarks.workflow.measurement import Measurement

_BESIDE = 10_000
_PROFILED = 1000
_KINDS: Mapping[str, Callable[[int], Awaitable[Measurement]]] = {
    "floor": bare_pods.floor,
    "fan": lambda count: graphs.fan_out_beside(count) if count >= _BESIDE else graphs.fan_out(count),
    "chain": graphs.chain,
    "many": graphs.many,
}
_SIZES: Mapping[str, list[int]] = {"floor": [1000], "fan": [100, 1000, _BESIDE], "chain": [50], "many": [200]}


def main() -> int:
    """Measure, print and write. Returns 1 if a row could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--into", type=Path, default=ROOT / "docs/design/figures/workflow.json", help="file for the JSON"
    )
    parser.add_argument("--only", nargs="+", choices=_KINDS, default=list(_KINDS), help="these alone")
    for name, sizes in _SIZES.items():
        parser.add_argument(f"--{name}", nargs="+", type=int, default=sizes, help="how many")
    parser.add_argument(
        "--profile", nargs="?", type=int, const=_PROFILED, help="print the cost of so many tasks instead"
    )
    given = parser.parse_args()
    if given.profile:
        return _profiled(given.profile)
    wanted = [(kind, size) for kind in _KINDS if kind in given.only for size in getattr(given, kind)]
    found: dict[str, list[Measurement]] = {kind: [] for kind in _KINDS}
    failed = [f"{kind} of {size}" for kind, size in wanted if not _measured(kind, size, found)]
    told = _figures(found)
    given.into.write_text(_written(told, found) + "\n")
    sys.stdout.write(figures.table(told, rows.HEAD, rows.BESIDE))
    return 1 if failed else 0


def _profiled(count: int) -> int:
    began, load = times.rfc3339(time.time()), os.getloadavg()
    cost = asyncio.run(run.fan_out(count))
    sys.stdout.write(
        f"{began}, {_commit()}: fan-out of {count:,} in {cost.wall:.1f} s; load {load[0]:.1f} before and"
        f" {os.getloadavg()[0]:.1f} after; other processes used {cost.cpu['foreign']:.1f} s of CPU\n\n"
    )
    sys.stdout.write(report.tables(cost))
    return 0


def _measured(kind: str, size: int, found: dict[str, list[Measurement]]) -> bool:
    began = time.monotonic()
    try:
        taken = asyncio.run(_whole(_KINDS[kind](size)))
    except (SystemExit, TimeoutError, ExceptionGroup) as error:
        say(f"{kind} of {size} has failed: {type(error).__name__} {error}")
        return False
    found[kind].append(taken)
    say(f"{kind} of {size}, {time.monotonic() - began:.0f} s: {taken.wall:.2f} s, {taken.each():.1f} ms of CPU each")
    return True


async def _whole(measuring: Awaitable[Measurement]) -> Measurement:
    return await measuring


def _figures(found: Mapping[str, list[Measurement]]) -> list[figures.Figure]:
    bare = next(iter(found["floor"]), None)
    return rows.all_of(bare, found["fan"], found["chain"], found["many"])


def _commit() -> str:
    words = ("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def _written(told: list[figures.Figure], found: Mapping[str, list[Measurement]]) -> str:
    body = {
        "bench": "workflow",
        "commit": _commit(),
        "taken": times.rfc3339(time.time()),
        "figures": [asdict(one) for one in told],
        "rows": [asdict(one) for several in found.values() for one in several],
    }
    return json.dumps(body, indent=1)


if __name__ == "__main__":
    sys.exit(main())
