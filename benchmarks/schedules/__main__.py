"""`python -m benchmarks.schedules`: how late, how reliably and at what cost Schedules start runs.

The shipped operator and two triggerers run as processes against a real API server. Each scenario has a new control
plane. Prints a Markdown table and writes JSON.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from torpor_demo.cluster import ROOT
from torpor_dev.progress import say
from torpor_wire import times

from benchmarks.schedules import flood, stream, ticks, writes
from benchmarks.schedules.sizes import Sizes
from benchmarks.schedules.system import System, system
from benchmarks.triggerer import figures
from benchmarks.triggerer.figures import Figure

SCENARIOS: Mapping[str, Callable[[System, Sizes], Awaitable[list[Figure]]]] = {
    "idle": ticks.idle,
    "jitter": ticks.spread,
    "together": ticks.together,
    "stream": stream.stream,
    "writes": writes.writes,
    "flood": flood.flood,
}


def main() -> int:
    """Measure, print and write. Returns 1 if a scenario could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), help="these scenarios alone")
    parser.add_argument(
        "--into", type=Path, default=ROOT / "docs/design/figures/schedules.json", help="file for the JSON"
    )
    parser.add_argument("--logs", type=Path, help="folder for the logs of operator and triggerers")
    parser.add_argument("--profile", type=Path, help="folder for profiles of the operator by cProfile, which slow it")
    for each in fields(Sizes):
        parser.add_argument(f"--{each.name}", type=type(each.default), default=each.default)
    given = parser.parse_args()
    sizes = Sizes(**{each.name: getattr(given, each.name) for each in fields(Sizes)})
    found: list[Figure] = []
    failed = [name for name in given.only if not asyncio.run(_measured(name, sizes, given, found))]
    given.into.write_text(_written(found, sizes) + "\n")
    sys.stdout.write(figures.table(found, "", {}))
    return 1 if failed else 0


async def _measured(name: str, sizes: Sizes, given: argparse.Namespace, found: list[Figure]) -> bool:
    began, profile = time.monotonic(), given.profile and given.profile / f"{name}.prof"
    logs = given.logs and given.logs / name
    for folder in (given.profile, logs):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    try:
        async with system(logs, profile) as on:
            taken = await SCENARIOS[name](on, sizes)
    except (SystemExit, TimeoutError, ExceptionGroup) as error:
        say(f"{name} has failed: {''.join(traceback.format_exception(error))}")
        return False
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    say(f"{name}, {time.monotonic() - began:.0f} s, load {load}\n{figures.table(taken, '', {})}")
    found += taken
    return True


def _written(found: Sequence[Figure], sizes: Sizes) -> str:
    words = ("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    commit = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    body = {"bench": "schedules", "commit": commit, "taken": times.rfc3339(time.time())}
    return json.dumps({**body, "sizes": asdict(sizes), "figures": [asdict(each) for each in found]}, indent=1)


if __name__ == "__main__":
    sys.exit(main())
